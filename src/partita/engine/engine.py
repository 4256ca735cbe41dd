"""The engine: answers typed requests with DynamoDB's behaviour, from a storage, in this process.

engine.call(request)          from any thread: a read is answered at once, a write when it is committed
AsyncEngine(engine).call(...) the same on an event loop, with many writes to a commit (`async_engine`)
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from partita.dynamodb.exceptions import (
    DynamoDBError,
    InternalServerError,
    ThrottlingException,
    ValidationException,
)
from partita.dynamodb.limits import MB
from partita.dynamodb.operations import ITEM_WRITES
from partita.dynamodb.requests import Request
from partita.dynamodb.values import Item
from partita.engine.catalog import Catalog, now
from partita.engine.context import EngineContext, Job
from partita.engine.hot_keys import KeySample
from partita.engine.maintenance import Maintenance
from partita.engine.operations import READERS, WRITERS, select_reader
from partita.engine.recorded_reads import RecordingEngine
from partita.engine.table_watches import TableWatches
from partita.engine.vector_memory import VECTOR_MEMORY_BYTES, VectorMemory
from partita.engine.writer import Writer
from partita.errors import SpaceMissing, StorageBusy, StorageClosed, StorageError, UsedAfterFork
from partita.storage import after_fork
from partita.storage.contract import Storage, Watch

if TYPE_CHECKING:
    from partita.engine.fence import TableFence
    from partita.engine.hot_keys import HotKeys
    from partita.engine.item_history import ItemHistory

Reply = TypeVar("Reply")

_MAX_READS = 20  # a table may be deleted and created again during a read, but not for ever


class Engine:
    """A DynamoDB in this process; close it, or use it in a `with` block."""

    def __init__(
        self,
        storage: Storage,
        *,
        clock: Callable[[], float] = now,
        region: str = "us-east-1",
        account: str = "000000000000",
        maintain: bool = True,
        vector_memory: int = VECTOR_MEMORY_BYTES,
        buckets: "str | os.PathLike[str] | None" = None,
    ) -> None:
        """`maintain=False` leaves background work, such as TTL, to calls of `maintenance.step()`.

        `buckets` is the folder whose folders are the buckets of exports, imports and bulk puts.
        `vector_memory` is how many bytes of vectors stay in memory; a larger vector index is searched from storage.
        """
        self._context = EngineContext(
            storage,
            Catalog(storage),
            Catalog(storage),
            clock,
            region,
            account,
            VectorMemory(vector_memory),
            buckets,
        )
        self._key_sample = KeySample(self._context)
        self._is_sampled = self._key_sample.is_due
        self._writer = Writer(self._context)
        self._watches = TableWatches(self._context)
        self.maintenance = Maintenance(self._context, self._writer)
        self._maintains = maintain
        after_fork.register(self)
        self._start_maintenance()

    def call(self, request: Request[Reply]) -> Reply:
        """Answers a request, or raises the `DynamoDBError` that DynamoDB would answer with."""
        try:
            read = READERS.get(type(request)) or select_reader(request)
            if read is not None:
                if self._is_sampled():
                    self._key_sample.add(request)
                try:
                    return read(self._context, request)  # type: ignore[no-any-return]
                except (SpaceMissing, DynamoDBError) as error:
                    return self._retry_read(read, request, error)
            reply: Reply = self._writer.run(self.prepare(request))
            self.after_write(request)
            return reply
        except UnicodeEncodeError:
            raise _lone_surrogate_error() from None
        except StorageError as error:
            raise as_dynamodb_error(error) from error
        except DynamoDBError:
            raise
        except Exception:  # perhaps a member has a wrong type: decoding the request again reports it
            from partita.dynamodb.decode import round_trip

            decoded = round_trip(request)
            if decoded == request:
                raise
            return self.call(decoded)

    def _retry_read(self, read: Any, request: Request[Reply], error: Exception) -> Reply:
        """Repeats a failed read as long as an outdated catalogue was the cause."""
        for _ in range(_MAX_READS):
            if not self._catalog_changed(error):
                break
            try:
                return read(self._context, request)  # type: ignore[no-any-return]
            except (SpaceMissing, DynamoDBError) as again:
                error = again
        raise error

    def _catalog_changed(self, error: Exception) -> bool:
        """Whether a table has changed since the catalogue was loaded; loads it again."""
        catalog = self._context.catalog
        before = catalog.version
        if isinstance(error, SpaceMissing):
            catalog.invalidate()
        catalog.refresh()
        return isinstance(error, SpaceMissing) or catalog.version != before

    def prepare(self, request: Request[Any]) -> Job:
        """Returns the job of a write, after the checks that need no transaction."""
        if self._is_sampled():
            self._key_sample.add(request)
        try:
            return WRITERS[type(request)](self._context, request)
        except UnicodeEncodeError:
            raise _lone_surrogate_error() from None

    @property
    def writer(self) -> Writer:
        return self._writer

    @property
    def waits_for_disk(self) -> bool:
        return self._context.storage.waits_for_disk

    @property
    def path(self) -> str | None:
        """The path of the database file; None in memory."""
        path: str | None = getattr(self._context.storage, "path", None)
        return path

    @property
    def cursor_key(self) -> bytes:
        """The key that signs the cursors of stores on this database; it is stored with the data."""
        return self._context.catalog.cursor_key

    def hot_keys(self) -> "HotKeys":
        """The partition keys that requests to this engine named most in the last minute or two, from a sample."""
        return self._key_sample.top()

    def history_bytes(self, table_name: str) -> int:
        """The size of a table's history, for its stream and for point-in-time recovery."""
        from partita.engine.history import history_bytes

        return history_bytes(self._context.storage, self._context.table(table_name).record)

    def item_history(
        self,
        table_name: str,
        key: Item,
        before: int | None = None,
        *,
        most: int = 100,
        most_bytes: int = 2 * MB,
        examined: int = 50_000,
    ) -> "ItemHistory":
        """The changes of an item, the newest first, as far as the table's stream or recovery keeps them.

        `before` is the number of a change, and continues with older ones: an answer has at most `most` changes, and no
        further one once their items have `most_bytes`. Where the table has recovery, an index finds them; otherwise the
        latest changes of the whole table are read, `examined` of them and 64 MB at most.
        """
        from partita.engine.item_history import item_history

        self._context.catalog.refresh()
        with self._context.storage.snapshot() as reader:
            table = self._context.table(table_name)
            return item_history(reader, table, key, most=most, most_bytes=most_bytes, examined=examined, before=before)

    def version(self) -> int:
        """A number that changes with every commit of any process; two threads may have different ones of one state."""
        return self._context.storage.version()

    def watch_tables(self, tables: Sequence[str]) -> Watch:
        """A watch of tables with streams: of their changes and settings, by any process; for the calling thread."""
        return self._watches.add(tables)

    @contextmanager
    def paused_writes(self) -> Iterator["TableFence"]:
        """Nobody can write while the block lasts, in no process; writers wait, at most as long as for a lock.

        The fence of the block makes tables reject writes from its end on. An exception that leaves it takes that back.
        """
        from partita.engine.fence import TableFence

        try:
            with self._context.storage.transaction() as txn:
                yield TableFence(self._context.write_catalog, txn)
        except BaseException:
            self._context.write_catalog.invalidate()
            raise
        self._context.catalog.refresh()

    def record_reads(self) -> RecordingEngine:
        """This engine, with a record of the reads that its requests make."""
        return RecordingEngine(self, self._context, self._key_sample)

    def close(self) -> None:
        """Stops the background work and closes the storage."""
        self._watches.close(StorageClosed(self.path or "memory:"))
        self.maintenance.stop()
        self._context.storage.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def after_fork(self) -> None:
        """In a forked child: every call raises an error at once, and nothing waits for the parent's threads.

        A storage in memory could answer, but from a copy that another thread may have been changing.
        """
        error = UsedAfterFork(self.path or "memory:")
        self._writer.after_fork()
        self._watches.after_fork(error)
        self.maintenance.after_fork()
        for name in ("call", "prepare", "version", "watch_tables"):
            setattr(self, name, partial(_raise, error))

    def after_write(self, request: Request[Any]) -> None:
        """Starts the background work that a write may have made necessary."""
        if type(request) not in ITEM_WRITES:
            self._start_maintenance()
        elif getattr(request, "client_request_token", None) is not None and not self.maintenance.is_running:
            self._start_maintenance()  # tokens expire minutes later: a thread that runs finds them in time

    def _start_maintenance(self) -> None:
        if not self._maintains:
            return
        if self.maintenance.is_running:
            self.maintenance.wake()
        elif self.maintenance.is_needed():
            self.maintenance.start()


def _raise(error: Exception, *_: Any) -> NoReturn:
    raise error


def _lone_surrogate_error() -> ValidationException:
    return ValidationException("One or more parameter values were invalid: text with a lone surrogate is not Unicode")


def as_dynamodb_error(error: StorageError) -> Exception:
    """DynamoDB's error for one of the storage, which is its cause."""
    if isinstance(error, StorageClosed):
        return error  # of this process, and no answer of DynamoDB
    kind = ThrottlingException if isinstance(error, StorageBusy) else InternalServerError
    found = kind(str(error))
    found.__cause__ = error
    return found
