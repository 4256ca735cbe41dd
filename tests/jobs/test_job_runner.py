"""The runner of jobs, step by step, with a clock that the test moves."""

import asyncio
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from partita import (
    AsyncStore,
    ConditionFailed,
    ConfigurationError,
    F,
    JobOutcome,
    JobRun,
    JobRunner,
    JobRunning,
    Jobs,
    LeaseLost,
    Store,
)
from partita.jobs.job_lease import error_text
from partita.jobs.job_records import job_state
from tests.jobs.conftest import BEGIN, Runner, Time, Visit, outcomes, visit


def test_job_runs_at_its_ticks_and_not_between(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    ran: list[datetime] = []

    @jobs.every(minutes=10)
    def close_old_orders(db: Store) -> None:
        ran.append(db.now())

    one = runner(jobs)
    for _ in range(30):
        time.passes(minutes=1)
        one.step()
    assert ran == [BEGIN + timedelta(minutes=each) for each in (10, 20, 30)]
    assert outcomes(one, "close_old_orders") == ["00:10 run", "00:20 run", "00:30 run"]


def test_async_job_gets_an_async_store(runner: Runner, time: Time, db: Store) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=1)
    async def count(store: AsyncStore) -> None:
        await store.create(Visit(visit_id="v", count=7))

    @jobs.every(minutes=1)
    async def count_with_run(store: AsyncStore, run: JobRun) -> None:
        assert (await store.one(visit("v"))).count == 7
        run.save("v")
        with run.transaction("w") as transaction:
            transaction.create(Visit(visit_id="w"))
        assert await store.get(visit("w")) is not None

    one = runner(jobs)
    time.passes(minutes=1)
    assert one.step() == 2
    assert db.one(visit("v")).count == 7
    assert outcomes(one, "count_with_run") == ["00:01 run"]


def test_new_job_waits_for_its_first_tick(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    jobs.cron("0 3 * * *", name="reports")(lambda db: None)
    one = runner(jobs)
    assert one.step() == 0
    assert one.status()[0].next_run == BEGIN + timedelta(hours=3)
    time.passes(hours=3)
    assert one.step() == 1
    assert one.step() == 0
    assert one.status()[0].next_run == BEGIN + timedelta(hours=27)


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ("once", ["00:10-00:40 missed x4", "00:50 run", "01:00 run"]),
        ("skip", ["00:10-00:50 missed x5", "01:00 run"]),
        ("all", ["00:10 run", "00:20 run", "00:30 run", "00:40 run", "00:50 run", "01:00 run"]),
    ],
)
def test_ticks_while_nothing_ran(
    runner: Runner, time: Time, missed: Literal["once", "skip", "all"], expected: list[str]
) -> None:
    jobs = Jobs("shop")
    jobs.every(minutes=10, name="job", missed=missed)(lambda db: None)
    one = runner(jobs)
    time.passes(minutes=55)
    one.step()
    time.passes(minutes=5)
    one.step()
    assert outcomes(one, "job") == expected


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ("once", ["00:10 run", "00:20-00:30 skipped x2", "00:40 run"]),
        ("skip", ["00:10 run", "00:20-00:40 skipped x3", "00:50 run"]),
        ("all", ["00:10 run", "00:20 run", "00:30 run", "00:40 run", "00:50 run"]),
    ],
)
def test_ticks_while_the_job_was_busy(
    runner: Runner, time: Time, missed: Literal["once", "skip", "all"], expected: list[str]
) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10, missed=missed)
    def job(db: Store) -> None:
        if db.now() == BEGIN + timedelta(minutes=10):
            time.passes(minutes=30)

    one = runner(jobs)
    time.passes(minutes=10)
    one.step()
    one.step()
    if missed != "once":
        time.passes(minutes=10)
        one.step()
    assert outcomes(one, "job") == expected


