"""The engine: answers typed requests with DynamoDB's behaviour, from a storage, in the process.

    engine.call(request)          any thread: reads at once, writes when committed
    engine.submit(request, done)  an event loop: reads at once, writes by the engine's own thread, many a commit
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from partita.engine.catalog import Catalog, now
from partita.engine.context import Context, Job
from partita.engine.maintenance import Maintenance
from partita.engine.operations import READS, WRITES
from partita.engine.writer import Ticket, Writer
from partita.errors import SpaceMissing, StorageBusy, StorageError
from partita.storage.contract import Storage
from partita.wire.errors import InternalServerError, ThrottlingException, ValidationException
from partita.wire.requests import Request

Reply = TypeVar("Reply")


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
        self._context = Context(storage, Catalog(storage), clock, region, account)
        self._writer = Writer(self._context)
        self.maintenance = Maintenance(self._context, self._writer)
        self._maintains = maintain
        self._committer: _Committer | None = None
        self._start_maintenance()

    def call(self, request: Request[Reply]) -> Reply:
        """Answers a request, or raises the `DynamoDBError` that DynamoDB would answer with."""
        try:
            read = READS.get(type(request))
            if read is not None:
                return self._read(read, request)
            return self._written(request, self._writer.run(self._prepared(request)))
        except UnicodeEncodeError:
            raise _not_text() from None
        except StorageError as error:
            raise _storage_failure(error) from error

    def submit(self, request: Request[Any], done: Callable[[list[Ticket]], None]) -> Ticket:
        """Queues a write for the engine's own thread, which calls `done` with the tickets of one commit."""
        try:
            ticket = Ticket(self._prepared(request))
        except UnicodeEncodeError:
            raise _not_text() from None
        if self._committer is None:
            self._committer = _Committer(self._writer, done)
        self._committer.add(ticket)
        return ticket

    def is_read(self, request: Request[Any]) -> bool:
        return type(request) in READS

    def close(self) -> None:
        """Finishes what is queued and closes the storage."""
        self.maintenance.stop()
        if self._committer is not None:
            self._committer.stop()
        self._context.storage.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _read(self, read: Callable[[Context, Any], Reply], request: Request[Reply]) -> Reply:
        try:
            return read(self._context, request)
        except SpaceMissing:  # another process dropped a table or index after our last look at the catalogue
            self._context.catalog.forget()
            self._context.catalog.refresh()
            return read(self._context, request)

    def _prepared(self, request: Request[Any]) -> Job:
        return WRITES[type(request)](self._context, request)

    def _written(self, request: Request[Any], reply: Any) -> Any:
        if type(request).__name__.startswith(("Update", "Create")):
            self._start_maintenance()
        return reply

    def _start_maintenance(self) -> None:
        if self._maintains and self.maintenance.needed():
            self.maintenance.start()


class _Committer:
    """A thread that commits what an event loop has queued."""

    def __init__(self, writer: Writer, done: Callable[[list[Ticket]], None]) -> None:
        self._writer = writer
        self._done = done
        self._wake = threading.Semaphore(0)
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="partita-committer", daemon=True)
        self._thread.start()

    def add(self, ticket: Ticket) -> None:
        self._writer.enqueue(ticket)
        self._wake.release()

    def stop(self) -> None:
        self._stopping = True
        self._wake.release()
        self._thread.join()

    def _work(self) -> None:
        while not self._stopping:
            self._wake.acquire()
            group = self._writer.commit_waiting()
            if group:
                self._done(group)


def _not_text() -> ValidationException:
    return ValidationException("One or more parameter values were invalid: text with a lone surrogate is not Unicode")


def _storage_failure(error: StorageError) -> Exception:
    if isinstance(error, StorageBusy):
        return ThrottlingException(str(error))
    return InternalServerError(str(error))
