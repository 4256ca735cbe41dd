"""The engine on an event loop: reads and the jobs of writes run on the loop, and many writes share a commit.

Where the disk is fast the loop commits itself: handing over to a thread and back would take longer. Where commits have
been slow lately, a thread waits for the disk while the loop goes on reading:

    loop     [ jobs of A B C ] reads, reads, reads      [ finish A B C, jobs of D E ]
    thread                    [ commit: wait for disk ]                              [ commit ... ]

Writes that arrive during a commit form the next group. The two threads share one interpreter lock, so they hand over
once for each commit and not once for each statement.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from partita.dynamodb.operations import is_read
from partita.dynamodb.requests import Request, SearchVectors
from partita.engine.engine import Engine, as_dynamodb_error
from partita.engine.gathering import Gathering
from partita.engine.writer import CommitGroup, PendingWrite
from partita.errors import StorageError
from partita.storage import after_fork

Reply = TypeVar("Reply")
Done = Callable[[Any, BaseException | None], None]

MAX_LOOP_SECONDS = 0.0005  # the loop itself commits while commits are faster than this
SEARCH_THREADS = 2  # each starts with the first search that needs it


class AsyncEngine:
    """An engine for the running event loop; closing it closes the engine."""

    def __init__(self, engine: Engine, timer: Callable[[], float] = time.perf_counter) -> None:
        self._engine = engine
        self._timer = timer
        self._writer = engine.writer
        self._loop = asyncio.get_running_loop()
        self._idle = asyncio.Event()
        self._idle.set()
        self._gathering = Gathering(timer)
        self._work: SimpleQueue[CommitGroup | bool] = SimpleQueue()
        self._handed: CommitGroup | bool | None = None  # to the thread, and not yet finished
        self._thread = self._start_thread()
        self._searching = ThreadPoolExecutor(SEARCH_THREADS, "partita-search")
        self._is_closed = False
        after_fork.register(self)

    @property
    def engine(self) -> Engine:
        """The engine that answers."""
        return self._engine

    @property
    def cursor_key(self) -> bytes:
        """The key that signs the cursors of stores on this database."""
        return self._engine.cursor_key

    def is_nonblocking(self, request: Request[Any]) -> bool:
        """Whether `call_nonblocking` may be used, which is so for reads, but for searches of vectors."""
        return is_read(request) and type(request) is not SearchVectors

    def call_nonblocking(self, request: Request[Reply]) -> Reply:
        return self._engine.call(request)

    async def call(self, request: Request[Reply]) -> Reply:
        """Answers a request, or raises the `DynamoDBError` that DynamoDB would answer with."""
        if self.is_nonblocking(request):
            return self._engine.call(request)
        future: asyncio.Future[Reply] = self._loop.create_future()
        self.start(request, partial(_resolve, future))
        return await future

    def start(self, request: Request[Any], done: Done) -> None:
        """Queues a write, and calls `done` on the loop with its reply or its error once it is committed.

        A search of vectors runs in a thread: it takes longer than the loop may stand still.
        """
        if type(request) is SearchVectors:
            self._searching.submit(self._search, request, done)
            return
        job = self._engine.prepare(request)
        self._writer.enqueue(PendingWrite(job, (request, done), self._on_commit))
        if self._idle.is_set():
            self._idle.clear()
            self._loop.call_soon(self._collect, 0)

    def _search(self, request: SearchVectors, done: Done) -> None:
        """In a thread: answers a search."""
        reply: Any = None
        error: BaseException | None = None
        try:
            reply = self._engine.call(request)
        except BaseException as raised:  # noqa: BLE001 - for the caller, on the loop
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(done, reply, error)

    def after_fork(self) -> None:
        self._idle.set()

    async def close(self) -> None:
        """Waits for queued writes, then closes the engine; later calls get an error."""
        if self._is_closed:
            return
        await self._idle.wait()
        self._is_closed = True
        self._searching.shutdown()
        self._work.put(False)
        self._thread.join()
        self._engine.close()

    def _collect(self, seen: int) -> None:
        """Lets the loop read further requests, as long as more writes arrive or are expected: they share the commit."""
        waiting = len(self._writer)
        if waiting > seen or (waiting and not self._gathering.is_complete(waiting)):
            self._loop.call_soon(self._collect, waiting)
        elif waiting:
            self._start_group()
        else:  # another thread has committed it
            self._idle.set()

    def _start_group(self) -> None:
        """Runs the queued writes, and commits them here or in the thread."""
        if self._is_closed:  # the thread has ended; the storage raises
            self._finish(self._writer.commit_queue())
            return
        group = self._writer.open_group()
        if group is not None and (
            self._gathering.average_seconds < MAX_LOOP_SECONDS or not self._engine.waits_for_disk
        ):
            self._commit(group)
            self._finish(group.writes)
        else:
            self._handed = group or True  # True: something else is writing, and the thread waits for it
            self._work.put(self._handed)

    def _start_thread(self) -> threading.Thread:
        thread = threading.Thread(target=self._commit_loop, name="partita-commit", daemon=True)
        thread.start()
        return thread

    def _commit(self, group: CommitGroup) -> None:
        begun = self._timer()
        group.commit()
        self._gathering.on_commit(self._timer() - begun)

    def _commit_loop(self) -> None:
        """The thread: commits the groups that the loop hands over."""
        try:
            while (group := self._work.get()) is not False:
                if isinstance(group, CommitGroup):
                    if not group.is_done:
                        self._commit(group)
                    writes = group.writes
                else:
                    writes = self._writer.commit_queue()
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._finish, writes)
        except BaseException:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._replace_thread)
            raise

    def _replace_thread(self) -> None:
        """After an error that ended the thread, such as MemoryError: another one does its work."""
        self._thread = self._start_thread()
        if self._handed is not None:
            self._work.put(self._handed)

    def _on_commit(self, write: PendingWrite) -> None:
        """Called by a thread that has committed a write of this loop with its own."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._notify, write)

    def _notify(self, write: PendingWrite) -> None:
        request, done = write.owner
        error = write.error
        if error is None:
            self._engine.after_write(request)
        done(write.reply, as_dynamodb_error(error) if isinstance(error, StorageError) else error)

    def _finish(self, writes: list[PendingWrite]) -> None:
        self._handed = None
        for write in writes:
            if write.owner is not None:  # otherwise a thread waits for it in `Writer.run`
                self._notify(write)
        self._gathering.on_answers(len(writes), len(self._writer))
        if len(self._writer):
            self._loop.call_soon(self._collect, 0)
        else:
            self._idle.set()


def _resolve(future: asyncio.Future[Any], reply: Any, error: BaseException | None) -> None:
    if future.done():  # cancelled
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(reply)
