"""The run of a job: its cursor, its progress, and whether it should stop."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from partita.jobs.job_lease import HeldLease
from partita.store.transactions import Transaction


class JobRun:
    """The second argument of a job function that wants it: one tick, from its beginning until it has ended.

    A tick whose process has died, or was stopped, continues in another process with the cursor that was saved last.
    """

    def __init__(self, held: HeldLease, must_stop: Callable[[], bool]) -> None:
        self._held = held
        self._must_stop = must_stop
        self._has_seen_stop = False
        state = held.state
        self.job: str = state.job
        self.scheduled_at: datetime = held.running.scheduled_at
        self.begun_at: datetime = held.running.begun_at
        self.by_hand: bool = held.running.number > 0
        self.cursor: str | None = state.cursor
        self.done: int | None = state.done
        self.total: int | None = state.total

    def save(self, cursor: str | None, *, done: int | None = None, total: int | None = None) -> None:
        """Stores the cursor and the progress; LeaseLost if another process has taken the job over."""
        self._held.save(cursor, done, total)
        self.cursor, self.done, self.total = cursor, done, total

    @contextmanager
    def transaction(
        self, cursor: str | None, *, done: int | None = None, total: int | None = None
    ) -> Iterator[Transaction]:
        """A transaction of the store that stores the cursor and the progress, too: all of it, or nothing.

        So the writes that belong to a cursor take effect once. LeaseLost if another process has taken the job over.
        """
        with self._held.transaction(cursor, done, total) as transaction:
            yield transaction
        self.cursor, self.done, self.total = cursor, done, total

    @property
    def should_stop(self) -> bool:
        """Whether the runner stops, or has lost the lease.

        A function that has seen True and returns is not finished: another runner continues the tick with its cursor.
        """
        self._has_seen_stop = self._has_seen_stop or self._must_stop()
        return self._has_seen_stop

    @property
    def is_interrupted(self) -> bool:
        """Whether the function knew, when it returned, that it had to stop."""
        return self._has_seen_stop
