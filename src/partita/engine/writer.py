"""One writer at a time, many writes a commit: whoever holds the lock commits for everybody who is waiting.

A commit that survives power loss waits for the disk, so writes that arrive meanwhile are taken together into the next
one. Nobody waits for company: a write that finds the lock free is committed alone, at once, in its own thread.

    thread A   [ commit 1: A ]
    thread B      queue, wait [ commit 2: B C D ]
    thread C      queue, wait .................. done
    thread D        queue, wait ................ done
"""

import threading
from collections import deque
from typing import Any

from partita.engine.context import Context, Job
from partita.errors import StorageError
from partita.wire.errors import DynamoDBError


class Ticket:
    """A write in the queue, and what became of it."""

    __slots__ = ("error", "finished", "job", "reply", "waiter")

    def __init__(self, job: Job, waiter: Any = None) -> None:
        """`waiter` is whatever the queuer wants to find again when the commit is done."""
        self.job = job
        self.waiter = waiter
        self.finished = False
        self.reply: Any = None
        self.error: BaseException | None = None

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.reply


class Writer:
    """The queue of writes to one storage."""

    MOST_TOGETHER = 256

    def __init__(self, context: Context) -> None:
        self._context = context
        self._queue: deque[Ticket] = deque()
        self._lock = threading.Lock()

    def run(self, job: Job) -> Any:
        """Runs a job and returns its reply once it is committed."""
        ticket = Ticket(job)
        self._queue.append(ticket)
        while not ticket.finished:
            self.commit_waiting()
        return ticket.result()

    def enqueue(self, ticket: Ticket) -> None:
        """Leaves a job to the next commit; somebody must call `commit_waiting`."""
        self._queue.append(ticket)

    def commit_waiting(self) -> list[Ticket]:
        """Commits what is in the queue, and returns it."""
        with self._lock:
            group = [self._queue.popleft() for _ in range(min(len(self._queue), self.MOST_TOGETHER))]
            if group:
                self._commit(group)
            for ticket in group:
                ticket.finished = True
        return group

    def _commit(self, group: list[Ticket]) -> None:
        try:
            with self._context.storage.transaction() as txn:
                self._context.catalog.refresh(txn)
                for ticket in group:
                    try:
                        ticket.reply, ticket.error = ticket.job(txn), None
                    except DynamoDBError as error:  # decided before anything was applied
                        ticket.error = error
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits for the ticket
            self._context.catalog.forget()
            if len(group) > 1 and not isinstance(error, StorageError):
                for ticket in group:  # one of them is at fault; the others must not suffer for it
                    self._commit([ticket])
                return
            for ticket in group:
                ticket.error = error
