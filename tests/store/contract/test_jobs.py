"""Jobs keep their promises on every backend: one run for a tick, takeover, and the records of both."""

from typing import Any

import pytest

from partita import JobOutcome, JobRun, JobRunner, JobRunning, Jobs, LeaseLost, Store
from partita.jobs import job_records
from tests.store import kitchen_sink_design
from tests.store.clocks import Clock
from tests.store.conftest import fresh


class Monotonic:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def jobs_db(backend: Any, clock: Clock) -> Store:
    fresh(backend, job_records.design, clock)
    return Store(backend, kitchen_sink_design.design, clock=clock, sleep=lambda _: None)


def test_two_runners_run_a_tick_once(jobs_db: Store, clock: Clock) -> None:
    jobs = Jobs("gallery")

    @jobs.every(minutes=10)
    def job(db: Store) -> None:
        assert other.step() == 0
        with pytest.raises(JobRunning):
            other.run_now("job")

    one, other = JobRunner(jobs_db, jobs), JobRunner(jobs_db, jobs)
    one.step()
    clock.passes(minutes=35)
    assert (one.step(), other.step()) == (1, 0)
    assert [(each.outcome, each.count) for each in one.history("job")] == [
        (JobOutcome.RUN, 1),
        (JobOutcome.MISSED, 2),
    ]


def test_run_that_is_silent_is_taken_over_with_its_cursor(jobs_db: Store, clock: Clock) -> None:
    jobs = Jobs("gallery")
    monotonic = Monotonic()
    cursors: list[str | None] = []

    @jobs.every(minutes=10)
    def job(db: Store, run: JobRun) -> None:
        cursors.append(run.cursor)
        if len(cursors) == 1:
            run.save("half", done=1, total=2)
            other.step()
            monotonic.seconds += 31
            assert other.step() == 1
            with pytest.raises(LeaseLost):
                run.save("late")

    one, other = (JobRunner(jobs_db, jobs, monotonic=monotonic) for _ in range(2))
    one.step()
    clock.passes(minutes=10)
    one.step()
    assert cursors == [None, "half"]
    assert [each.outcome for each in one.history("job")] == [JobOutcome.RUN]
    assert one.status()[0].status == "waiting"


def test_failed_run_and_run_by_hand_are_recorded(jobs_db: Store, clock: Clock) -> None:
    jobs = Jobs("gallery")

    @jobs.cron("*/10 * * * *", timezone="Europe/Berlin")
    def job(db: Store, run: JobRun) -> None:
        if not run.by_hand:
            raise ValueError("no paint")

    one = JobRunner(jobs_db, jobs)
    one.step()
    clock.passes(minutes=10)
    one.step()
    clock.passes(minutes=1)
    one.run_now("job")
    found = [(each.outcome, each.error, each.by_hand) for each in one.history("job")]
    assert found == [(JobOutcome.RUN, None, True), (JobOutcome.FAILED, "ValueError: no paint", False)]
