"""Storage in a file, beyond the contract: other processes, files of other programs, threads."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from partita.errors import (
    ConfigurationError,
    PartitaError,
    SpaceMissing,
    StorageBusy,
    StorageClosed,
    StorageError,
)
from partita.storage import sqlite_connection
from partita.storage.contract import Row, Totals, Write
from partita.storage.sqlite import SqliteStorage
from partita.storage.sqlite_connection import SqliteConnection
from partita.storage.sqlite_format import FORMAT
from tests.timing import PATIENCE


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "file.db")


@pytest.fixture
def storage(path: str) -> Iterator[SqliteStorage]:
    storage = SqliteStorage(path)
    with storage.transaction() as txn:
        txn.create_space("s")
    yield storage
    storage.close()


def put(storage: SqliteStorage, key: bytes, value: bytes) -> None:
    with storage.transaction() as txn:
        txn.apply([Write("s", key, txn.get("s", key), Row(len(value), value))])


class Other:
    """The same file in another process: lines of Python in, their output out."""

    def __init__(self, path: str) -> None:
        code = (
            "import sys\n"
            "from partita.storage.sqlite import SqliteStorage\n"
            "from partita.storage.contract import Row, Totals, Write\n"
            f"storage = SqliteStorage({path!r})\n"
            "for line in sys.stdin:\n"
            "    exec(line)\n"
            "    print('.', flush=True)\n"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def run(self, line: str) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        printed: list[str] = []
        for answer in self._process.stdout:
            if answer == ".\n":
                return printed
            printed.append(answer.rstrip("\n"))
        raise AssertionError("the other process ended")

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def other(path: str) -> Iterator[Other]:
    process = Other(path)
    try:
        yield process
    finally:
        process.end()


def test_file_keeps_its_rows(path: str) -> None:
    storage = SqliteStorage(path)
    with storage.transaction() as txn:
        txn.create_space("s")
        txn.apply([Write("s", b"a", None, Row(7, b"x" * 5000))])
    storage.close()
    again = SqliteStorage(path)
    assert again.get("s", b"a") == Row(7, b"x" * 5000)
    assert again.totals("s") == Totals(1, 7)
    again.close()


def test_processes_see_each_others_writes_and_spaces(storage: SqliteStorage, path: str) -> None:
    put(storage, b"a", b"mine")
    with other(path) as theirs:
        assert theirs.run("print(storage.get('s', b'a').value)") == ["b'mine'"]
        theirs.run(
            "with storage.transaction() as t: t.create_space('t'); t.apply([Write('t', b'b', None, Row(1, b'x'))])"
        )
        assert storage.get("t", b"b") == Row(1, b"x")
        theirs.run("with storage.transaction() as t: t.drop_space('t')")
        with pytest.raises(SpaceMissing):
            storage.get("t", b"b")


def test_reader_does_not_wait_for_the_writer_of_another_process(storage: SqliteStorage, path: str) -> None:
    put(storage, b"a", b"old")
    with other(path) as theirs:
        theirs.run("block = storage.transaction(); t = block.__enter__()")
        theirs.run("t.apply([Write('s', b'a', t.get('s', b'a'), Row(3, b'new'))])")
        assert storage.get("s", b"a") == Row(3, b"old")
        assert list(storage.range("s", b"", None)) == [(b"a", 3, b"old")]
        theirs.run("block.__exit__(None, None, None)")
        assert storage.get("s", b"a") == Row(3, b"new")


def test_snapshot_is_stable_while_another_process_writes(storage: SqliteStorage, path: str) -> None:
    put(storage, b"a", b"old")
    with other(path) as theirs, storage.snapshot() as view:
        assert view.get("s", b"a") == Row(3, b"old")
        theirs.run("with storage.transaction() as t: t.apply([Write('s', b'a', t.get('s', b'a'), Row(3, b'new'))])")
        assert view.get("s", b"a") == Row(3, b"old")
        assert view.totals("s") == Totals(1, 3)
    assert storage.get("s", b"a") == Row(3, b"new")


def test_writer_that_waits_too_long_raises_storage_busy(
    storage: SqliteStorage, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_connection, "BUSY_SECONDS", 0.05)
    impatient = SqliteStorage(path)
    with (
        storage.transaction(),
        pytest.raises(StorageBusy, match=r"another process kept the write lock for more than 0\.05 seconds"),
        impatient.transaction(),
    ):
        pass
    impatient.close()
    put(storage, b"a", b"still works")


def test_counter_incremented_by_many_processes_is_exact(storage: SqliteStorage, path: str) -> None:
    put(storage, b"n", b"0")
    line = (
        "for _ in range(25):\n with storage.transaction() as t:\n"
        "  row = t.get('s', b'n'); t.apply([Write('s', b'n', row, Row(1, b'%d' % (int(row.value) + 1)))])"
    )
    with other(path) as one, other(path) as two, ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda each: each.run(f"exec({line!r})"), (one, two)))
    assert storage.get("s", b"n") == Row(1, b"50")


def test_several_processes_may_create_one_file_at_once(path: str) -> None:
    code = f"import sys\nfrom partita import connect\nsys.stdin.read(1)\nconnect({path!r}).close()\n"
    waiting = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True) for _ in range(4)]
    for each in waiting:
        assert each.stdin is not None
        each.stdin.write("x")
        each.stdin.close()
    for each in waiting:
        each.wait(PATIENCE)
    assert [each.returncode for each in waiting] == [0] * 4


# Files of other programs ------------------------------------------------------------------------------------------


def error_message(path: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        SqliteStorage(path)
    return str(caught.value)


def test_text_file_is_rejected_and_unchanged(path: str) -> None:
    Path(path).write_text("this is not a database, and it is longer than a header\n" * 100)
    before = Path(path).read_bytes()
    assert error_message(path) == f"{path}: not a Partita database file; name another file"
    assert Path(path).read_bytes() == before


def test_sqlite_file_of_another_program_is_rejected_and_unchanged(path: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.execute("INSERT INTO theirs VALUES (1)")
    connection.close()
    before = Path(path).read_bytes()
    assert error_message(path) == f"{path}: an SQLite file of another program; name another file"
    assert Path(path).read_bytes() == before
    assert list(Path(path).parent.iterdir()) == [Path(path)]


def test_file_of_a_later_version_is_rejected(storage: SqliteStorage, path: str) -> None:
    storage.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert error_message(path) == f"{path}: has format 99, of another version of Partita; this one has {FORMAT}"


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "none" / "file.db")
    assert error_message(path) == f"{path}: cannot be opened; check that its folder exists and is writable"


def test_directory_is_rejected(tmp_path: Path) -> None:
    assert "cannot be opened" in error_message(str(tmp_path))


def test_truncated_file_raises_a_storage_error(storage: SqliteStorage, path: str) -> None:
    for number in range(300):
        put(storage, b"%05d" % number, b"x" * 1000)
    storage.close()
    Path(path).write_bytes(Path(path).read_bytes()[:20000])
    try:
        torn = SqliteStorage(path)
    except PartitaError:
        return
    with pytest.raises(StorageError):
        list(torn.range("s", b"", None))
    torn.close()


# Threads and closing ----------------------------------------------------------------------------------------------


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts files by /proc")
def test_connection_of_an_ended_thread_is_closed(storage: SqliteStorage) -> None:
    put(storage, b"a", b"1")

    def read() -> None:
        assert storage.get("s", b"a") == Row(1, b"1")

    def run(times: int) -> None:
        for _ in range(times):
            thread = threading.Thread(target=read)
            thread.start()
            thread.join()

    run(3)
    before = open_files()
    run(50)
    assert open_files() <= before + 3


@pytest.mark.parametrize("failure", [apsw.CantOpenError, apsw.ReadOnlyError, apsw.NotADBError])
def test_file_that_cannot_be_opened_once_more_is_an_error_of_the_storage(
    storage: SqliteStorage, monkeypatch: pytest.MonkeyPatch, failure: type[apsw.Error]
) -> None:
    """A process may have no descriptor left for a thread's connection: nothing is wrong with its configuration."""
    put(storage, b"a", b"1")

    def connect(*arguments: Any, **options: Any) -> SqliteConnection:
        raise failure("unable to open database file")

    with ThreadPoolExecutor(1) as other_thread, monkeypatch.context() as patch:
        patch.setattr("partita.storage.sqlite.SqliteConnection", connect)
        with pytest.raises(StorageError, match="unable to open"):
            other_thread.submit(storage.get, "s", b"a").result()
    with ThreadPoolExecutor(1) as other_thread:
        assert other_thread.submit(storage.get, "s", b"a").result() == Row(1, b"1")


