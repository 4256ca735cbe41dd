"""The log is folded into the file beside the writers, and stopping never waits for a call that was missed."""

import threading
from pathlib import Path

import apsw
import pytest

from partita.storage import checkpoints
from partita.storage.checkpoints import Checkpointer
from partita.storage.contract import Row, Write
from partita.storage.sqlite import SqliteStorage


def _written(storage: SqliteStorage, rows: int, size: int) -> None:
    for number in range(rows):
        with storage.transaction() as txn:
            txn.apply([Write("s1", number.to_bytes(4, "big"), None, Row(size, b"x" * size))])


def _storage(folder: Path) -> SqliteStorage:
    storage = SqliteStorage(str(folder / "data.db"), "process")
    with storage.transaction() as txn:
        txn.create_space("s1")
    return storage


def test_a_long_log_is_folded_into_the_file_and_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PAGES", 20)
    monkeypatch.setattr(checkpoints, "MOST_PAGES", 60)
    storage = _storage(tmp_path)
    _written(storage, 600, 1000)
    assert (tmp_path / "data.db-wal").stat().st_size < 200 * 8192
    storage.close()
    assert (tmp_path / "data.db").stat().st_size > 600 * 1000


def test_stopping_right_after_a_call_never_hangs(tmp_path: Path) -> None:
    """A call that arrives while the thread works must not be forgotten by the time it waits again."""
    storage = _storage(tmp_path)
    with apsw.Connection(str(tmp_path / "data.db")) as connection:
        for _ in range(200):
            checkpointer = Checkpointer(str(tmp_path / "data.db"))
            checkpointer.after_commit(connection, "main", checkpoints.PAGES)
            stopping = threading.Thread(target=checkpointer.stop, daemon=True)
            stopping.start()
            stopping.join(10)
            assert not stopping.is_alive()
    storage.close()