def test_skip_still_runs_a_tick_within_its_grace(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    jobs.every(minutes=10, name="job", missed="skip", grace=timedelta(minutes=2))(lambda db: None)
    one = runner(jobs)
    time.passes(minutes=12)
    one.step()
    time.passes(minutes=10, seconds=1)
    one.step()
    assert outcomes(one, "job") == ["00:10 run", "00:20 missed"]


def test_failing_job_is_recorded_and_others_go_on(runner: Runner, time: Time, caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    def fails(db: Store) -> None:
        raise ValueError("no such order")

    jobs.every(minutes=10, name="works")(lambda db: None)
    one = runner(jobs)
    time.passes(minutes=10)
    with caplog.at_level(logging.ERROR, "partita.jobs"):
        assert one.step() == 2
    assert "job fails failed" in caplog.text
    time.passes(minutes=10)
    assert one.step() == 2
    assert outcomes(one, "works") == ["00:10 run", "00:20 run"]
    last = one.history("fails").first(1)[0]
    assert (last.outcome, last.error) == (JobOutcome.FAILED, "ValueError: no such order")
    status = one.status()[0]
    assert status.last_run is not None
    assert (status.status, status.last_run.outcome, status.last_run.error) == ("waiting", "failed", last.error)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_every_error_can_be_recorded() -> None:
    assert error_text(ValueError("half \ud800 a pair")) == "ValueError: half ? a pair"
    assert error_text(ValueError("x" * 5000)) == "ValueError: " + "x" * 1988
    assert error_text(ValueError()) == "ValueError"
    assert "Unprintable: <exception str() failed>" in error_text(Unprintable())


def test_record_has_begin_and_duration(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    jobs.every(minutes=10, name="job")(lambda db: time.passes(seconds=12.5))
    one = runner(jobs)
    time.passes(minutes=11)
    one.step()
    tick = one.history("job").first(1)[0]
    assert tick.scheduled_at == BEGIN + timedelta(minutes=10)
    assert (tick.begun_at, tick.seconds) == (BEGIN + timedelta(minutes=11), 12.5)


def test_history_is_kept_for_its_time(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop", keep=timedelta(hours=2))
    jobs.every(hours=1, name="job")(lambda db: None)
    one = runner(jobs)
    for _ in range(5):
        time.passes(hours=1)
        one.step()
    assert outcomes(one, "job") == ["04:00 run", "05:00 run"]


def test_long_outage_is_recorded_as_far_back_as_history_is_kept(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop", keep=timedelta(hours=2))
    jobs.every(seconds=1, name="job")(lambda db: None)
    one = runner(jobs)
    time.passes(days=3650, minutes=30)
    assert one.step() == 1
    assert [(each.outcome.value, each.count) for each in one.history("job")] == [("run", 1), ("missed", 7199)]


def test_run_by_hand_is_recorded_as_such(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    by_hand = []

    @jobs.every(minutes=10)
    def job(db: Store, run: JobRun) -> None:
        by_hand.append(run.by_hand)

    one = runner(jobs)
    time.passes(minutes=10)
    for _ in range(2):
        tick = one.run_now("job")
        assert tick is not None
        assert tick.by_hand
    one.step()
    assert by_hand == [True, True, False]
    assert outcomes(one, "job") == ["00:10 run", "00:10 run by hand", "00:10 run by hand"]


def test_run_by_hand_of_a_job_that_never_ran(db: Store, time: Time) -> None:
    jobs = Jobs("shop")
    jobs.every(minutes=10, name="job")(lambda db: None)
    one = JobRunner(db, jobs)
    one.create_tables()
    assert one.run_now("job") is not None
    with pytest.raises(ConfigurationError, match="Jobs 'shop' has no job 'jop'; its jobs are job"):
        one.run_now("jop")


def test_job_cannot_be_run_by_hand_while_it_runs(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    errors: list[str] = []

    @jobs.every(minutes=10)
    def job(db: Store) -> None:
        assert one.status()[0].status == "running"
        with pytest.raises(JobRunning) as raised:
            other.run_now("job")
        errors.append(str(raised.value))
        assert other.step() == 0

    one, other = runner(jobs), runner(jobs)
    time.passes(minutes=10)
    one.step()
    assert errors == ["job 'job': its run of 2026-01-01T00:10:00Z has not ended; run it by hand afterwards"]
    assert outcomes(one, "job") == ["00:10 run"]


class Crash(BaseException):
    """Ends a process in the middle of a job: nothing after it is written."""


def crash(db: Store) -> None:
    db.backend = DeadBackend()
    raise Crash


class DeadBackend:
    def call(self, request: Any, /) -> Any:
        raise Crash


def on_own_store(db: Store, jobs: Jobs, time: Time) -> tuple[JobRunner, Store]:
    """A runner whose process can crash: its stores have their own reference to the backend."""
    own = db.with_settings()
    made = JobRunner(own, jobs, monotonic=time.monotonic)
    return made, made._table.db


def test_tick_of_a_dead_process_continues_with_its_cursor(runner: Runner, db: Store, time: Time) -> None:
    jobs = Jobs("shop")
    cursors = []

    @jobs.every(minutes=10)
    def copy(store: Store, run: JobRun) -> None:
        cursors.append((run.cursor, run.done, run.scheduled_at))
        run.save("page 2", done=2, total=9)
        if len(cursors) == 1:
            crash(table)

    dying, table = on_own_store(db, jobs, time)
    one = runner(jobs)
    time.passes(minutes=10)
    with pytest.raises(Crash):
        dying.step()
    status = one.status()[0]
    assert (status.status, status.done, status.total) == ("running", 2, 9)
    assert one.step() == 0  # sees the lease for the first time
    time.passes(seconds=29)
    assert one.step() == 0
    time.passes(seconds=1)
    assert one.step() == 1
    tick = BEGIN + timedelta(minutes=10)
    assert cursors == [(None, None, tick), ("page 2", 2, tick)]
    assert outcomes(one, "copy") == ["00:10 run"]
    assert one.history("copy").first(1)[0].begun_at == tick
    status = one.status()[0]
    assert (status.status, status.done, status.running) == ("waiting", None, None)
    time.passes(minutes=10)
    one.step()
    assert cursors[-1][0] is None


def test_lease_is_judged_by_the_monotonic_clock_of_the_observer(runner: Runner, db: Store, time: Time) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    def job(store: Store) -> None:
        if not outcomes(one, "job") and table.backend is db.backend:
            crash(table)

    dying, table = on_own_store(db, jobs, time)
    one = runner(jobs)
    time.passes(minutes=10)
    with pytest.raises(Crash):
        dying.step()
    one.step()
    time.is_set("2026-01-01 05:00")  # the wall clock is set; no time has passed
    assert one.step() == 0
    time.seconds += 30
    assert one.step() == 2
    assert outcomes(one, "job") == ["00:10 run", "00:20-04:50 skipped x28", "05:00 run"]


def test_renewed_lease_is_not_taken_over(runner: Runner, db: Store, time: Time) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    def job(store: Store, run: JobRun) -> None:
        for number in range(10):
            time.passes(seconds=25)
            assert other.step() == 0
            run.save(str(number))
            assert not run.should_stop

    one, other = runner(jobs), runner(jobs)
    time.passes(minutes=10)
    assert one.step() == 1
    assert outcomes(one, "job") == ["00:10 run"]


def test_paused_process_cannot_record_or_save_late(
    runner: Runner, db: Store, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = Jobs("shop")
    saved: list[str] = []

    @jobs.every(minutes=10)
    def job(store: Store, run: JobRun) -> None:
        if not saved:
            saved.append("first")
            other.step()
            time.passes(seconds=31)  # a pause, in which another runner takes over
            assert other.step() == 1
            assert run.should_stop
            with pytest.raises(LeaseLost), run.transaction("late") as transaction:
                transaction.create(Visit(visit_id="late"))
            with pytest.raises(LeaseLost, match="job 'job': another process has taken over its lease"):
                run.save("late")
        else:
            saved.append("second")

    one, other = runner(jobs), runner(jobs)
    time.passes(minutes=10)
    with caplog.at_level(logging.ERROR, "partita.jobs"):
        assert one.step() == 1
    assert "another process has taken over its lease" in caplog.text
    assert saved == ["first", "second"]
    assert outcomes(one, "job") == ["00:10 run"]
    assert db.get(visit("late")) is None


@pytest.mark.parametrize("ends", ["returns", "raises", "saves", "writes", "stops"])
def test_decision_by_an_old_read_fails(runner: Runner, time: Time, ends: str) -> None:
    """Another runner reads the state while a run is silent, and decides after the run has written."""
    jobs = Jobs("shop")
    runs: list[str | None] = []

    @jobs.every(minutes=10)
    def job(store: Store, run: JobRun) -> None:
        runs.append(run.cursor)
        if len(runs) > 1:
            return
        other.step()
        read = other._table.states()
        time.seconds += 30
        if ends == "saves":
            run.save("1")
        elif ends == "writes":
            with run.transaction("1") as transaction:
                transaction.create(Visit(visit_id="a"))
        if ends in ("saves", "writes"):
            assert not other._run_due(jobs["job"], read["job"], time.now)
        elif ends == "stops":
            one.stop()
            assert run.should_stop
        old_reads.append(read)
        if ends == "raises":
            raise ValueError

    old_reads: list[Any] = []
    one, other = runner(jobs), runner(jobs)
    time.passes(minutes=10)
    one.step()
    assert not other._run_due(jobs["job"], old_reads[0]["job"], time.now)
    assert runs == [None]


def test_writes_and_cursor_are_one_transaction(runner: Runner, db: Store, time: Time) -> None:
    jobs = Jobs("shop")

    def fail(run: JobRun) -> None:
        with run.transaction("2") as transaction:
            transaction.check(visit("a"), F.count == 7)
            transaction.create(Visit(visit_id="b"))

    @jobs.every(minutes=10)
    def job(store: Store, run: JobRun) -> None:
        with run.transaction("1", done=1, total=2) as transaction:
            transaction.create(Visit(visit_id="a"))
        assert (run.cursor, run.done, run.total) == ("1", 1, 2)
        with pytest.raises(ConditionFailed, match="Visit a"):
            fail(run)
        assert run.cursor == "1"
        assert one._table.states()["job"].cursor == "1"

    one = runner(jobs)
    time.passes(minutes=10)
    one.step()
    assert outcomes(one, "job") == ["00:10 run"]
    assert (db.get(visit("a")) is not None, db.get(visit("b"))) == (True, None)


def test_transaction_of_a_run_is_on_the_tables_of_its_stage(db: Store, time: Time) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    def job(store: Store, run: JobRun) -> None:
        with run.transaction("1") as transaction:
            transaction.create(Visit(visit_id="a"))

    for dev, table_name in (
        (db.with_settings(table_names="dev-{}".format), None),
        (db.with_settings(table_names={"shop": "test-shop"}), "test-jobs"),
    ):
        dev.create_tables()
        one = JobRunner(dev, jobs, table_name=table_name)
        one.create_tables()
        tick = one.run_now("job")
        assert tick is not None
        assert (tick.outcome, tick.error) == (JobOutcome.RUN, None)
        assert dev.get(visit("a")) is not None
    assert db.get(visit("a")) is None


def test_stopped_run_continues_in_another_runner(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    seen = []

    @jobs.every(minutes=10)
    def job(store: Store, run: JobRun) -> None:
        seen.append(run.cursor)
        if run.cursor is None:
            assert not run.should_stop
            run.save("half")
            one.stop()
            assert run.should_stop

    one, other = runner(jobs), runner(jobs)
    time.passes(minutes=10)
    assert one.step() == 1
    assert outcomes(one, "job") == []
    assert other.status()[0].status == "interrupted"
    assert one.step() == 0
    with pytest.raises(JobRunning):
        other.run_now("job")
    assert other.step() == 1
    assert seen == [None, "half"]
    assert outcomes(other, "job") == ["00:10 run"]


def test_interrupt_of_the_program_leaves_the_tick_to_others(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    def job(store: Store, run: JobRun) -> None:
        if run.cursor is None:
            run.save("half")
            raise KeyboardInterrupt

    one, other = runner(jobs), runner(jobs)
    time.passes(minutes=10)
    with pytest.raises(KeyboardInterrupt):
        one.step()
    assert other.step() == 1
    assert outcomes(other, "job") == ["00:10 run"]


def test_job_that_ends_its_program_has_failed_and_its_thread_goes_on(runner: Runner, db: Store, time: Time) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    def exits(store: Store) -> None:
        sys.exit("no orders")

    @jobs.every(minutes=10)
    async def is_cancelled(store: AsyncStore) -> None:
        raise asyncio.CancelledError

    one = runner(jobs)
    time.passes(minutes=10)
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(one.step).result() == 2
    assert [(each.last_run.outcome, each.failures) for each in one.status() if each.last_run] == [("failed", 1)] * 2


def test_end_of_the_program_in_its_main_thread_leaves_the_tick_to_others(runner: Runner, time: Time) -> None:
    """A handler of a signal may have raised it."""
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    def job(store: Store) -> None:
        sys.exit()

    one = runner(jobs)
    time.passes(minutes=10)
    with pytest.raises(SystemExit):
        one.step()
    assert one.status()[0].status == "interrupted"


def test_async_job_runs_where_an_event_loop_runs(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    async def job(store: AsyncStore) -> None:
        await asyncio.sleep(0)

    async def test() -> None:
        tick = runner(jobs).run_now("job")
        assert tick is not None
        assert tick.outcome == JobOutcome.RUN

    asyncio.run(test())


def test_tick_that_ends_every_process_is_given_up(runner: Runner, db: Store, time: Time) -> None:
    jobs = Jobs("shop")
    tables: list[Store] = []

    @jobs.every(minutes=10)
    def job(store: Store) -> None:
        if store.now() < BEGIN + timedelta(minutes=20):
            crash(tables[-1])

    one = runner(jobs)
    time.passes(minutes=10)
    for _ in range(6):
        dying, table = on_own_store(db, jobs, time)
        tables.append(table)
        if len(tables) > 1:
            dying.step()  # sees the lease of the one before
            time.seconds += 30
        with pytest.raises(Crash):
            dying.step()
    one.step()
    time.seconds += 30
    assert one.step() == 0
    assert [each.error for each in one.history("job")] == ["the process ended 6 times while it ran"]
    time.passes(minutes=10)
    assert one.step() == 1


def test_clock_that_is_set_back_repeats_no_tick(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    jobs.every(minutes=10, name="job")(lambda db: None)
    one = runner(jobs)
    for minutes in (10, 20, 30):
        time.is_set(f"2026-01-01 00:{minutes}")
        one.step()
    for now in ("00:05", "00:10", "00:20", "00:35", "00:40"):
        time.is_set(f"2026-01-01 {now}")
        one.step()
    assert outcomes(one, "job") == ["00:10 run", "00:20 run", "00:30 run", "00:40 run"]


def test_clock_that_was_far_ahead_does_not_stop_a_job(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")
    jobs.every(minutes=10, name="job")(lambda db: None)
    one = runner(jobs)
    time.is_set("2026-01-01 05:05")  # by mistake: 00:10 to 04:50 are missed, 05:00 runs
    one.step()
    time.is_set("2026-01-01 00:30")
    one.step()
    for now in ("00:40", "00:50", "05:20"):
        time.is_set(f"2026-01-01 {now}")
        one.step()
    assert outcomes(one, "job") == [
        "00:10-00:30 missed x3",
        "00:40 run",
        "00:50 run",
        "01:00-04:50 missed x24",
        "05:00 run",
        "05:10 missed",
        "05:20 run",
    ]


def test_job_that_runs_all_ticks_passes_recorded_ones_at_once(runner: Runner, time: Time) -> None:
    """A clock that was set back for a while makes many of them due again."""
    jobs = Jobs("shop")
    ran: list[datetime] = []

    @jobs.every(minutes=10, missed="all")
    def job(store: Store, run: JobRun) -> None:
        ran.append(run.scheduled_at)

    one = runner(jobs)
    time.passes(hours=3)
    assert one.step() == 18
    time.now -= timedelta(hours=2)
    one.step()
    time.now += timedelta(hours=2, minutes=10)
    one.step()
    assert ran == [BEGIN + timedelta(minutes=10 * each) for each in range(1, 20)]


def test_long_step_does_not_take_what_others_did_meanwhile_for_a_clock_set_back(
    runner: Runner, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = Jobs("shop")
    lasts = [timedelta(hours=3)]

    @jobs.every(minutes=10)
    def job(db: Store) -> None:
        if lasts:
            time.now += lasts.pop()

    @jobs.every(minutes=10)
    def later(db: Store) -> None:
        while other.step():
            pass

    one, other = runner(jobs), runner(jobs)
    time.passes(minutes=10)
    one.step()
    assert caplog.text == ""
    assert outcomes(one, "job") == ["00:10 run", "00:20-03:00 skipped x17", "03:10 run"]


def test_changed_schedule_counts_from_now(runner: Runner, db: Store, time: Time) -> None:
    before, after = Jobs("shop"), Jobs("shop")
    before.every(minutes=10, name="job")(lambda db: None)
    after.every(minutes=7, name="job")(lambda db: None)
    old = runner(before)
    time.passes(minutes=15)
    old.step()
    new = runner(after)
    time.passes(minutes=7)
    assert old.step() == 0  # the program that was started last decides
    assert new.step() == 1
    assert outcomes(new, "job") == ["00:10 run", "00:21 run"]


def test_jobs_of_two_groups_do_not_meet(runner: Runner, time: Time) -> None:
    for group in ("a", "b"):
        jobs = Jobs(group)
        jobs.every(minutes=10, name="job")(lambda db: None)
        one = runner(jobs)
        time.passes(minutes=10)
        assert one.step() == 1
        assert len(list(one.history("job"))) == 1


def test_table_of_jobs_has_the_names_of_its_stage(db: Store, time: Time) -> None:
    jobs = Jobs("shop")
    jobs.every(minutes=10, name="job")(lambda db: None)
    runners = [JobRunner(db.with_settings(table_names=f"{{}}-{stage}".format), jobs) for stage in ("dev", "prod")]
    for one in runners:
        one.create_tables()
        assert one.step() == 0
    time.passes(minutes=10)
    assert [one.step() for one in runners] == [1, 1]
    mapped = db.with_settings(table_names={"shop": "dev-shop"})
    with pytest.raises(ConfigurationError, match="pass table_name='partita-jobs' or another name"):
        JobRunner(mapped, jobs)
    JobRunner(mapped, jobs, table_name="dev-jobs").create_tables()
    named = JobRunner(db.with_settings(table_names={"shop": "other-shop", "partita-jobs": "other-jobs"}), jobs)
    named.create_tables()
    assert named.step() == 0
    time.passes(minutes=10)
    assert named.step() == 1


def test_function_that_returns_an_awaitable_fails(runner: Runner, time: Time) -> None:
    jobs = Jobs("shop")

    async def nothing() -> None: ...

    made = []

    def job(db: Store) -> Any:
        made.append(nothing())
        return made[-1]

    jobs.every(minutes=10)(job)
    one = runner(jobs)
    time.passes(minutes=10)
    one.step()
    made[0].close()
    error = one.history("job").first(1)[0].error
    assert error is not None
    assert "declare its function with 'async def'" in error


def test_deleted_state_is_a_lost_lease(runner: Runner, db: Store, time: Time) -> None:
    jobs = Jobs("shop")

    @jobs.every(minutes=10)
    def job(store: Store) -> None:
        one._table.db.delete(job_state("shop", "job"))

    one = runner(jobs)
    time.passes(minutes=10)
    one.step()
    assert outcomes(one, "job") == []
    assert one.step() == 0
    assert one.status()[0].next_run == datetime(2026, 1, 1, 0, 20, tzinfo=UTC)
