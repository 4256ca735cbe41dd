"""A store with a clock that a test moves, in memory and on a file, and runners on it."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from partita import Entity, Item, JobRunner, Jobs, JobTick, Store, Table, connect, pattern, prove

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

shop = Table("shop", "PK", "SK")


class Visit(Entity, table=shop, key=("VISIT#{visit_id}", "VISIT")):
    visit_id: str
    count: int = 0


@pattern
def visit(visit_id: str) -> Item[Visit]: ...


design = prove("shop", shop)


class Time:
    """The wall clock of a store, and a monotonic clock."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.seconds = 0.0

    def __call__(self) -> datetime:
        return self.now

    def monotonic(self) -> float:
        return self.seconds

    def passes(self, **duration: float) -> None:
        elapsed = timedelta(**duration)
        self.now += elapsed
        self.seconds += elapsed.total_seconds()

    def is_set(self, now: str) -> None:
        self.now = datetime.fromisoformat(now).replace(tzinfo=UTC)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture(params=["memory", "file"])
def db(request: pytest.FixtureRequest, tmp_path: Path, time: Time) -> Iterator[Store]:
    address: Any = "memory:" if request.param == "memory" else tmp_path / "jobs.db"
    settings: dict[str, Any] = {} if request.param == "memory" else {"durability": "process"}
    with connect(address, design, clock=time, maintain=False, sleep=lambda _: None, **settings) as store:
        store.create_tables()
        yield store


Runner = Callable[[Jobs], JobRunner]


@pytest.fixture
def runner(db: Store, time: Time) -> Runner:
    """A function that makes a runner; its first step has stored the jobs."""

    def started(jobs: Jobs) -> JobRunner:
        made = JobRunner(db, jobs, monotonic=time.monotonic)
        made.create_tables()
        assert made.step() == 0
        return made

    return started


def outcomes(runner: JobRunner, job: str) -> list[str]:
    """The records of a job, the oldest first: `00:10 run`, `00:20-00:50 missed x4`."""
    return [_line(each) for each in reversed(list(runner.history(job)))]


def _line(tick: JobTick) -> str:
    times = f"{tick.scheduled_at:%H:%M}" if tick.count == 1 else f"{tick.scheduled_at:%H:%M}-{tick.last_at:%H:%M}"
    several = "" if tick.count == 1 else f" x{tick.count}"
    return f"{times} {tick.outcome}{several}{' by hand' if tick.by_hand else ''}"
