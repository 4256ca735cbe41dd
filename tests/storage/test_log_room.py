"""Zeros at the end of a log: most commits do not extend the file, and recovery stops at the zeros."""

import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from partita.storage import log_room
from partita.storage.contract import Row, Write
from partita.storage.log_room import bytes_of_log
from partita.storage.sqlite import SqliteStorage
from partita.storage.sqlite_connection import Durability

PAGE = 8192


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "a.db")


def opened(path: str, durability: Durability = "power") -> SqliteStorage:
    storage = SqliteStorage(path, durability)
    with storage.transaction() as txn:
        txn.create_space("s")
    return storage


def put(storage: SqliteStorage, number: int) -> None:
    with storage.transaction() as txn:
        txn.apply([Write("s", number.to_bytes(4, "big"), None, Row(1000, number.to_bytes(4, "big") * 250))])


def log_size(path: str) -> int:
    return Path(f"{path}-wal").stat().st_size


def rows_of(storage: SqliteStorage) -> list[int]:
    return [int.from_bytes(key, "big") for key, _, _ in storage.range("s", b"", None)]


def frames_of(storage: SqliteStorage) -> int:
    return storage._checkpointer.pages


def test_most_commits_leave_the_length_of_the_log_as_it_is(path: str) -> None:
    storage = opened(path)
    sizes = []
    for number in range(300):
        put(storage, number)
        sizes.append(log_size(path))
        assert log_size(path) >= bytes_of_log(frames_of(storage), PAGE)
    assert len(set(sizes)) < 30
    assert sizes[-1] - bytes_of_log(frames_of(storage), PAGE) < 2 * log_room._STEP
    storage.close()


def test_short_log_has_no_zeros(path: str) -> None:
    storage = opened(path)
    for number in range(3):
        put(storage, number)
    assert log_size(path) == bytes_of_log(frames_of(storage), PAGE)
    storage.close()


def test_log_that_need_not_survive_loss_of_power_has_no_zeros(path: str) -> None:
    storage = opened(path, "process")
    for number in range(100):
        put(storage, number)
    assert log_size(path) == bytes_of_log(frames_of(storage), PAGE)
    storage.close()


def test_log_that_restarts_is_not_made_longer(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partita.storage.checkpoints.CHECKPOINT_PAGES", 300)
    monkeypatch.setattr(log_room, "CHECKPOINT_PAGES", 300)
    storage = opened(path)
    storage._checkpointer._from = 300
    sizes = []
    for number in range(1500):
        put(storage, number)
        sizes.append(log_size(path))
    assert frames_of(storage) < 1500, "the log has restarted"
    assert max(sizes[750:]) <= max(sizes[:750]) + log_room._STEP
    storage.close()


@pytest.mark.parametrize("tail", [b"", bytes(100_000), bytes(24) + b"\xff" * 50_000])
def test_killed_process_leaves_exactly_its_commits(path: str, tmp_path: Path, tail: bytes) -> None:
    """The log is cut anywhere behind its frames, or has other bytes there."""
    storage = opened(path)
    for number in range(120):
        put(storage, number)
    end = bytes_of_log(frames_of(storage), PAGE)
    left = tmp_path / "left.db"
    shutil.copy(path, left)
    log = Path(f"{path}-wal").read_bytes()
    assert not any(log[end:])
    for cut in (0, *(Random(len(tail)).randrange(len(log) - end) for _ in range(3))):
        Path(f"{left}-wal").write_bytes(log[: end + cut] + tail)
        shutil.copy(path, left)
        again = SqliteStorage(str(left))
        assert rows_of(again) == list(range(120))
        put(again, 120)
        again.close()
    storage.close()


@pytest.mark.parametrize("half", [True, False])
def test_full_disk_does_not_fail_a_commit_that_has_room(path: str, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
    write = os.write
    failed = []

    def full(file: int, content: bytes) -> Any:
        if half:
            write(file, content[: len(content) // 2])
        failed.append(file)
        raise OSError(28, "No space left on device")

    storage = opened(path)
    with monkeypatch.context() as disk:
        disk.setattr("partita.storage.log_room.os.write", full)
        for number in range(60):
            put(storage, number)
    assert failed
    for number in range(60, 100):
        put(storage, number)
    assert rows_of(storage) == list(range(100))
    storage.close()


def test_two_writers_of_one_file_keep_each_other_s_commits(path: str) -> None:
    one = opened(path)
    other = SqliteStorage(path)
    random = Random(1)
    for number in range(300):
        put(random.choice([one, other]), number)
    assert rows_of(one) == rows_of(other) == list(range(300))
    other.close()
    one.close()
    again = SqliteStorage(path)
    assert rows_of(again) == list(range(300))
    again.close()
