"""Watches of tables: one thread waits for commits, and wakes those whose tables have changed.

    commits of any process ──> one thread ──> the last number of each watched table's change log
                                                    └──wakes──> the watches of the tables that have moved

A process may have many watches and many commits that concern none of them. So the thread reads each table's last number
once after a commit, and nobody else wakes up.
"""

import threading
from collections.abc import Sequence

from partita.engine.catalog import Catalog
from partita.engine.change_log import last_number
from partita.engine.context import EngineContext
from partita.errors import SpaceMissing
from partita.storage.contract import Reader, Watch

LOOK_SECONDS = 60.0  # of one wait for commits

State = tuple[int, ...]


class TableWatches:
    """The watches of an engine; its thread runs while there are any."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._lock = threading.Lock()  # held while states are read: no watch is added between a commit and its look
        self._watches: list[TableWatch] = []
        self._thread: _WatchThread | None = None
        self._closed: Exception | None = None

    def add(self, tables: Sequence[str]) -> "TableWatch":
        """A watch of the changes in tables, from now on."""
        with self._lock:
            self._start()
            watch = TableWatch(self, tables)
            (watch.state,) = self._states([watch])
            self._watches.append(watch)
        return watch

    def remove(self, watch: "TableWatch") -> None:
        """Ends the thread with its last watch."""
        with self._lock:
            self._watches = [each for each in self._watches if each is not watch]
            thread = None if self._watches else self._take_thread()
        if thread is not None:
            thread.stop()

    def follow(self) -> None:
        """Starts the thread unless it runs: it ends when commits cannot be watched."""
        if self._thread is None or not self._thread.is_alive():
            with self._lock:
                self._start()

    def close(self, error: Exception) -> None:
        """Ends the thread; who waits, now or later, gets the error."""
        with self._lock:
            self._closed, thread = error, self._take_thread()
            for watch in self._watches:
                watch.wake(error=error)
        if thread is not None:
            thread.stop()

    def after_fork(self, error: Exception) -> None:
        """In a forked child, which has no thread of the parent: who waits gets the error."""
        self._lock, self._thread, self._closed = threading.Lock(), None, error

    def notify(self) -> None:
        """Wakes the watches of tables that have changed."""
        with self._lock:
            for watch, state in zip(self._watches, self._states(self._watches), strict=True):
                if state != watch.state:
                    watch.state = state
                    watch.wake(has_changed=True)

    def fail(self, thread: "_WatchThread", error: Exception) -> None:
        """Raises an error in those that wait; their next wait begins anew."""
        with self._lock:
            if self._thread is thread:
                self._thread = None
                for watch in self._watches:
                    watch.wake(error=error)

    def _start(self) -> None:
        if self._closed is not None:
            raise self._closed
        if self._thread is None or not self._thread.is_alive():
            self._thread = _WatchThread(self, self._context)
            self._thread.start()

    def _take_thread(self) -> "_WatchThread | None":
        thread, self._thread = self._thread, None
        return thread

    def _states(self, watches: "Sequence[TableWatch]") -> list[State]:
        """What a change of each watch's tables changes: their definitions, and the last numbers of their logs."""
        catalog = self._context.catalog
        with self._context.storage.snapshot() as reader:
            catalog.refresh(reader)
            names = {name for watch in watches for name in watch.tables}
            known = {name: _last_number(reader, catalog, name) for name in names}
            return [(catalog.version, *(known[name] for name in watch.tables)) for watch in watches]


class TableWatch:
    """Waits until tables have changed; for one thread. `wake` ends the wait from another."""

    def __init__(self, watches: TableWatches, tables: Sequence[str]) -> None:
        self.tables = tables
        self.state: State = ()
        self._watches = watches
        self._woken = threading.Condition()
        self._is_woken = False
        self._has_changed = False
        self._error: Exception | None = None

    def wait(self, seconds: float) -> bool:
        """Waits for a change, at most some seconds; whether there was one since the last call."""
        self._watches.follow()
        with self._woken:
            self._woken.wait_for(lambda: self._is_woken, seconds)
            self._is_woken = False
            error, self._error = self._error, None
            if error is not None:
                raise error
            has_changed, self._has_changed = self._has_changed, False
            return has_changed

    def wake(self, *, has_changed: bool = False, error: Exception | None = None) -> None:
        """Ends the wait of another thread."""
        with self._woken:
            self._is_woken = True
            self._has_changed = self._has_changed or has_changed
            self._error = error or self._error
            self._woken.notify()

    def close(self) -> None:
        self._watches.remove(self)


class _WatchThread(threading.Thread):
    """Waits for commits."""

    def __init__(self, watches: TableWatches, context: EngineContext) -> None:
        super().__init__(name="partita-commits", daemon=True)
        self._watches = watches
        self._context = context
        self._commits: Watch | None = None
        self._is_stopping = False

    def run(self) -> None:
        try:
            self._commits = commits = self._context.storage.watch()
            try:
                self._watches.notify()  # of what was committed before
                while not self._is_stopping:
                    if commits.wait(LOOK_SECONDS):
                        self._watches.notify()
            finally:
                commits.close()
        except Exception as error:  # noqa: BLE001 - raised by those that wait
            self._watches.fail(self, error)

    def stop(self) -> None:
        self._is_stopping = True
        if self._commits is not None:
            self._commits.wake()
        self.join()


def _last_number(reader: Reader, catalog: Catalog, name: str) -> int:
    table = catalog.tables.get(name)
    try:
        return -1 if table is None else last_number(reader, table)
    except SpaceMissing:  # the catalogue is older than the snapshot
        return -1
