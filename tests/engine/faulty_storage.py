"""A database file whose SQLite connections fail on demand, as a disk does."""

import threading
from collections.abc import Callable
from typing import Any

import apsw

from partita.errors import StorageError
from partita.storage.sqlite import SqliteStorage
from partita.storage.sqlite_connection import SqliteConnection
from tests.engine.tables import Bench


class Faults:
    """Which statements fail: `fail("COMMIT")` makes the next statement fail that begins with it, in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._start = ""
        self._skip = self._times = 0
        self.raised = 0

    def fail(self, start: str, *, times: int = 1, skip: int = 0) -> None:
        with self._lock:
            self._start, self._times, self._skip, self.raised = start, times, skip, 0

    def clear(self) -> None:
        self.fail("", times=0)

    def meet(self, sql: str) -> None:
        with self._lock:
            if not self._times or not sql.lstrip().upper().startswith(self._start):
                return
            if self._skip:
                self._skip -= 1
                return
            self._times -= 1
            self.raised += 1
        raise apsw.IOError("disk I/O error")


class _FailingConnection:
    """An apsw connection whose statements may fail before they run."""

    def __init__(self, connection: apsw.Connection, faults: Faults) -> None:
        self._connection = connection
        self._faults = faults

    def execute(self, sql: str, *arguments: Any) -> Any:
        self._faults.meet(sql)
        return self._connection.execute(sql, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class FaultyStorage(SqliteStorage):
    """A storage whose statements fail as `faults` says, from its first use on."""

    def __init__(self, path: str) -> None:
        self.faults = Faults()
        super().__init__(path, "process")

    def _connect(self, *, is_first: bool = False, is_writer: bool = False) -> SqliteConnection:
        connection = super()._connect(is_first=is_first, is_writer=is_writer)
        failing: Any = _FailingConnection(connection.apsw, self.faults)
        run, faults = connection.execute, self.faults

        def execute(sql: str, *arguments: Any) -> Any:
            faults.meet(sql)
            return run(sql, *arguments)

        connection.apsw = failing
        connection.execute = execute  # type: ignore[assignment]
        connection.get = connection._getter()
        return connection


class FaultyDisk(apsw.VFS):
    """A file system whose reads, writes and syncs fail on demand: SQLite itself meets the error, at any point."""

    def __init__(self) -> None:
        super().__init__("faulty", "unix", makedefault=True)
        self.method = ""
        self.skip = 0
        self.raised = 0

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's names
        return _FaultyFile(self, name, flags)

    def fail(self, method: str, *, skip: int = 0) -> None:
        """Makes the calls of a method fail after the next `skip`, until `method` is empty."""
        self.method, self.skip, self.raised = method, skip, 0

    def meet(self, method: str) -> None:
        if method != self.method:
            return
        if self.skip:
            self.skip -= 1
            return
        self.raised += 1
        raise apsw.IOError("disk I/O error")


class _FaultyFile(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("unix", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.meet("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.meet("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.meet("sync")
        super().xSync(flags)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._disk.meet("truncate")
        super().xTruncate(size)


class Failing:
    """Calls a function, but some of its calls fail, as with a disk that is full for a moment."""

    def __init__(self, call: Callable[..., Any], error: Exception, failing: tuple[int, ...]) -> None:
        self._call = call
        self._error = error
        self._failing = failing
        self._calls = 0

    def __call__(self, *arguments: Any) -> Any:
        self._calls += 1
        if self._calls in self._failing:
            raise self._error
        return self._call(*arguments)


def settle_with_failures(bench: Bench) -> int:
    """Runs the background work to its end, again after each error; returns their number."""
    failures = 0
    while True:
        try:
            if not bench.engine.maintenance.step():
                return failures
        except StorageError:
            failures += 1
