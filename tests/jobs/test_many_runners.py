"""Many runners on one store, with crashes, pauses, and clocks that jump: each tick is recorded once.

In a round, all runners step at the same time, each on its own thread; between two rounds the clocks move. So time
passes for a lease only while no live runner is in the middle of a run. PARTITA_JOB_SEEDS=20 tries that many worlds,
instead of 4.
"""

import os
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from partita import JobOutcome, JobRun, JobRunner, Jobs, Store, connect
from partita.jobs.schedules import RESOLUTION
from tests.jobs.conftest import BEGIN, Time, Visit, design
from tests.peers import wait_until
from tests.timing import PATIENCE

RUNNERS = 4
SEEDS = int(os.environ.get("PARTITA_JOB_SEEDS", "4"))
STEPS = 3  # of a run, each with an effect
MISSED: tuple[Any, ...] = ("once", "skip", "all")


class Crash(BaseException):
    pass


def visit_id(job: str, tick: datetime, step: int) -> str:
    return f"{job} {tick:%d %H:%M} {step}"


class Process:
    """A runner that can crash: nothing that it sends afterwards arrives."""

    def __init__(self, backend: Any, jobs: Jobs, time: Time) -> None:
        self._backend = backend
        self.is_dead = False
        db = Store(self, design, clock=time, sleep=lambda _: None)
        self.runner = JobRunner(db, jobs, monotonic=time.monotonic)

    def call(self, request: Any, /) -> Any:
        if self.is_dead:
            raise Crash
        return self._backend.call(request)

    def crash(self) -> None:
        self.is_dead = True
        raise Crash


class World:
    """Jobs whose runs crash or fail at random, and the log of what they did."""

    def __init__(self, backend: Any, seed: int) -> None:
        self.random = random.Random(seed)
        self.time = Time()
        self.jobs = Jobs("shop")
        self.processes = [Process(backend, self.jobs, self.time) for _ in range(RUNNERS)]
        self._backend = backend
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        self.active: Counter[str] = Counter()
        self.completed: Counter[tuple[str, datetime]] = Counter()
        self.overlaps: list[str] = []
        self.is_calm = False
        for number, missed in enumerate(MISSED):
            self.jobs.every(minutes=7 + number, name=f"every-{missed}", missed=missed)(self.work)
            cron = f"*/{5 + number} */2 * * *"
            self.jobs.cron(cron, timezone="Europe/Berlin", name=f"cron-{missed}", missed=missed)(self.work)

    def work(self, db: Store, run: JobRun) -> None:
        """One job after the other gets here on each thread."""
        with self._lock:
            self.active[run.job] += 1
            if self.active[run.job] > 1:
                self.overlaps.append(run.job)
            choice = 0.5 if self.is_calm else self.random.random()
            if not self.is_calm and self.random.random() < 0.1:
                self.time.now += timedelta(minutes=self.random.randint(0, 150))  # the run takes long, and is renewed
        crash_at = int(choice * 20)
        try:
            for step in range(int(run.cursor or 0), STEPS):
                if crash_at == step:
                    self._of_thread.process.crash()
                with run.transaction(str(step + 1), done=step + 1, total=STEPS) as transaction:
                    transaction.create(Visit(visit_id=visit_id(run.job, run.scheduled_at, step)))
            if crash_at == STEPS:
                self._of_thread.process.crash()
            if choice > 0.85:
                raise ValueError("it fails at random")
            with self._lock:
                self.completed[run.job, run.scheduled_at] += 1
        finally:
            with self._lock:
                self.active[run.job] -= 1

    def round(self, pool: ThreadPoolExecutor) -> None:
        list(pool.map(self._step, range(RUNNERS)))

    def _step(self, number: int) -> None:
        process = self.processes[number]
        self._of_thread.process = process
        try:
            process.runner.step()
        except Crash:
            self.processes[number] = Process(self._backend, self.jobs, self.time)

    def time_passes(self, *, jumps: bool) -> None:
        self.time.passes(seconds=self.random.choice([1, 31, 200, 600, 3000]))
        if jumps and self.random.random() < 0.15:
            jump = timedelta(minutes=self.random.choice([-10, -50, -90, -600, 600, 1500]))
            self.time.now = max(BEGIN, self.time.now + jump)