def test_closed_storage_raises_an_error(path: str) -> None:
    storage = SqliteStorage(path)
    with storage.transaction() as txn:
        txn.create_space("s")
    assert storage.get("s", b"a") is None
    storage.close()
    storage.close()
    with pytest.raises(StorageError, match="closed"):
        storage.get("s", b"a")
    with pytest.raises(StorageError, match="closed"):
        list(storage.range("s", b"", None))
    with pytest.raises(StorageError, match="closed"), storage.transaction():
        pass


def test_closing_leaves_one_file(storage: SqliteStorage, path: str) -> None:
    put(storage, b"a", b"1")
    storage.close()
    assert list(Path(path).parent.iterdir()) == [Path(path)]


def test_any_sqlite_tool_can_read_the_file(storage: SqliteStorage, path: str) -> None:
    put(storage, b"a", b"1")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name, n, w FROM spaces").fetchall() == [("s", 1, 1)]
    assert connection.execute("SELECT k, w, v FROM s").fetchall() == [(b"a", 1, b"1")]
    connection.close()


def test_dropped_space_leaves_no_large_values(storage: SqliteStorage, path: str) -> None:
    put(storage, b"a", b"1" * 5000)
    put(storage, b"a", b"2" * 5000)
    with storage.transaction() as txn:
        txn.drop_space("s")
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM large").fetchall() == [(0,)]
    connection.close()


