"""Reads and writes of the table of jobs; a decision holds only if the state is as it was read."""

import copy
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from partita.design.conditions import Condition, F
from partita.errors import (
    AlreadyExists,
    ConditionFailed,
    ConfigurationError,
    NotFound,
    RetriesExhausted,
)
from partita.jobs.job_records import (
    JobOutcome,
    JobState,
    JobTick,
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

Edit = Callable[[Any], None]


class JobTable:
    """The states and records of a group of jobs."""

    def __init__(self, db: Store, group: str, keep: timedelta, table_name: str | None) -> None:
        self.db = _store(db, table_name)
        self.joint_db = _joint_store(db, self.db)
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


def _store(db: Store, table_name: str | None) -> Store:
    """A store of the table of jobs with the settings of the program's store."""
    settings: dict[str, Any] = {"sleep": db._sleep, **db._settings}
    naming = settings.get("table_names")
    if table_name is not None:
        settings["table_names"] = {table.name: table_name}
    elif naming is not None and not callable(naming):
        if table.name not in naming:
            raise ConfigurationError(
                f"JobRunner: table_names of the store does not name the table of jobs; add {table.name!r}, or pass "
                f"table_name={table.name!r} or another name, so that stages in one database do not share their jobs"
            )
        settings["table_names"] = {table.name: naming[table.name]}
    return Store(db.backend, design, **settings)


def _joint_store(db: Store, jobs: Store) -> Store:
    """A store of the program's design and of jobs, so that one transaction can write both."""
    joint = msgspec.structs.replace(db.design, tables=(*db.design.tables, table))
    names = {each.name: db.table_name(each) for each in db.design.tables} | {table.name: jobs.table_name(table)}
    settings: dict[str, Any] = {"sleep": db._sleep, **db._settings, "table_names": names}
    return Store(db.backend, joint, **settings)
