"""The writer: one write transaction at a time, and many writes to a commit.

A commit that survives power loss waits for the disk, so the writes that arrive during a commit share the next one. The
thread that holds the lock commits for all that wait. A write that finds the lock free is committed alone, at once, in
its own thread.

    thread A   [ commit 1: A ]
    thread B      queue, wait [ commit 2: B C D ]
    thread C      queue, wait .................. done
    thread D        queue, wait ................ done

A thread can be interrupted at any point by an exception that is not the fault of a write: Ctrl-C, or the alarm of a
signal handler. The writes of its group are those of other threads too. They stay in `_taken` until they are done, are
committed once in any case (the storage knows whether the transaction was), and only then is the exception raised.

An event loop must not wait for a lock, nor long for a disk. It runs the jobs itself when nothing else is writing
(`open_group`), and where commits are slow it leaves them to a thread (`CommitGroup.commit`).
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

from partita.dynamodb.exceptions import DynamoDBError
from partita.engine.context import EngineContext, Job
from partita.errors import StorageError
from partita.storage.contract import StorageTransaction, end_suspended

ATTEMPTS = 3  # of one write whose thread is interrupted each time


class PendingWrite:
    """A write in the queue, and its result once it is committed."""

    __slots__ = ("done", "error", "job", "on_commit", "owner", "reply")

    def __init__(self, job: Job, owner: Any = None, on_commit: "Callable[[PendingWrite], None] | None" = None) -> None:
        """`owner` is for the caller's own use. A thread that commits the write for its caller calls `on_commit`."""
        self.job = job
        self.owner = owner
        self.on_commit = on_commit
        self.done = False
        self.reply: Any = None
        self.error: BaseException | None = None

    def run(self, txn: StorageTransaction) -> None:
        """Runs the job. A rejected one has written nothing, or its error leaves the transaction, which undoes all."""
        txn.is_changed = False
        try:
            self.reply, self.error = self.job(txn), None
        except DynamoDBError as error:
            if txn.is_changed:
                raise
            self.error = error

    def result(self) -> Any:
        """The reply, or else raises the error; it is taken once.

        An error is not kept: its traceback has frames that have this write, and only the garbage collector, which stops
        all threads, would free a cycle of them.
        """
        error, self.error = self.error, None
        if error is None:
            return self.reply
        try:
            raise error
        finally:
            del error


