"""The runner of jobs: finds the ticks that are due, takes a job's lease, runs its function, records the outcome.

The state of a job has an epoch and a heartbeat. Taking the lease is one write: it records the ticks that do not run,
names the one that does, and increments the epoch, all on the condition that the state is as it was read. Later writes
of the run hold only in that epoch. While the function runs, a thread increments the heartbeat. A runner that sees the
same epoch and heartbeat for the length of a lease, by its own monotonic clock, takes the lease over, and the tick
continues. So no two machines have to agree on the time, and a process that was paused cannot record anything late. On
the same machine, a runner sees within a moment that the process of a lease has ended.
"""

import asyncio
import inspect
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from partita.errors import ConfigurationError, JobRunning, LeaseLost, PartitaError
from partita.jobs.due_ticks import decide
from partita.jobs.heartbeat import Heartbeat
from partita.jobs.job import Job, Jobs
from partita.jobs.job_lease import HeldLease, error_text
from partita.jobs.job_records import JobState, JobTick, LastRun, RunningTick
from partita.jobs.job_run import JobRun
from partita.jobs.job_table import JobTable
from partita.plan.table_definitions import Difference
from partita.process_identity import is_dead, this_process
from partita.store.async_store import AsyncStore
from partita.store.coroutine_runner import CoroutineRunner
from partita.store.results import Results
from partita.store.store import Store

CLOCK_TOLERANCE = timedelta(hours=1)  # a clock that is further behind what is decided was set back
LOOK_SECONDS = 0.25  # between two looks at the processes of this machine that run jobs
MOST_CRASHES = 5  # of a tick without progress in between; then it is recorded as failed

_log = logging.getLogger("partita.jobs")


class JobStatus(msgspec.Struct, frozen=True):
    """A job as it is now.

    `status` is "running" while a process has its lease, which may have died on another machine, and "interrupted" for a
    tick that waits to be continued. `running`, `done` and `total` are about the run that has not ended, `last_run`
    about the one before.
    `runs` have ended so far, `failures` of them with an error.
    """

    name: str
    schedule: str
    status: Literal["waiting", "running", "interrupted"]
    next_run: datetime
    last_run: LastRun | None
    running: RunningTick | None
    done: int | None
    total: int | None
    runs: int = 0
    failures: int = 0


