"""The engine on an event loop: reads and the work of writes happen on the loop, and one commit is for many writes.

Where the disk is quick, the loop commits by itself: handing over to a thread and back would take longer. Where commits
have been slow of late, a thread waits for the disk, and the loop goes on reading:

    loop     [ jobs of A B C ] reads, reads, reads      [ finish A B C, jobs of D E ]
    thread                    [ commit: wait for disk ]                              [ commit ... ]

Writes that arrive during a commit make the next group. One hand-over each way a commit, instead of one a statement, is
what the two threads' sharing of one interpreter lock asks for.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from partita.dynamodb.operations import is_read
from partita.dynamodb.requests import Request
from partita.engine.engine import Engine, storage_failure
from partita.engine.writer import CommitGroup, PendingWrite
from partita.errors import StorageError

Reply = TypeVar("Reply")
Done = Callable[[Any, BaseException | None], None]

QUICK_SECONDS = 0.0005  # a commit that the loop may wait for
_WEIGHT = 0.125  # of the latest commit in how long they usually take


class AsyncEngine:
    """An engine for the running event loop; closing it closes the engine."""

    def __init__(self, engine: Engine, timer: Callable[[], float] = time.perf_counter) -> None:
        self._engine = engine
        self._timer = timer
        self._writer = engine.writer
        self._loop = asyncio.get_running_loop()
        self._idle = asyncio.Event()
        self._idle.set()
        self._usual_seconds = 0.0
        self._work: SimpleQueue[CommitGroup | bool] = SimpleQueue()
        self._thread = threading.Thread(target=self._obey, name="partita-commit", daemon=True)
        self._thread.start()

    def is_nonblocking(self, request: Request[Any]) -> bool:
        """Whether `call_nonblocking` may be used: a read, which never waits."""
        return is_read(request)

    def call_nonblocking(self, request: Request[Reply]) -> Reply:
        return self._engine.call(request)

    async def call(self, request: Request[Reply]) -> Reply:
        """Answers a request, or raises the `DynamoDBError` that DynamoDB would answer with."""
        if is_read(request):
            return self._engine.call(request)
        future: asyncio.Future[Reply] = self._loop.create_future()
        self.start(request, partial(_resolve, future))
        return await future

    def start(self, request: Request[Any], done: Done) -> None:
        """Queues a write and calls `done` with its reply or its error, from the loop, once it is committed."""
        job = self._engine.prepared(request)
        self._writer.enqueue(PendingWrite(job, (request, done), self._committed_elsewhere))
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._gather, 0)

    async def close(self) -> None:
        await self._idle.wait()
        self._work.put(False)
        self._thread.join()
        self._engine.close()

    def _gather(self, seen: int) -> None:
        """Lets the loop take in what is arriving, as long as more arrives: it will share the commit."""
        waiting = len(self._writer)
        if waiting > seen:
            self._loop.call_soon(self._gather, waiting)
        elif waiting:
            self._begin()
        else:  # another thread has committed it
            self._idle.set()

    def _begin(self) -> None:
        """Runs what is queued, and leaves the waiting to the thread."""
        group = self._writer.open_group()
        if group is not None and (self._usual_seconds < QUICK_SECONDS or not self._engine.waits_for_disk):
            self._commit(group)
            self._finish(group.tickets)
        else:
            self._work.put(group or True)  # somebody else is writing: the thread waits, then does it all

    def _commit(self, group: CommitGroup) -> None:
        begun = self._timer()
        group.commit()
        self._usual_seconds += (self._timer() - begun - self._usual_seconds) * _WEIGHT

    def _obey(self) -> None:
        """The thread: commits what the loop leaves to it."""
        while (group := self._work.get()) is not False:
            if isinstance(group, CommitGroup):
                self._commit(group)
                tickets = group.tickets
            else:
                tickets = self._writer.commit_waiting()
            self._loop.call_soon_threadsafe(self._finish, tickets)

    def _committed_elsewhere(self, ticket: PendingWrite) -> None:
        """Called by a thread that has committed a ticket of ours with its own."""
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            self._loop.call_soon_threadsafe(self._tell, ticket)

    def _tell(self, ticket: PendingWrite) -> None:
        request, done = ticket.waiter
        error = ticket.error
        if error is None:
            self._engine.written(request)
        done(ticket.reply, storage_failure(error) if isinstance(error, StorageError) else error)

    def _finish(self, tickets: list[PendingWrite]) -> None:
        for ticket in tickets:
            if ticket.waiter is not None:  # else somebody waits in a thread of his own
                self._tell(ticket)
        if len(self._writer):
            self._loop.call_soon(self._gather, 0)
        else:
            self._idle.set()


def _resolve(future: asyncio.Future[Any], reply: Any, error: BaseException | None) -> None:
    if future.done():  # whoever waited has gone
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(reply)