class Writer:
    """The queue of writes to one storage."""

    MAX_GROUP = 256

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._queue: deque[PendingWrite] = deque()
        self._taken: list[PendingWrite] = []
        self._lock = threading.Lock()

    def run(self, job: Job) -> Any:
        """Runs a job and returns its reply once it is committed."""
        own = PendingWrite(job)
        try:
            self._queue.append(own)
            while not own.done:
                _notify(self.commit_queue(own))
        except BaseException:
            own.done = True  # where it is still in the queue, nobody waits for it
            raise
        return own.result()

    def enqueue(self, write: PendingWrite) -> None:
        """Adds a write to the next commit; the caller calls `open_group` or `commit_queue` later."""
        self._queue.append(write)

    def __len__(self) -> int:
        return len(self._queue)

    def commit_queue(self, own: PendingWrite | None = None) -> list[PendingWrite]:
        """Commits the writes in the queue, and returns them; `own` is that of the caller.

        Raises what has interrupted the thread, after the others' writes are committed.
        """
        with self._lock:
            writes = self._take_group()
            interruption = self._commit(writes, own) if writes else None
        if interruption is not None:
            _notify([write for write in writes if write.done])
            try:
                raise interruption
            finally:
                del interruption  # or its traceback would be in a cycle
        return writes

    def open_group(self) -> "CommitGroup | None":
        """Runs the writes in the queue in a transaction, not yet committed; None where that would block."""
        if not self._lock.acquire(blocking=False):
            return None
        writes: list[PendingWrite] = []
        try:
            writes = self._take_group()
            block = self._context.storage.transaction(wait=False)
            txn = block.__enter__()
        except BaseException:  # noqa: BLE001 - busy, or an error of the disk, which `commit_queue` meets too
            self._requeue(writes)
            return None
        try:
            self._context.write_catalog.refresh(txn)
            for write in writes:
                write.run(txn)
        except BaseException as error:  # noqa: BLE001 - `commit_queue` finds out which write raises it
            self._context.write_catalog.invalidate()
            with suppress(BaseException):  # the same error again, after the rollback
                block.__exit__(type(error), error, error.__traceback__)
            self._requeue(writes)
            return None
        return CommitGroup(writes, block, self._lock, self._context)

    def after_fork(self) -> None:
        """Another thread may have had the lock, and its writes are the parent's."""
        self._lock = threading.Lock()
        self._queue.clear()
        self._taken = []

    def _take_group(self) -> list[PendingWrite]:
        """The next writes; first those that an interrupted thread has left."""
        queue = self._queue
        taken = self._taken = [write for write in self._taken if not write.done]
        left = tuple(taken)
        while queue and len(taken) < self.MAX_GROUP:
            write = queue[0]
            if not write.done and write not in left:
                taken.append(write)
            queue.popleft()  # afterwards: an interrupted thread loses no write
        return taken

    def _requeue(self, writes: list[PendingWrite]) -> None:
        self._queue.extendleft(reversed(writes))
        self._taken = []
        self._lock.release()

    def _commit(self, writes: list[PendingWrite], own: PendingWrite | None) -> BaseException | None:
        """Commits writes, or gives them their errors; returns an error of none of them, for the thread to raise."""
        error = self._attempt(writes)
        if error is None or writes[0].done or writes == [own]:
            return error
        if isinstance(error, StorageError):
            _fail(writes, error)
            return None
        failed = [write for write in writes if not self._commit_alone(write)]
        return None if failed and isinstance(error, Exception) else error

    def _commit_alone(self, write: PendingWrite) -> bool:
        """Commits one write of a group that has failed; false where the error is its own."""
        for _ in range(ATTEMPTS):
            error = self._attempt([write])
            if error is None or write.done:
                return True
            if isinstance(error, Exception):
                break
        _fail([write], error)
        return False

    def _attempt(self, writes: list[PendingWrite]) -> BaseException | None:
        """Commits writes together, and returns the error; where they are not done, nothing of them is committed."""
        txn: StorageTransaction | None = None
        block = self._context.storage.transaction()
        try:
            with block as txn:
                self._context.write_catalog.refresh(txn)
                for write in writes:
                    write.run(txn)
            self._context.catalog.sync_to(self._context.write_catalog)
            _finish(writes)
        except BaseException as error:  # noqa: BLE001 - it is raised where it belongs
            end_suspended(block)
            self._context.write_catalog.invalidate()
            if txn is not None and txn.is_committed:
                _finish(writes)
            return error
        return None


def _finish(writes: list[PendingWrite]) -> None:
    for write in writes:
        write.done = True


def _fail(writes: list[PendingWrite], error: BaseException | None) -> None:
    for write in writes:
        write.error = error
        write.done = True


def _notify(writes: list[PendingWrite]) -> None:
    for write in writes:
        if write.on_commit is not None:
            write.on_commit(write)


class CommitGroup:
    """Writes whose jobs have run in one open transaction."""

    def __init__(
        self,
        writes: list[PendingWrite],
        block: AbstractContextManager[StorageTransaction],
        lock: threading.Lock,
        context: EngineContext,
    ) -> None:
        self.writes = writes
        self._block = block
        self._lock = lock
        self._context = context

    @property
    def is_done(self) -> bool:
        return all(write.done for write in self.writes)

    def commit(self) -> None:
        """Makes the group durable; any thread may call."""
        try:
            self._block.__exit__(None, None, None)
            self._context.catalog.sync_to(self._context.write_catalog)
        except BaseException as error:  # noqa: BLE001 - raised again by `PendingWrite.result`
            self._context.write_catalog.invalidate()
            for write in self.writes:
                write.error = error
        finally:
            for write in self.writes:
                write.done = True
            self._lock.release()
