"""A background thread that ends, whatever the reason, is replaced, and loses nothing; signals change nothing either."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import apsw
import pytest

from partita.engine.async_engine import AsyncEngine
from partita.engine.engine import Engine
from partita.engine.maintenance import Maintenance
from partita.storage import checkpoints
from partita.storage.contract import Row, Write
from partita.storage.sqlite import SqliteStorage
from tests.engine.test_async_engine import THREAD, Disk, got, put, run_story
from tests.peers.process import wait_until
from tests.timing import PATIENCE


class Killed(BaseException):
    """Raised inside a thread; no `except Exception` catches it."""


class DeadlyQueue(SimpleQueue[Any]):
    """The work of a thread, which dies with every second piece in its hands."""

    taken = 0

    def get(self, *arguments: Any, **options: Any) -> Any:
        work = super().get(*arguments, **options)
        self.taken += 1
        if self.taken % 2:
            raise Killed
        return work


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_committing_thread_that_dies_is_replaced(tmp_path: Path) -> None:
    async def story(disk: Disk, engine: AsyncEngine) -> None:
        disk.seconds = 1.0
        await engine.call(put("first"))
        engine._work.put(False)
        engine._thread.join()
        engine._work = queue = DeadlyQueue()
        engine._thread = engine._start_thread()
        for number in range(10):
            await asyncio.wait_for(engine.call(put(str(number))), PATIENCE)
        assert queue.taken == 20
        for number in range(10):
            assert (await engine.call(got(str(number)))).item is not None
        assert disk.threads[1:] == [THREAD] * 10

    run_story(tmp_path, story)


def test_error_during_a_commit_is_that_of_its_writes_only(tmp_path: Path) -> None:
    async def story(disk: Disk, engine: AsyncEngine) -> None:
        disk.seconds = 1.0
        await engine.call(put("first"))
        disk.raises = Killed()
        with pytest.raises(Killed):
            await asyncio.wait_for(engine.call(put("lost")), PATIENCE)
        disk.raises = None
        await asyncio.wait_for(engine.call(put("second")), PATIENCE)
        assert (await engine.call(got("lost"))).item is None
        assert disk.threads[1:] == [THREAD] * 2

    run_story(tmp_path, story)


def test_background_work_goes_on_after_any_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []

    def step(maintenance: Maintenance) -> bool:
        steps.append(1)
        if len(steps) == 1:
            raise Killed
        return False

    monkeypatch.setattr(Maintenance, "step", step)
    monkeypatch.setattr("partita.engine.maintenance.SECONDS_BETWEEN", 0.0)
    with Engine(SqliteStorage(str(tmp_path / "a.db")), maintain=False) as engine:
        engine.maintenance.start()
        wait_until(lambda: len(steps) > 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_checkpointing_thread_that_dies_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[threading.Thread] = []
    copy = checkpoints._copy

    def deadly_copy(connection: apsw.Connection) -> tuple[int, int]:
        if threading.current_thread().name == "partita-checkpoint":
            copied.append(threading.current_thread())
            raise Killed
        return copy(connection)

    monkeypatch.setattr(checkpoints, "_copy", deadly_copy)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(checkpoints, "MAX_PAGES", 60)
    storage = SqliteStorage(str(tmp_path / "a.db"), "process")
    with storage.transaction() as txn:
        txn.create_space("s")
    for number in range(400):
        with storage.transaction() as txn:
            txn.apply([Write("s", number.to_bytes(4, "big"), None, Row(1, b"x" * 1000))])
    assert len(set(copied)) > 1
    assert (tmp_path / "a.db-wal").stat().st_size < 200 * 8192  # commits have copied it, and it has restarted
    assert storage.totals("s").rows == 400
    storage.close()


INTERRUPTED = """
import signal, sys
from partita.storage.contract import Row, Write
from partita.storage.sqlite import SqliteStorage

interrupts = 0
def count(*_):
    global interrupts
    interrupts += 1
signal.signal(signal.SIGALRM, count)
signal.siginterrupt(signal.SIGALRM, True)  # system calls end with EINTR
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
storage = SqliteStorage(sys.argv[1])
with storage.transaction() as txn:
    txn.create_space("s")
for number in range(300):
    with storage.transaction() as txn:
        txn.apply([Write("s", number.to_bytes(4, "big"), None, Row(1, b"x" * 5000))])
    assert storage.get("s", number.to_bytes(4, "big")) is not None
storage.close()
signal.setitimer(signal.ITIMER_REAL, 0)
assert interrupts > 10, interrupts
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
def test_interrupted_system_calls_are_no_errors(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, path], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("done\n", "")
    storage = SqliteStorage(path)
    assert storage.totals("s").rows == 300
    storage.close()
