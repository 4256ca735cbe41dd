"""Processes that run one job and are killed in the middle of it: each tick is recorded once, none at the same time."""

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from partita import JobOutcome, JobRunner, Jobs, JobTick, connect
from tests.jobs.conftest import design
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

PROCESSES = 3
KILLS = 4
ROOT = Path(__file__).parent.parent.parent


class Programs:
    """Some processes of the program; one that is killed is replaced."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "jobs.db"
        self.log = folder / "log"
        self.log.touch()
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.jobs.killed_program", str(self.database), str(self.log)]
        started = subprocess.Popen(command, cwd=ROOT)
        self._running[started.pid] = started

    def kill(self, pid: int) -> None:
        killed = self._running.pop(pid)
        killed.send_signal(signal.SIGKILL)
        killed.wait(PATIENCE)

    def stop(self) -> None:
        for each in self._running.values():
            each.terminate()
        for each in self._running.values():
            each.wait(PATIENCE)

    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.log.read_text().splitlines()]

    def wait_for(self, kind: str, count: int = 1) -> int:
        """The process of the last of so many lines of a kind that are written from now on."""
        before = len(self.lines())
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = [line for line in self.lines()[before:] if line[0] == kind and len(line) == 5]
            if len(found) >= count:
                return int(found[count - 1][2])
            time.sleep(0.02)
        raise AssertionError(f"no run logs its {kind}")


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path)
    try:
        yield made
    finally:
        made.stop()


def test_killed_processes_leave_one_record_for_each_tick(programs: Programs) -> None:
    jobs = Jobs("killed")
    jobs.every(seconds=1, name="job")(lambda db: None)
    with connect(programs.database, design) as db:
        runner = JobRunner(db, jobs)
        runner.create_tables()
        for _ in range(PROCESSES):
            programs.start()
        for _ in range(KILLS):
            programs.kill(programs.wait_for("begin"))
            programs.start()
            programs.wait_for("end")
        programs.stop()
        history = [each for each in runner.history("job") if not each.by_hand]
    lines = programs.lines()
    check_ticks(history)
    check_runs(history, lines)
    continued = {line[1] for line in lines if line[0] == "begin" and line[4] == "half"}
    assert continued, "no tick of a killed process was continued with its cursor"


def check_ticks(history: list[JobTick]) -> None:
    """Every second from the first record to the last is in one record."""
    seconds = Counter(round(each.scheduled_at.timestamp()) + number for each in history for number in range(each.count))
    assert max(seconds.values()) == 1
    assert len(seconds) == max(seconds) - min(seconds) + 1
    assert all(each.outcome != JobOutcome.FAILED for each in history)


def check_runs(history: list[JobTick], lines: list[list[str]]) -> None:
    """Recorded runs do not overlap; a run that has lost its lease, on a slow machine, is not recorded."""
    recorded = {
        (f"{each.scheduled_at.timestamp():.0f}", (each.process or "").split(":")[-2])
        for each in history
        if each.outcome == JobOutcome.RUN
    }
    times = {(kind, tick, pid): int(at) for kind, tick, pid, at, _ in lines if (tick, pid) in recorded}
    runs = sorted((times["begin", *each], times["end", *each]) for each in recorded)
    assert len(runs) >= KILLS
    assert [(one, other) for one, other in pairwise(runs) if one[1] > other[0]] == []
