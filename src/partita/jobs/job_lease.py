"""The lease of a job: what its owner may write until the run has ended."""

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from partita.design.conditions import Condition, F
from partita.errors import AlreadyExists, ConditionFailed, LeaseLost, NotFound, OutcomeUnknown
from partita.jobs.job_records import JobOutcome, JobState, JobTick, LastRun, RunningTick, job_state
from partita.jobs.job_table import Edit, JobTable
from partita.store.transactions import Transaction

LONGEST_ERROR = 2_000  # characters
SENDINGS = 3  # of a write whose outcome is unknown, and which may be applied twice

_log = logging.getLogger("partita.jobs")


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
        """Stores the progress."""
        self._write(self._progress(cursor, done, total))

    @contextmanager
    def transaction(self, cursor: str | None, done: int | None, total: int | None) -> Iterator[Transaction]:
        """A transaction of the program's store that stores the progress, too."""
        try:
            with self._jobs.joint_db.transaction() as transaction:
                draft = transaction.change(self._call, when=self._is_held)
                self._progress(cursor, done, total)(draft)
                draft.heartbeat = self._next_beat()
                yield transaction
        except (ConditionFailed, NotFound) as error:
            if error.entity != JobState.__name__:
                raise
            self.is_lost = True
            raise LeaseLost(self.state.job) from None

    def _progress(self, cursor: str | None, done: int | None, total: int | None) -> Edit:
        """The edit of a state that stores how far the run has got: without a crash since then."""
        self.running = RunningTick(self.running.scheduled_at, self.running.begun_at, self.running.number)

        def edit(draft: Any) -> None:
            draft.running = self.running
            draft.cursor, draft.done, draft.total = cursor, done, total

        return edit

    def _write(self, edit: Edit) -> None:
        begun = self._monotonic()
        for sending in range(SENDINGS):
            try:
                with self._jobs.db.change(self._call, when=self._is_held) as draft:
                    draft.heartbeat = self._next_beat()
                    edit(draft)
                break
            except OutcomeUnknown:
                if sending == SENDINGS - 1:
                    raise
            except (ConditionFailed, NotFound):
                self.is_lost = True
                raise LeaseLost(self.state.job) from None
        self.renewed_at = begun

    def _next_beat(self) -> int:
        """A number that no write had before: an observer that reads the same number twice has missed no write."""
        with self._lock:
            self._heartbeat += 1
            return self._heartbeat

    @property
    def _call(self) -> Any:
        return job_state(self.state.group, self.state.job)

    def release(self) -> bool:
        """Gives the lease back; the tick stays unfinished, and continues with its cursor."""

        def edit(draft: Any) -> None:
            draft.epoch = self.state.epoch + 1
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
            draft.epoch = self.state.epoch + 1
            draft.owner = draft.running = draft.cursor = draft.done = draft.total = None
            draft.last = last
            draft.runs = self.state.runs + 1
            draft.failures = self.state.failures + (error is not None)

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
