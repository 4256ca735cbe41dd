"""Reads and writes of the table of jobs; every write holds only while the lease that it belongs to is held."""

import copy
import logging
import threading
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from partita.design.conditions import Condition, F
from partita.errors import (
    AlreadyExists,
    ConditionFailed,
    ConfigurationError,
    LeaseLost,
    NotFound,
    OutcomeUnknown,
    RetriesExhausted,
)
from partita.jobs.job_records import (
    JobOutcome,
    JobState,
    JobTick,
    LastRun,
    RunningTick,
    design,
    job_history,
    job_state,
    job_states,
    job_tick,
    recorded_ticks,
    table,
)
from partita.jobs.schedules import RESOLUTION, Schedule, TickSpan
from partita.store.results import Results
from partita.store.store import Store

_log = logging.getLogger("partita.jobs")

LONGEST_ERROR = 2_000  # characters
SENDINGS = 3  # of a write whose outcome is unknown, and which may be applied twice

Edit = Callable[[Any], None]


class JobTable:
    """The states and records of a group of jobs."""

    def __init__(self, db: Store, group: str, keep: timedelta, table_name: str | None) -> None:
        self.db = _store(db, table_name)
        self.group = group
        self.keep = keep

    def states(self) -> dict[str, JobState]:
        return {each.job: each for each in self.db(job_states(self.group), consistent=True)}

    def state(self, job: str) -> JobState | None:
        return self.db.get(job_state(self.group, job), consistent=True)

    def history(self, job: str) -> Results[JobTick]:
        return self.db(job_history(self.group, job), consistent=True)

    def recorded(self, job: str, since: datetime, until: datetime) -> list[TickSpan]:
        found = self.db(recorded_ticks(self.group, job, since, until), consistent=True)
        return [TickSpan(each.scheduled_at, each.last_at, each.count) for each in found]

    def add(self, job: str, schedule: str) -> None:
        """Stores the state of a job that is new; its ticks count from now on."""
        try:
            self.db.create(JobState(group=self.group, job=job, schedule=schedule, handled_until=self.db.now()))
        except AlreadyExists:
            return

    def decide(self, state: JobState, edit: Edit, ticks: Sequence[JobTick] = ()) -> JobState | None:
        """Changes a state and records ticks, if the state is still as it was read; None if it is not.

        Each decision has an epoch of its own, so that one of two that are made at the same time fails.
        """

        def counted(draft: Any) -> None:
            draft.epoch = state.epoch + 1
            edit(draft)

        seen = (F.epoch == state.epoch) & (F.heartbeat == state.heartbeat)
        try:
            if not self.commit(state, seen, counted, ticks):
                return None
        except RetriesExhausted:
            return None
        after = copy.copy(state)
        counted(after)
        return after

    def commit(self, state: JobState, when: Condition, edit: Edit, ticks: Sequence[JobTick] = ()) -> bool:
        """Writes a state and records together; false if the condition does not hold."""
        try:
            with self.db.transaction() as transaction:
                edit(transaction.change(job_state(self.group, state.job), when=when))  # first: its failure is reported
                for each in ticks:
                    transaction.create(each)
        except (ConditionFailed, NotFound):
            return False
        return True

    def unrun(self, job: str, outcome: JobOutcome, span: TickSpan) -> JobTick:
        """The record of ticks that do not run."""
        expires_at = self.db.now() + self.keep
        return JobTick(
            group=self.group,
            job=job,
            scheduled_at=span.first,
            last_at=span.last,
            count=span.count,
            outcome=outcome,
            expires_at=expires_at,
        )

    def rewind(self, state: JobState, schedule: Schedule, now: datetime) -> None:
        """Makes the ticks after now undecided again: a clock that was ahead has decided them too early.

        Those that have run stay recorded, and do not run again.
        """
        early = self.db(recorded_ticks(self.group, state.job, now - self.keep, state.handled_until), consistent=True)
        for each in early:
            if each.last_at > now and each.begun_at is None:
                following = self._shortened(state, each, schedule.span(each.scheduled_at - RESOLUTION, now))
                if following is None:
                    return
                state = following

        def edit(draft: Any) -> None:
            draft.handled_until = now

        self.decide(state, edit)

    def _shortened(self, state: JobState, tick: JobTick, span: TickSpan | None) -> JobState | None:
        """Records only the ticks of the span, or none of them; the state after that, or None if it has changed."""
        call = job_tick(self.group, tick.job, tick.scheduled_at, tick.number)
        try:
            with self.db.transaction() as transaction:
                seen = (F.epoch == state.epoch) & (F.heartbeat == state.heartbeat)
                transaction.change(job_state(self.group, state.job), when=seen).epoch = state.epoch + 1
                if span is None:
                    transaction.delete(call)
                else:
                    draft = transaction.change(call)
                    draft.last_at, draft.count = span.last, span.count
        except (ConditionFailed, NotFound, RetriesExhausted):
            return None
        after = copy.copy(state)
        after.epoch += 1
        return after


