"""A log is applied to the file that it was written for, and to no other."""

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from partita.errors import ConfigurationError
from partita.storage import checkpoints
from partita.storage.contract import Row, Write
from partita.storage.sqlite import ReadOnlySqliteStorage, SqliteStorage
from partita.storage.sqlite_format import FORMAT
from partita.storage.stale_log import FORMAT_BITS, is_missing, is_stale, next_version


def put(storage: SqliteStorage, *keys: int) -> None:
    for key in keys:
        with storage.transaction() as txn:
            txn.apply([Write("s", key.to_bytes(4, "big"), None, Row(1, b"x" * 1000))])


def created(path: Path, rows: int = 3) -> Path:
    """A file with one space and some rows."""
    with closing(SqliteStorage(str(path), "process")) as storage:
        with storage.transaction() as txn:
            txn.create_space("s")
        put(storage, *range(rows))
    return path


def killed(path: Path, *keys: int, to: str = "left.db") -> Path:
    """Writes rows to a file; returns a copy of it with its log, as a killed process leaves them."""
    left = path.with_name(to)
    with closing(SqliteStorage(str(path), "process")) as storage:
        put(storage, *keys)
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    return left


def killed_with_index(path: Path, *keys: int) -> Path:
    """As `killed`, with the index of the log."""
    left = path.with_name("left.db")
    with closing(SqliteStorage(str(path), "process")) as storage:
        put(storage, *keys)
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(f"{path}{suffix}", f"{left}{suffix}")
    return left


def rows_of(path: Path) -> int:
    with closing(SqliteStorage(str(path), "process")) as storage:
        return storage.totals("s").rows


def test_log_of_a_killed_process_is_applied(tmp_path: Path) -> None:
    left = killed(created(tmp_path / "a.db"), 10, 11)
    assert not is_stale(str(left))
    assert rows_of(left) == 5


def test_log_of_a_new_file_is_applied(tmp_path: Path) -> None:
    """All of it is in the log."""
    path = tmp_path / "a.db"
    with closing(SqliteStorage(str(path), "process")) as storage:
        with storage.transaction() as txn:
            txn.create_space("s")
        put(storage, 1)
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{tmp_path / 'left.db'}{suffix}")
    assert rows_of(tmp_path / "left.db") == 1


def test_deleted_log_with_commits_is_reported_until_it_is_back(tmp_path: Path) -> None:
    left = killed_with_index(created(tmp_path / "a.db"), 10, 11)
    log = Path(f"{left}-wal").rename(tmp_path / "elsewhere")
    content = left.read_bytes()
    for opened in (SqliteStorage, ReadOnlySqliteStorage):
        with pytest.raises(ConfigurationError, match="was deleted, with commits"):
            opened(str(left))
    assert left.read_bytes() == content
    log.rename(f"{left}-wal")
    assert rows_of(left) == 5


def test_file_without_its_log_opens_once_the_index_is_deleted(tmp_path: Path) -> None:
    left = killed_with_index(created(tmp_path / "a.db"), 10, 11)
    Path(f"{left}-wal").unlink()
    Path(f"{left}-shm").unlink()
    assert rows_of(left) == 3


def test_deleted_log_whose_commits_are_in_the_file_is_accepted(tmp_path: Path) -> None:
    path = created(tmp_path / "a.db")
    with closing(SqliteStorage(str(path), "process")) as storage:
        put(storage, 10)
        with closing(apsw.Connection(str(path))) as other:
            other.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # opens the log
            other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        for suffix in ("", "-shm"):
            shutil.copy(f"{path}{suffix}", f"{tmp_path / 'left.db'}{suffix}")
    assert not is_missing(str(tmp_path / "left.db"))
    assert rows_of(tmp_path / "left.db") == 4


@pytest.mark.parametrize("replaced_by", ["older", "newer", "other"])
def test_log_beside_a_replaced_file_is_rejected_and_nothing_is_changed(tmp_path: Path, replaced_by: str) -> None:
    path = created(tmp_path / "a.db")
    shutil.copy(path, tmp_path / "older")
    created(tmp_path / "other")
    killed(path, 10, to="earlier.db")
    left = killed(path, 20)
    killed(path, 30, to="later.db")
    shutil.copy(path, tmp_path / "newer")
    log = Path(f"{left}-wal").read_bytes()
    shutil.copy(tmp_path / replaced_by, left)
    before = left.read_bytes()
    for opens in (SqliteStorage, ReadOnlySqliteStorage):
        with pytest.raises(ConfigurationError, match="belongs to another file"):
            opens(str(left))
    assert (left.read_bytes(), Path(f"{left}-wal").read_bytes()) == (before, log)
    Path(f"{left}-wal").unlink()
    assert rows_of(left) >= 3


def test_log_is_followed_through_its_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every commit, across checkpoints, the file and its log belong together, and an older file does not."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 20)
    path, left = created(tmp_path / "a.db"), tmp_path / "left.db"
    shutil.copy(path, tmp_path / "older")
    sizes = set()
    with closing(SqliteStorage(str(path), "process")) as storage:
        for key in range(100, 5_000):
            put(storage, key)
            sizes.add(path.stat().st_size)
            assert not is_stale(str(path))
            if key >= 220 and len(sizes) > 3:
                break
        shutil.copy(f"{path}-wal", f"{left}-wal")
        shutil.copy(tmp_path / "older", left)
    assert len(sizes) > 3  # checkpoints have grown the file
    assert is_stale(str(left))


def test_file_without_a_stamp_gets_one(tmp_path: Path) -> None:
    path = created(tmp_path / "a.db")
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA user_version = 2")
    left = killed(path, 10)
    assert rows_of(left) == 4
    with closing(apsw.Connection(str(left))) as connection:
        version = connection.pragma("user_version")
    assert isinstance(version, int)
    assert version > FORMAT_BITS
    assert version & FORMAT_BITS == FORMAT


def test_stamps_begin_again_after_the_last_one() -> None:
    last = ((1 << 23) - 1) << 8 | 2
    assert 0 < next_version(last, 2) < 1 << 31
    assert 0 < next_version(2, 2) < 1 << 31