class JobRunner:
    """Runs jobs on a store. Any number of runners, in any number of processes, may run the same jobs.

    lease       How long a run may be silent before another runner takes it over.
    table_name  The name of the table of jobs, if it is not `partita-jobs`; needed if the store's `table_names` is a
                mapping that does not name this table.
    monotonic   The seconds of a clock that is never set; a test may replace it.
    """

    def __init__(
        self,
        db: Store,
        jobs: Jobs,
        *,
        lease: timedelta = timedelta(seconds=30),
        table_name: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        given: object = lease
        if not isinstance(given, timedelta) or given <= timedelta(0):
            raise ConfigurationError(f"JobRunner: lease={lease!r} is not valid; use a timedelta above 0")
        self.jobs = jobs
        self._db = db
        self._table = JobTable(db, jobs.name, jobs.keep, table_name)
        self._lease = lease.total_seconds()
        self._monotonic = monotonic
        self._process = f"{socket.gethostname()}:{os.getpid()}"
        self._seen: dict[str, tuple[tuple[int, int], float]] = {}
        self._others: dict[str, str] = {}  # the processes that run jobs now
        self._known_schedules: set[str] = set()
        self._changed_elsewhere: set[str] = set()
        self._stopping = threading.Event()

    def create_tables(self) -> list[Difference]:
        """Creates the table of jobs if it does not exist; returns what differs in an existing one."""
        return self._table.db.create_tables()

    def step(self) -> int:
        """Runs everything that is due by the store's clock, one after the other; returns the number of runs."""
        now = self._db.now()
        jobs = list(self.jobs)
        runs = 0
        while jobs:
            states = self._table.states()
            jobs = [job for job in jobs if self._run_due(job, states.get(job.name), now)]
            runs += len(jobs)
        return runs

    def run(self, *, threads: int = 1) -> None:
        """Runs jobs when they are due, as many at the same time as there are threads, until `stop` is called."""
        others = [threading.Thread(target=self._loop, name=f"jobs {number}") for number in range(1, threads)]
        for each in others:
            each.start()
        try:
            self._loop()
        finally:
            self.stop()
            for each in others:
                each.join()

    def stop(self) -> None:
        """Begins no more runs, and lets `run.should_stop` be true in those that have begun; does not wait for them."""
        self._stopping.set()

    def run_now(self, name: str) -> JobTick | None:
        """Runs a job by hand, in this thread, and returns its record; JobRunning if a run of it has not ended.

        None if the run was interrupted: a runner continues it. The ticks of the schedule stay as they are.
        """
        job = self.jobs[name]
        for _ in self._table.db.retrying("JobState"):
            state = self._table.state(name)
            if state is None:
                self._table.add(name, job.schedule.text)
                continue
            if state.running is not None:
                raise JobRunning(name, state.running.scheduled_at)
            held = self._take(state, RunningTick(self._db.now(), self._db.now(), state.epoch + 1))
            if held is not None:
                return self._execute(job, held)
        raise AssertionError("retrying raises at its end")

    def status(self) -> list[JobStatus]:
        """All jobs, with their last run, their next one, and their progress."""
        now = self._db.now()
        states = self._table.states()
        return [_status(job, states.get(job.name), now) for job in self.jobs]

    def history(self, name: str) -> Results[JobTick]:
        """The records of a job's ticks, the last one first, as far back as they are kept."""
        return self._table.history(self.jobs[name].name)

    def _loop(self) -> None:
        while not self._stopping.is_set():
            try:
                self.step()
            except Exception:  # noqa: BLE001 - the thread must not end
                _log.exception("jobs %s: a step failed; it is tried again", self.jobs.name)
            self._wait()

    def _wait(self) -> None:
        """Waits until the next look; not as long if a process that runs a job ends before."""
        left = self._pause()
        while left > 0:
            watched = list(self._others.values())
            seconds = min(left, LOOK_SECONDS) if any(watched) else left
            if self._stopping.wait(seconds) or any(is_dead(each) for each in watched):
                return
            left -= seconds

    def _pause(self) -> float:
        """The seconds until the next tick, at most a third of a lease: runs of other processes are watched, too."""
        now = self._db.now()
        ticks = [job.schedule.next_tick(now) for job in self.jobs]
        until = min((tick - now for tick in ticks), default=timedelta.max)
        return min(self._lease / 3, until.total_seconds())

    def _run_due(self, job: Job, state: JobState | None, now: datetime) -> bool:
        """Runs a job once, if it is due and free; whether it ran."""
        if self._stopping.is_set():
            return False
        if state is None:
            self._table.add(job.name, job.schedule.text)
            return False
        if not self._is_free(state):
            return False
        held = self._begin(job, state, now) if state.running is None else self._continue(state, state.running)
        if held is None:
            return False
        self._execute(job, held)
        return True

    def _is_free(self, state: JobState) -> bool:
        """Whether nobody holds the lease, its process has ended, or it has been silent while this runner watched."""
        self._others.pop(state.job, None)
        if state.owner is None or is_dead(state.process):
            return True
        self._others[state.job] = state.process
        seen, now = (state.epoch, state.heartbeat), self._monotonic()
        before = self._seen.get(state.job)
        if before is None or before[0] != seen:
            self._seen[state.job] = (seen, now)
            return False
        return now - before[1] >= self._lease

    def _begin(self, job: Job, state: JobState, now: datetime) -> HeldLease | None:
        """Decides about the ticks that are due, and takes the lease if one runs."""
        if not self._has_same_schedule(job, state, now):
            return None
        if self._db.now() < state.handled_until - CLOCK_TOLERANCE:  # `now` is older, if another job has run since
            _log.warning("job %s: the clock was set back; ticks after %s are due again", job.name, self._db.now())
            self._table.rewind(state, job.schedule, self._db.now())
            return None
        since = max(state.handled_until, now - self.jobs.keep)
        if job.schedule.next_tick(since) > now:
            return None
        decision = decide(job, state.last, since, now, self._table.recorded(job.name, since, now))
        if decision is None:
            return None
        running = None if decision.tick is None else RunningTick(decision.tick, self._db.now())
        others = [self._table.unrun(job.name, outcome, span) for outcome, span in decision.others]
        return self._take(state, running, decision.handled_until, others)

    def _has_same_schedule(self, job: Job, state: JobState, now: datetime) -> bool:
        """Whether the stored schedule is the declared one; a runner stores its own once, when it is new.

        While two versions of a program run, the one that was started last decides.
        """
        if state.schedule == job.schedule.text:
            self._known_schedules.add(job.name)
            return True
        if job.name not in self._known_schedules:

            def edit(draft: Any) -> None:
                draft.schedule = job.schedule.text
                draft.handled_until = now

            if self._table.decide(state, edit) is not None:
                _log.info("job %s: its schedule is now %s, was %s", job.name, job.schedule.text, state.schedule)
                self._known_schedules.add(job.name)
        elif job.name not in self._changed_elsewhere:
            self._changed_elsewhere.add(job.name)
            changed = "job %s: another program has changed its schedule to %s; it does not run here"
            _log.warning(changed, job.name, state.schedule)
        return False

    def _continue(self, state: JobState, running: RunningTick) -> HeldLease | None:
        """Takes over a tick that was interrupted, or whose process is silent."""
        crashes = running.crashes + (state.owner is not None)
        running = msgspec.structs.replace(running, crashes=crashes)
        held = self._take(state, running)
        if held is not None and crashes > MOST_CRASHES:
            held.end(f"the process ended {crashes} times while it ran", 0.0)
            return None
        return held

    def _take(
        self,
        state: JobState,
        running: RunningTick | None,
        handled_until: datetime | None = None,
        others: list[JobTick] | None = None,
    ) -> HeldLease | None:
        """Takes the lease for a tick; without one, only records the others. None if the state has changed.

        Each lease has an owner of its own: after a lost reply, the stored owner says which of two writers has it.
        """
        owner = None if running is None else f"{self._process}:{os.urandom(8).hex()}"

        def edit(draft: Any) -> None:
            draft.running = running
            draft.owner = owner
            draft.process = "" if owner is None else this_process()
            if handled_until is not None:
                draft.handled_until = handled_until

        after = self._table.decide(state, edit, others or [])
        if after is None or running is None:
            return None
        return HeldLease(self._table, after, running, self._monotonic)

    def _execute(self, job: Job, held: HeldLease) -> JobTick | None:
        """Runs the function and records its outcome; None if it was interrupted or the lease was lost."""
        begun = self._monotonic()
        run = JobRun(held, lambda: self._must_stop(held))
        error: BaseException | None = None
        try:
            with Heartbeat(held, self._lease / 3):
                self._call(job, run)
        except BaseException as raised:
            if not _is_failure(raised):
                with suppress(PartitaError, OSError):  # another runner takes the lease over later
                    held.release()
                raise
            error = raised  # it is recorded, and the job runs again at its next tick
        if held.is_lost:
            _log.error("%s", LeaseLost(job.name))
            return None
        if error is None and run.is_interrupted:
            held.release()
            return None
        if error is not None:
            _log.error("job %s failed; it runs again at its next tick", job.name, exc_info=error)
        tick = held.end(None if error is None else error_text(error), self._monotonic() - begun)
        if tick is None:
            _log.error("%s", LeaseLost(job.name))
        return tick

    def _must_stop(self, held: HeldLease) -> bool:
        return self._stopping.is_set() or held.is_lost or self._monotonic() - held.renewed_at > self._lease

    def _call(self, job: Job, run: JobRun) -> None:
        arguments = (run,) if job.takes_run else ()
        if job.is_async:
            settings: dict[str, Any] = dict(self._db._settings)
            db = AsyncStore(self._db.backend, self._db.design, **settings)
            with CoroutineRunner() as coroutines:
                coroutines.run(job.function(db, *arguments))
        elif inspect.isawaitable(job.function(self._db, *arguments)):
            raise ConfigurationError(f"job {job.name!r} returned an awaitable; declare its function with 'async def'")


def _is_failure(raised: BaseException) -> bool:
    """Whether an error is the job's own, and not the end of the program.

    A job that ends its program, such as a command that calls `sys.exit`, has failed: other threads cannot be ended by
    that. In the main thread, the handler of a signal may have raised it.
    """
    if isinstance(raised, SystemExit):
        return threading.current_thread() is not threading.main_thread()
    return isinstance(raised, Exception | GeneratorExit | asyncio.CancelledError)


def _status(job: Job, state: JobState | None, now: datetime) -> JobStatus:
    if state is None:
        next_run = job.schedule.next_tick(now)
        return JobStatus(job.name, job.schedule.text, "waiting", next_run, None, None, None, None)
    is_running = state.owner is not None and not is_dead(state.process)
    status: Literal["waiting", "running", "interrupted"] = "running" if is_running else "interrupted"
    if state.running is None:
        status = "waiting"
    next_run = job.schedule.next_tick(max(state.handled_until, now))
    return JobStatus(
        name=job.name,
        schedule=job.schedule.text,
        status=status,
        next_run=next_run,
        last_run=state.last,
        running=state.running,
        done=state.done,
        total=state.total,
        runs=state.runs,
        failures=state.failures,
    )