@pytest.fixture(params=["memory", "file"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    address: Any = "memory:" if request.param == "memory" else tmp_path / "jobs.db"
    settings: dict[str, Any] = {} if request.param == "memory" else {"durability": "process"}
    with connect(address, maintain=False, **settings) as opened:
        yield opened


def recorded_ticks(runner: JobRunner, job: str) -> list[tuple[datetime, JobOutcome]]:
    """Every single tick, those of a span one by one."""
    found = []
    schedule = runner.jobs[job].schedule
    for each in runner.history(job):
        tick, count = each.scheduled_at, 0
        while tick <= each.last_at:
            found.append((tick, each.outcome))
            tick, count = schedule.next_tick(tick), count + 1
        assert count == each.count
    return found


def check(world: World) -> None:
    runner = Process(world._backend, world.jobs, world.time).runner
    db = Store(world._backend, design, clock=world.time)
    states = runner._table.states()
    visits = {each.visit_id for each in db.scan(Visit)}
    for job in world.jobs:
        state = states[job.name]
        found = recorded_ticks(runner, job.name)
        ticks = Counter(tick for tick, _ in found)
        assert [tick for tick, count in ticks.items() if count > 1] == []
        span = job.schedule.span(BEGIN, state.handled_until)
        decided = {tick for tick in ticks if tick <= state.handled_until}
        running = {state.running.scheduled_at} - decided if state.running is not None else set()
        assert len(decided) + len(running) == (0 if span is None else span.count)
        assert decided == {tick for tick in decided if job.schedule.next_tick(tick - RESOLUTION) == tick}
        for tick, outcome in found:
            assert world.completed[job.name, tick] == (outcome == JobOutcome.RUN), (job.name, tick, outcome)
            effects = [visit_id(job.name, tick, step) in visits for step in range(STEPS)]
            assert effects == [outcome in (JobOutcome.RUN, JobOutcome.FAILED)] * STEPS, (job.name, tick, outcome)
        errors = {each.error for each in runner.history(job.name)}
        assert errors <= {None, "ValueError: it fails at random"}, "an effect that exists already"


def check_every_job_goes_on(world: World) -> None:
    """One runner without faults, minute by minute: each job runs within three hours."""
    begin = world.time.now
    world.is_calm = True
    runner = Process(world._backend, world.jobs, world.time).runner
    for minute in range(190):
        runner.step()
        world.time.passes(minutes=1)
        if minute % 10 == 9 and not jobs_without_run(runner, begin):
            return
    assert jobs_without_run(runner, begin) == []


def jobs_without_run(runner: JobRunner, since: datetime) -> list[str]:
    return [each.name for each in runner.status() if each.last_run is None or each.last_run.begun_at < since]


@pytest.mark.parametrize("jumps", [False, True], ids=["steady", "jumping clock"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, SEEDS))])
def test_every_tick_is_recorded_once_while_runners_crash(backend: Any, seed: int, jumps: bool) -> None:
    world = World(backend, seed)
    with ThreadPoolExecutor(RUNNERS) as pool:
        world.processes[0].runner.create_tables()
        Store(backend, design).create_tables()
        for _ in range(20):
            world.round(pool)
            world.time_passes(jumps=jumps)
    assert world.overlaps == []
    check(world)
    check_every_job_goes_on(world)
    check(world)


def test_lease_is_renewed_while_a_job_runs(backend: Any) -> None:
    """With the real clocks: the job ends when its heartbeat has been seen three times."""
    jobs = Jobs("shop")
    beats: list[int] = []

    @jobs.every(hours=1)
    def job(db: Store) -> None:
        wait_until(has_three_beats)

    def has_three_beats() -> bool:
        beats.append(runner._table.states()["job"].heartbeat)
        return len(set(beats)) == 3

    runner = JobRunner(Store(backend, design), jobs, lease=timedelta(seconds=0.03))
    runner.create_tables()
    tick = runner.run_now("job")
    assert tick is not None
    assert sorted(beats) == beats
    assert len(set(beats)) == 3


def test_run_of_several_threads_ends_when_it_is_stopped(backend: Any) -> None:
    jobs = Jobs("shop")
    both = threading.Barrier(2)

    def meet(db: Store) -> None:
        with suppress(threading.BrokenBarrierError):
            both.wait(PATIENCE)
            runner.stop()

    for name in ("a", "b"):
        jobs.every(seconds=1, name=name)(meet)
    runner = JobRunner(Store(backend, design), jobs)
    runner.create_tables()
    runner.run(threads=2)
    assert not both.broken
    assert {each.last_run.outcome for each in runner.status() if each.last_run} == {JobOutcome.RUN}