def test_watch_reports_a_commit_of_another_process(tmp_path: Path) -> None:
    """Two storages on one file, as two processes have."""
    path = str(tmp_path / "x.db")
    with closing(SqliteStorage(path)) as one, closing(SqliteStorage(path)) as other:
        watch = one.watch()
        with other.transaction() as txn:
            txn.create_space("s")
        assert watch.wait(PATIENCE)
        watch.close()


READS: dict[str, Callable[[SqliteStorage], object]] = {
    "get": lambda storage: storage.get("s", b"k1"),
    "get of none": lambda storage: storage.get("s", b"k0"),
    "range": lambda storage: list(storage.range("s", b"", None)),
    "empty range": lambda storage: list(storage.range("s", b"x", None)),
    "batches": lambda storage: list(storage.batches("s", b"", None)),
    "check_missing": lambda storage: storage.check_missing("s", b"k0"),
    "totals": lambda storage: storage.totals("s"),
    "version": lambda storage: storage.version(),
}


@pytest.mark.parametrize("read", READS)
def test_interrupt_at_any_statement_of_a_read_is_an_error_of_the_contract(tmp_path: Path, read: str) -> None:
    """As `close` interrupts the reads of other threads."""
    storage = SqliteStorage(str(tmp_path / "a.db"), "process")
    with storage.transaction() as txn:
        txn.create_space("s")
        txn.apply(Write("s", b"k%d" % number, None, Row(1, b"x" * (number % 2 * 5000))) for number in range(1, 9))
    statements = 0
    for failing in range(20):
        at = iter(range(100))

        def interrupt(*_: object, at: Iterator[int] = at, failing: int = failing) -> bool:
            if next(at) == failing:
                raise apsw.InterruptError("interrupted")
            return True

        storage._reader().apsw.exec_trace = interrupt
        try:
            READS[read](storage)
        except StorageClosed:
            statements += 1
        else:
            break
    assert 0 < statements < 20
    storage._reader().apsw.exec_trace = None
    storage.close()


READS_OF_ROWS: dict[str, Callable[[SqliteStorage], list[bytes]]] = {
    "get": lambda storage: [row.value for number in range(4) if (row := storage.get("s", b"k%d" % number))],
    "range": lambda storage: [value for _, _, value in storage.range("s", b"", None)],
    "range, downward": lambda storage: [value for _, _, value in storage.range("s", b"", None, reverse=True)],
    "batches": lambda storage: [value for batch in storage.batches("s", b"", None) for value in batch.values],
    "batches, many": lambda storage: [
        value for batch in storage.batches("s", b"", None, expected=9) for value in batch.values
    ],
}


@pytest.mark.parametrize("read", READS_OF_ROWS)
@pytest.mark.parametrize("lengths", [(5000, 5000), (5000, 10), (10, 5000)])
def test_a_row_that_is_replaced_between_two_statements_of_a_read_is_not_damaged(
    storage: SqliteStorage, read: str, lengths: tuple[int, int]
) -> None:
    before, after = lengths
    reader = storage._reader().apsw
    for writing in range(20):
        for number in range(4):
            put(storage, b"k%d" % number, b"a" * before)
        at = iter(range(100))

        def replace(*_: object, at: Iterator[int] = at, writing: int = writing) -> bool:
            if next(at) == writing:
                reader.exec_trace = None
                for number in range(4):
                    put(storage, b"k%d" % number, b"b" * after)
            return True

        reader.exec_trace = replace
        assert {bytes(set(value)) for value in READS_OF_ROWS[read](storage)} <= {b"a", b"b"}
        if reader.exec_trace is not None:
            reader.exec_trace = None
            break
    assert 0 < writing < 19


def test_batch_holds_a_bounded_size_of_large_values(storage: SqliteStorage) -> None:
    with storage.transaction() as txn:
        txn.apply(Write("s", b"k%03d" % number, None, Row(1, b"x" * 300_000)) for number in range(50))
    found = list(storage.batches("s", b"", None, expected=256))
    assert max(len(batch.values) for batch in found) <= 7
    assert [key for batch in found for key in batch.keys] == [b"k%03d" % number for number in range(50)]
    backward = storage.batches("s", b"", None, reverse=True, expected=256)
    assert [key for batch in backward for key in batch.keys] == [b"k%03d" % number for number in reversed(range(50))]
    assert [key for key, _, _ in storage.range("s", b"", None)] == [b"k%03d" % number for number in range(50)]
