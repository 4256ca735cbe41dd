"""A process keeps its locks of a file, whatever else it does with it: another one would take over the log.

POSIX ends all locks of a process on a file when the process closes any descriptor of it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from partita import connect
from partita.storage.contract import Row, Write
from partita.storage.live_copy import copy_file
from partita.storage.sqlite import ReadOnlySqliteStorage, SqliteStorage
from partita.storage.stale_log import is_missing, is_stale

Locks = list[tuple[str, str, str]]


def locks_of(path: Path) -> Locks:
    """File, kind and first byte of each lock that this machine's processes have of a file and of its index."""
    inodes = {str(Path(f"{path}{suffix}").stat().st_ino): suffix for suffix in ("", "-shm")}
    fields = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return sorted(
        (inodes[inode], each[3], each[6])
        for each in fields
        if len(each) > 6 and (inode := each[5].rpartition(":")[2]) in inodes
    )


def put(storage: SqliteStorage, *keys: int) -> None:
    for key in keys:
        with storage.transaction() as txn:
            txn.apply([Write("s", key.to_bytes(4, "big"), None, Row(1, b"x" * 1000))])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def storage(path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage(str(path), "process")) as storage:
        with storage.transaction() as txn:
            txn.create_space("s")
        put(storage, 1, 2)
        assert [file for file, *_ in locks_of(path)] == ["", "-shm"]
        yield storage


def _open_and_close(path: Path) -> None:
    SqliteStorage(str(path), "process").close()


def _open_in_a_thread(path: Path) -> None:
    thread = threading.Thread(target=_open_and_close, args=(path,))
    thread.start()
    thread.join()


def _connect(path: Path) -> None:
    connect(str(path)).close()


def _verify(path: Path) -> None:
    with closing(ReadOnlySqliteStorage(str(path))) as reader, reader.snapshot() as snapshot:
        assert snapshot.totals("s").rows == 2


def _copy(path: Path) -> None:
    copy_file(str(path), f"{path}.copy")


def _check_the_log(path: Path) -> None:
    assert not is_stale(str(path))
    assert not is_missing(str(path))


@pytest.mark.parametrize(
    "use",
    [_open_and_close, _open_in_a_thread, _connect, _verify, _copy, _check_the_log],
    ids=lambda use: str(use.__name__).strip("_"),
)
def test_locks_stay_while_the_file_is_used_twice(
    storage: SqliteStorage, path: Path, use: Callable[[Path], None]
) -> None:
    before = locks_of(path)
    use(path)
    assert locks_of(path) == before
    put(storage, 3)


def test_locks_stay_where_another_connection_shortened_the_log(storage: SqliteStorage, path: Path) -> None:
    put(storage, *range(10, 30))
    before = locks_of(path)
    with closing(apsw.Connection(str(path))) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert Path(f"{path}-wal").stat().st_size == 0
    put(storage, 40)
    assert locks_of(path) == before


def test_locks_stay_where_the_log_was_deleted(storage: SqliteStorage, path: Path) -> None:
    before = locks_of(path)
    Path(f"{path}-wal").rename(path.with_name("away"))
    for _ in range(2):
        assert is_missing(str(path))
    assert locks_of(path) == before
    path.with_name("away").rename(f"{path}-wal")
    put(storage, 3)
