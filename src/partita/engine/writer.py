"""One writer at a time, many writes a commit: whoever holds the lock commits for everybody who is waiting.

A commit that survives power loss waits for the disk, so writes that arrive meanwhile are taken together into the next
one. Nobody waits for company: a write that finds the lock free is committed alone, at once, in its own thread.

    thread A   [ commit 1: A ]
    thread B      queue, wait [ commit 2: B C D ]
    thread C      queue, wait .................. done
    thread D        queue, wait ................ done

An event loop must not wait for a lock, nor long for a disk. It runs the jobs itself, when nobody else is writing
(`open_group`), and where commits are slow leaves them to a thread (`Group.commit`).
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

from partita.dynamodb.exceptions import DynamoDBError
from partita.engine.context import EngineContext, Job
from partita.errors import StorageBusy, StorageError
from partita.storage.contract import StorageTransaction


class PendingWrite:
    """A write in the queue, and what became of it."""

    __slots__ = ("error", "finished", "job", "reply", "tell", "waiter")

    def __init__(self, job: Job, waiter: Any = None, tell: "Callable[[PendingWrite], None] | None" = None) -> None:
        """`waiter` is whatever the queuer wants to find again when the commit is done.

        Somebody else may commit it, in his own thread; he then calls `tell`, where somebody waits to be told.
        """
        self.job = job
        self.waiter = waiter
        self.tell = tell
        self.finished = False
        self.reply: Any = None
        self.error: BaseException | None = None

    def run(self, txn: StorageTransaction) -> None:
        try:
            self.reply, self.error = self.job(txn), None
        except DynamoDBError as error:  # decided before anything was applied
            self.error = error

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.reply


class Writer:
    """The queue of writes to one storage."""

    MAX_GROUP = 256

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._queue: deque[PendingWrite] = deque()
        self._lock = threading.Lock()

    def run(self, job: Job) -> Any:
        """Runs a job and returns its reply once it is committed."""
        ticket = PendingWrite(job)
        self._queue.append(ticket)
        while not ticket.finished:
            for each in self.commit_waiting():
                if each.tell is not None:
                    each.tell(each)
        return ticket.result()

    def enqueue(self, ticket: PendingWrite) -> None:
        """Leaves a job to the next commit; somebody must call `commit_waiting` or `open_group`."""
        self._queue.append(ticket)

    def __len__(self) -> int:
        return len(self._queue)

    def commit_waiting(self) -> list[PendingWrite]:
        """Commits what is in the queue, and returns it."""
        with self._lock:
            tickets = self._taken()
            if tickets:
                self._commit(tickets)
            for ticket in tickets:
                ticket.finished = True
        return tickets

    def open_group(self) -> "CommitGroup | None":
        """Runs what is in the queue in a transaction, not yet committed; None when that would mean waiting."""
        if not self._lock.acquire(blocking=False):
            return None
        tickets = self._taken()
        block = self._context.storage.transaction(wait=False)
        try:
            txn = block.__enter__()
        except StorageBusy:
            self._put_back(tickets)
            return None
        try:
            self._context.writing.refresh(txn)
            for ticket in tickets:
                ticket.run(txn)
        except BaseException as error:  # noqa: BLE001 - `commit_waiting` finds out whose fault it is
            self._context.writing.forget()
            with suppress(BaseException):  # the same error again, after the roll-back
                block.__exit__(type(error), error, error.__traceback__)
            self._put_back(tickets)
            return None
        return CommitGroup(tickets, block, self._lock, self._context)

    def _taken(self) -> list[PendingWrite]:
        return [self._queue.popleft() for _ in range(min(len(self._queue), self.MAX_GROUP))]

    def _put_back(self, tickets: list[PendingWrite]) -> None:
        self._queue.extendleft(reversed(tickets))
        self._lock.release()

    def _commit(self, tickets: list[PendingWrite]) -> None:
        try:
            with self._context.storage.transaction() as txn:
                self._context.writing.refresh(txn)
                for ticket in tickets:
                    ticket.run(txn)
            self._context.catalog.follow(self._context.writing)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the ticket
            self._context.writing.forget()
            if len(tickets) > 1 and not isinstance(error, StorageError):
                for ticket in tickets:  # one of them is at fault; the others must not suffer for it
                    self._commit([ticket])
                return
            for ticket in tickets:
                ticket.error = error


class CommitGroup:
    """Tickets whose jobs have run in one open transaction."""

    def __init__(
        self,
        tickets: list[PendingWrite],
        block: AbstractContextManager[StorageTransaction],
        lock: threading.Lock,
        context: EngineContext,
    ) -> None:
        self.tickets = tickets
        self._block = block
        self._lock = lock
        self._context = context

    def commit(self) -> None:
        """Makes the group durable; any thread may call."""
        try:
            self._block.__exit__(None, None, None)
            self._context.catalog.follow(self._context.writing)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the tickets
            self._context.writing.forget()
            for ticket in self.tickets:
                ticket.error = error
        finally:
            for ticket in self.tickets:
                ticket.finished = True
            self._lock.release()
