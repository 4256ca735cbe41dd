"""The engine: answers typed requests with DynamoDB's behaviour, from a storage, in the process.

engine.call(request)          any thread: reads at once, writes when committed
AsyncEngine(engine).call(...) an event loop: the same, many writes to a commit (`asynchronous`)
"""

from collections.abc import Callable
from typing import Any, TypeVar

from partita.dynamodb.decode import round_trip
from partita.dynamodb.exceptions import (
    DynamoDBError,
    InternalServerError,
    ThrottlingException,
    ValidationException,
)
from partita.dynamodb.operations import ITEM_WRITES
from partita.dynamodb.requests import Request
from partita.engine.catalog import Catalog, now
from partita.engine.context import EngineContext, Job
from partita.engine.maintenance import Maintenance
from partita.engine.operations import READERS, WRITERS, select_reader
from partita.engine.writer import Writer
from partita.errors import SpaceMissing, StorageBusy, StorageError
from partita.storage.contract import Storage

Reply = TypeVar("Reply")

_LOOKS = 20  # a table can go and come again while it is read, but not for ever


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
    ) -> None:
        """`maintain=False` leaves housekeeping (TTL among it) to calls of `maintenance.step()`."""
        self._context = EngineContext(storage, Catalog(storage), Catalog(storage), clock, region, account)
        self._writer = Writer(self._context)
        self.maintenance = Maintenance(self._context, self._writer)
        self._maintains = maintain
        self._start_maintenance()

    def call(self, request: Request[Reply]) -> Reply:
        """Answers a request, or raises the `DynamoDBError` that DynamoDB would answer with."""
        try:
            read = READERS.get(type(request)) or select_reader(request)
            if read is not None:
                try:
                    return read(self._context, request)  # type: ignore[no-any-return]
                except (SpaceMissing, DynamoDBError) as error:
                    return self._read_again(read, request, error)
            reply: Reply = self._writer.run(self.prepared(request))
            self.written(request)
            return reply
        except UnicodeEncodeError:
            raise _not_text() from None
        except StorageError as error:
            raise storage_failure(error) from error
        except DynamoDBError:
            raise
        except Exception:  # types are a promise of the caller's; who broke it is told so
            sound = round_trip(request)
            if sound == request:
                raise
            return self.call(sound)

    def _read_again(self, read: Any, request: Request[Reply], error: Exception) -> Reply:
        """After a read that failed: tried again as long as that was because of an old catalogue."""
        for _ in range(_LOOKS):
            if not self._looks_again(error):
                break
            try:
                return read(self._context, request)  # type: ignore[no-any-return]
            except (SpaceMissing, DynamoDBError) as again:
                error = again
        raise error

    def _looks_again(self, error: Exception) -> bool:
        """After a read that failed: whether somebody has changed a table since our last look at the catalogue."""
        catalog = self._context.catalog
        before = catalog.version
        if isinstance(error, SpaceMissing):
            catalog.forget()
        catalog.refresh()
        return isinstance(error, SpaceMissing) or catalog.version != before

    def prepared(self, request: Request[Any]) -> Job:
        """A write, checked as far as it can be before its transaction."""
        try:
            return WRITERS[type(request)](self._context, request)
        except UnicodeEncodeError:
            raise _not_text() from None

    @property
    def writer(self) -> Writer:
        return self._writer

    @property
    def waits_for_disk(self) -> bool:
        return self._context.storage.waits_for_disk

    def version(self) -> int:
        """Changes with every commit, whoever made it; to be compared in the thread that asked."""
        return self._context.storage.version()

    def close(self) -> None:
        """Ends the housekeeping and closes the storage."""
        self.maintenance.stop()
        self._context.storage.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def written(self, request: Request[Any]) -> None:
        """After a write: a table may now have something to look after, or a token wants to be forgotten."""
        if type(request) not in ITEM_WRITES or getattr(request, "client_request_token", None) is not None:
            self._start_maintenance()

    def _start_maintenance(self) -> None:
        if self._maintains and not self.maintenance.is_running and self.maintenance.needed():
            self.maintenance.start()


def _not_text() -> ValidationException:
    return ValidationException("One or more parameter values were invalid: text with a lone surrogate is not Unicode")


def storage_failure(error: StorageError) -> Exception:
    if isinstance(error, StorageBusy):
        return ThrottlingException(str(error))
    return InternalServerError(str(error))
