"""The monitor: reports consumers that stand still, wherever they should run.

A stream stores its records for 24 hours, so a consumer that nothing runs loses changes after a day. The monitor looks
at the stored positions and at the streams, not at threads of its own process: it sees a consumer that is paused, whose
process has died or hangs, or that was never started. It does the least where nothing was committed since all were at
rest.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Literal

import msgspec

from partita.consumers import state
from partita.consumers.backlog import Backlog, BacklogWatch
from partita.consumers.consumer_store import ConsumerStore
from partita.errors import PartitaError
from partita.process_identity import is_dead
from partita.store.store import Store

CHECK_SECONDS = 2.5  # between two looks
STALL_SECONDS = 5.0  # without progress, until it is reported
FULL_SECONDS = 30.0  # between two looks at the state of a consumer at rest whose streams have no new records
REMIND_SECONDS = 600.0  # until it is reported again
FAILING_TRIES = 3  # of one change: its handler may fail for ever
ENDLESS_TIME = timedelta(minutes=2)  # after it was seen last that a consumer triggers itself
LOOKED_AT = 100  # changes that are tried again, the next one first

_log = logging.getLogger("partita.consumers")


_WORDS = {"stalled": "stands still", "failing": "fails", "endless": "triggers itself"}


class ConsumerProblem(msgspec.Struct, frozen=True):
    """A consumer that makes no progress, or has no end.

    kind        "stalled" if it does not read its changes; "failing" if it reads them, and its handler fails again and
                again; "endless" if it triggers itself: its effects are changes that it handles, one after the other.
    time_left   Until its oldest unread change expires; None if it has read all: parked changes do not expire.
    """

    consumer: str
    kind: Literal["stalled", "failing", "endless"]
    reason: str
    time_left: timedelta | None = None

    def __str__(self) -> str:
        text = f"consumer {self.consumer} {_WORDS[self.kind]}: {self.reason}"
        if self.time_left is None:
            return text
        return f"{text}; its oldest unread change expires in {self.time_left.total_seconds() / 3600:.1f} hours"


class ConsumerMonitor:
    """Watches consumers of a store by their names; `check` looks once, `start` again and again in a thread.

    patience   For how many seconds a consumer may make no progress.
    """

    def __init__(
        self,
        db: Store,
        consumers: Sequence[str],
        *,
        patience: float = STALL_SECONDS,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._db = ConsumerStore(db)
        self._watches = [_ConsumerWatch(self._db, each, patience, timer) for each in consumers]
        self._timer = timer
        self._version: Callable[[], object] | None = getattr(db.backend, "version", None)
        self._rested_at: object = None  # the version of the database at which all consumers were at rest
        self._reported: dict[str, float] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="partita-monitor", daemon=True)
        self.problems: list[ConsumerProblem] = []

    def check(self) -> list[ConsumerProblem]:
        """The consumers that have made no progress since an earlier check, although they have unread changes."""
        version = None if self._version is None else self._version()
        if version is not None and version == self._rested_at:
            return []
        found = [each.check() for each in self._watches]
        self.problems = [each for each in found if each is not None]
        self._rested_at = version if all(each.is_at_rest for each in self._watches) else None
        return self.problems

    def start(self) -> None:
        """Checks in a thread, and logs a warning for each consumer that stands still, until `close`."""
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> "ConsumerMonitor":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._stopping.wait(CHECK_SECONDS):
            try:
                self.report()
            except (PartitaError, OSError) as error:
                _log.warning("consumers cannot be watched: %s", error)

    def report(self) -> None:
        """Checks once, and logs the consumers that have begun to stand still, or have gone on."""
        found = {each.consumer: each for each in self.check()}
        for name in list(self._reported):
            if name not in found:
                del self._reported[name]
                _log.info("consumer %s goes on", name)
        for name, problem in found.items():
            if self._timer() - self._reported.get(name, float("-inf")) >= REMIND_SECONDS:
                self._reported[name] = self._timer()
                _log.warning("%s", problem)


class _ConsumerWatch:
    """What was seen of one consumer."""

    def __init__(self, db: ConsumerStore, consumer: str, patience: float, timer: Callable[[], float]) -> None:
        self._db = db
        self._name = consumer
        self._patience = patience
        self._timer = timer
        self._backlog = BacklogWatch(db, timer)
        self._seen: object = None
        self._seen_at = 0.0
        self._full_at = 0.0
        self.is_at_rest = False

    def check(self) -> ConsumerProblem | None:
        """The problem of the consumer, if it makes no progress."""
        if self.is_at_rest and self._timer() < self._full_at and self._backlog.is_still_empty():
            return None
        self._full_at = self._timer() + FULL_SECONDS
        name = self._name
        tables = list(self._db(state.table_progresses(name), consistent=True))
        if any(each.host == "lambda" for each in tables):
            self.is_at_rest = True
            return None
        positions = list(self._db(state.positions(name), consistent=True))
        scans = [each for table in tables for each in self._db(state.scans(name, table.table), consistent=True)]
        is_scanning = any(each.done_at is None for each in scans)
        oldest = self._backlog.oldest(tables, positions)
        due = self._db(state.due_changes(name)).first(LOOKED_AT)
        self.is_at_rest = bool(tables) and oldest is None and not is_scanning and not due
        progress = (
            [each.table for each in tables],
            [(each.stream, each.shard, each.sequence) for each in positions],
            [(each.scan, each.cursor, each.delivered) for each in scans],
            [(each.item, each.sequence, each.tries) for each in due],
        )
        is_waiting = not tables or oldest is not None or is_scanning
        if self._is_unchanged(progress) and is_waiting:
            left = Backlog(oldest_at=oldest).time_left(self._db.now())
            return ConsumerProblem(name, "stalled", self._reason(has_begun=bool(tables)), left)
        worst = max(due, key=lambda each: each.tries, default=None)
        if worst is not None and worst.tries >= FAILING_TRIES:
            return ConsumerProblem(name, "failing", f"a change has failed {worst.tries} times, with {worst.error}")
        return self._endless(tables)

    def _endless(self, tables: list[state.TableProgress]) -> ConsumerProblem | None:
        """The problem of a consumer that has triggered itself a moment ago."""
        for each in tables:
            if each.endless_at is not None and self._db.now() - each.endless_at < ENDLESS_TIME:
                reason = (
                    f"its effects are changes of {each.endless_entity} that cause others of their kind without an end"
                )
                return ConsumerProblem(self._name, "endless", reason)
        return None

    def _is_unchanged(self, progress: object) -> bool:
        """Whether the progress is the same as some time before."""
        if progress != self._seen:
            self._seen, self._seen_at = progress, self._timer()
            return False
        return self._timer() - self._seen_at >= self._patience

    def _reason(self, *, has_begun: bool) -> str:
        lease = self._db.get(state.lease(self._name), consistent=True)
        if lease is not None and lease.is_paused:
            return "it is paused"
        if lease is None or not lease.owner or is_dead(lease.process):
            return "no process runs it"
        return "its process does not go on" if has_begun else "its process cannot begin"