class HeldLease:
    """The lease of a job that this process holds, from the beginning of a run to its end."""

    def __init__(self, jobs: JobTable, state: JobState, running: RunningTick, monotonic: Callable[[], float]) -> None:
        self.state = state
        self.running = running
        self.is_lost = False
        self.renewed_at = monotonic()
        self._jobs = jobs
        self._monotonic = monotonic
        self._heartbeat = state.heartbeat
        self._lock = threading.Lock()

    @property
    def _is_held(self) -> Condition:
        return F.epoch == self.state.epoch

    def beat(self) -> None:
        """Renews the lease."""
        self._write(lambda draft: None)

    def save(self, cursor: str | None, done: int | None, total: int | None) -> None:
        """Stores the progress, and that the run has got that far without a crash."""
        self.running = RunningTick(self.running.scheduled_at, self.running.begun_at, self.running.number)

        def edit(draft: Any) -> None:
            draft.running = self.running
            draft.cursor, draft.done, draft.total = cursor, done, total

        self._write(edit)

    def _write(self, edit: Edit) -> None:
        with self._lock:
            begun = self._monotonic()
            self._heartbeat += 1
            for sending in range(SENDINGS):
                try:
                    with self._jobs.db.change(self._call, when=self._is_held) as draft:
                        draft.heartbeat = self._heartbeat
                        edit(draft)
                    break
                except OutcomeUnknown:
                    if sending == SENDINGS - 1:
                        raise
                except (ConditionFailed, NotFound):
                    self.is_lost = True
                    raise LeaseLost(self.state.job) from None
            self.renewed_at = begun

    @property
    def _call(self) -> Any:
        return job_state(self.state.group, self.state.job)

    def release(self) -> bool:
        """Gives the lease back; the tick stays unfinished, and continues with its cursor."""

        def edit(draft: Any) -> None:
            draft.owner = None

        return self._jobs.commit(self.state, self._is_held, edit)

    def end(self, error: str | None, seconds: float) -> JobTick | None:
        """Records the outcome and gives the lease back, together; None if the lease was lost."""
        now = self._jobs.db.now()
        outcome = JobOutcome.RUN if error is None else JobOutcome.FAILED
        running = self.running
        tick = JobTick(
            group=self.state.group,
            job=self.state.job,
            scheduled_at=running.scheduled_at,
            last_at=running.scheduled_at,
            number=running.number,
            outcome=outcome,
            begun_at=running.begun_at,
            seconds=round(max(seconds, 0.0), 6),
            error=error,
            process=self.state.owner,
            expires_at=now + self._jobs.keep,
        )
        last = LastRun(running.scheduled_at, running.begun_at, now, outcome, error, running.number > 0)

        def edit(draft: Any) -> None:
            draft.owner = draft.running = draft.cursor = draft.done = draft.total = None
            draft.last = last

        try:
            return tick if self._jobs.commit(self.state, self._is_held, edit, [tick]) else None
        except AlreadyExists:  # by another program, since ticks that are recorded do not run
            _log.error("job %s: its tick of %s is recorded already", tick.job, tick.scheduled_at)
            self._jobs.commit(self.state, self._is_held, edit)
            return None


def error_text(error: BaseException) -> str:
    """An error as it is recorded, in text that can be stored.

    >>> error_text(ValueError("no such order"))
    'ValueError: no such order'
    """
    text = "".join(traceback.format_exception_only(error)).strip()
    return text[:LONGEST_ERROR].encode(errors="replace").decode()


def _store(db: Store, table_name: str | None) -> Store:
    """A store of the table of jobs with the settings of the program's store."""
    settings: dict[str, Any] = {"sleep": db._sleep, **db._settings}
    naming = settings.get("table_names")
    if table_name is not None:
        settings["table_names"] = {table.name: table_name}
    elif naming is not None and not callable(naming):
        raise ConfigurationError(
            f"JobRunner: table_names of the store does not name the table of jobs; pass table_name={table.name!r} or "
            "another name, so that stages in one database do not share their jobs"
        )
    return Store(db.backend, design, **settings)
