"""The log is folded into the file beside the writers, and stopping never waits for a call that was missed."""

import threading
from pathlib import Path
from typing import cast

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


class _SlowConnection:
    """Folds the log in only when it is allowed to."""

    begun = threading.Event()
    may_end = threading.Event()

    def __init__(self, path: str) -> None:
        self.path = path

    def wal_checkpoint(self, *, mode: int) -> None:
        self.begun.set()
        assert self.may_end.wait(10)

    def close(self, force: bool) -> None:
        """Nothing is open."""


def test_a_call_to_stop_during_the_work_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "Connection", _SlowConnection)
    checkpointer = Checkpointer("anything.db")
    checkpointer.after_commit(cast(apsw.Connection, _SlowConnection("")), "main", checkpoints.PAGES)
    assert _SlowConnection.begun.wait(10)
    stopping = threading.Thread(target=checkpointer.stop, daemon=True)
    stopping.start()
    while not checkpointer._wake.is_set():
        assert stopping.is_alive()
    _SlowConnection.may_end.set()
    stopping.join(10)
    assert not stopping.is_alive()
