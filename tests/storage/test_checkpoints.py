"""The log is copied into the file beside the writers, and a stop is never lost."""

import threading
from pathlib import Path
from typing import cast

import apsw
import pytest

from partita.storage import checkpoints
from partita.storage.checkpoints import Checkpointer
from partita.storage.contract import Row, Write
from partita.storage.sqlite import SqliteStorage
from tests.timing import PATIENCE


def _written(storage: SqliteStorage, rows: int, size: int) -> None:
    for number in range(rows):
        with storage.transaction() as txn:
            txn.apply([Write("s1", number.to_bytes(4, "big"), None, Row(size, b"x" * size))])


def _storage(folder: Path) -> SqliteStorage:
    storage = SqliteStorage(str(folder / "data.db"), "process")
    with storage.transaction() as txn:
        txn.create_space("s1")
    return storage


def test_long_log_is_copied_into_the_file_and_restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(checkpoints, "MAX_PAGES", 60)
    monkeypatch.setattr(checkpoints, "WAIT_SECONDS", PATIENCE)
    storage = _storage(tmp_path)
    _written(storage, 600, 1000)
    assert (tmp_path / "data.db-wal").stat().st_size < 200 * 8192
    storage.close()
    assert (tmp_path / "data.db").stat().st_size > 600 * 1000


def test_thread_copies_most_of_the_log_and_a_commit_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, may_copy, has_copied = checkpoints._copy, threading.Event(), threading.Event()
    copied: list[tuple[str, tuple[int, int]]] = []

    def noted(connection: apsw.Connection) -> tuple[int, int]:
        assert may_copy.wait(PATIENCE)
        pages = copy(connection)
        copied.append((threading.current_thread().name, pages))
        has_copied.set()
        return pages

    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(checkpoints, "_copy", noted)
    storage = _storage(tmp_path)
    with storage.snapshot() as view:
        view.totals("s1")  # keeps later writes in the log
        _written(storage, 12, 1000)
        may_copy.set()
        assert has_copied.wait(PATIENCE)
        storage._checkpointer.stop()
    _written(storage, 1, 500)
    (thread, (pages, by_thread)), (commit, (all_pages, all_copied)) = copied
    assert (thread, commit) == ("partita-checkpoint", threading.current_thread().name)
    assert 0 < by_thread < pages
    assert all_copied == all_pages > pages
    _written(storage, 1, 400)
    assert storage._checkpointer.pages < 20, "the log has restarted"
    assert len(copied) == 2
    storage.close()


class _SlowConnection:
    """Copies the log only when the test allows it."""

    begun = threading.Event()
    may_end = threading.Event()

    def __init__(self, path: str) -> None:
        self.path = path

    def execute(self, statement: str) -> "_SlowConnection":
        return self

    def fetchall(self) -> None:
        """Returns nothing."""

    def wal_checkpoint(self, *, mode: int) -> tuple[int, int]:
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        return 0, 0

    def close(self, force: bool) -> None:
        """Does nothing."""


def test_stop_during_a_checkpoint_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "Connection", _SlowConnection)
    checkpointer = Checkpointer("anything.db")
    checkpointer.after_commit(cast(apsw.Connection, _SlowConnection("")), "main", checkpoints.CHECKPOINT_PAGES)
    assert _SlowConnection.begun.wait(PATIENCE)
    stopping = threading.Thread(target=checkpointer.stop, daemon=True)
    stopping.start()
    while not checkpointer._wake.is_set():
        assert stopping.is_alive()
    _SlowConnection.may_end.set()
    stopping.join(PATIENCE)
    assert not stopping.is_alive()


def test_commits_copy_the_log_while_the_thread_cannot_open_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 20)
    storage = _storage(tmp_path)
    copied: list[str] = []
    copy = checkpoints._copy

    def noted(connection: apsw.Connection) -> tuple[int, int]:
        copied.append(threading.current_thread().name)
        return copy(connection)

    def no_file(path: str) -> apsw.Connection:
        raise apsw.CantOpenError(path)

    monkeypatch.setattr(checkpoints, "_copy", noted)
    with monkeypatch.context() as without_files:
        without_files.setattr(apsw, "Connection", no_file)
        _written(storage, 12, 1000)
        assert storage._checkpointer._is_idle.wait(PATIENCE)
    _written(storage, 1, 500)
    assert copied == [threading.current_thread().name]
    storage.close()
