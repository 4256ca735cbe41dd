"""Leases: one process at a time runs a consumer; when it ends, another takes over.

The owner adds to a counter now and then. Others take over when they have seen the same count for some time, by their
own clock. On the same machine they see at once that a process has ended.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from partita.consumers import state
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.state import Lease
from partita.design.conditions import F
from partita.errors import AlreadyExists, ConditionFailed, NotFound
from partita.process_identity import is_dead, this_process
from partita.store.store import Store
from partita.store.transactions import Transaction

LEASE_SECONDS = 30.0
BEAT_SECONDS = LEASE_SECONDS / 3
MAX_RENEWED = 50  # leases in a transaction


class LeaseHolder:
    """Tries to hold the lease of one consumer; `hold` is called by one thread, `is_held` may be read by others."""

    def __init__(self, db: ConsumerStore, consumer: str, timer: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._get = state.lease(consumer)
        self._timer = timer
        self._owner = os.urandom(8).hex()
        self._seen: tuple[str, int] | None = None  # the owner and the count that were seen last
        self._seen_at = 0.0
        self._beat_at = 0.0
        self.is_held = False
        self.is_paused = False

    def hold(self, *, look: bool = False) -> bool:
        """Whether this process runs the consumer now: takes a free lease, and renews its own in time.

        With `look`, its own lease is read although its time has not come: somebody may have paused the consumer.
        """
        is_fresh = self.is_held and self._timer() - self._beat_at < BEAT_SECONDS
        if is_fresh and not look:
            return True
        found = self._db.get(self._get, consistent=True)
        self.is_paused = found is not None and found.is_paused
        if self.is_paused:
            self.release()
        elif is_fresh and found is not None and found.owner == self._owner:
            return True
        elif found is None or not found.owner or found.owner == self._owner or self._has_ended(found):
            self.is_held = self._take(found)
        else:
            self.is_held = False
        return self.is_held

    def beat(self, whole: Transaction) -> None:
        """Adds a beat of its own lease to a transaction; `has_beaten` when it is committed."""
        draft = whole.change(self._get, when=(F.owner == self._owner) & (F.is_paused == False))  # noqa: E712
        draft.beats += 1

    def has_beaten(self) -> None:
        self._beat_at = self._timer()

    def seconds_until_beat(self) -> float:
        """The time until the lease is to be renewed; 0 if another process has it."""
        return max(0.0, self._beat_at + BEAT_SECONDS - self._timer()) if self.is_held else 0.0

    def release(self) -> None:
        """Gives the lease to others."""
        if self.is_held:
            self.is_held = False
            try:
                with self._db.change(self._get, when=F.owner == self._owner) as draft:
                    draft.owner = ""
            except (ConditionFailed, NotFound):
                pass  # another process has it already

    def _has_ended(self, found: Lease) -> bool:
        """Whether the owner is gone: it has ended on this machine, or its count has not changed for long."""
        if is_dead(found.process):
            return True
        seen = (found.owner, found.beats)
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._timer()
        return self._timer() - self._seen_at > LEASE_SECONDS

    def _take(self, found: Lease | None) -> bool:
        beats = 0 if found is None else found.beats
        when = None if found is None else (F.beats == beats) & (F.owner == found.owner) & (F.is_paused == False)  # noqa: E712
        try:
            if found is None:
                self._db.create(Lease(consumer=self._get.arguments[0], owner=self._owner, process=this_process()))
            else:
                with self._db.change(self._get, when=when) as draft:
                    draft.owner = self._owner
                    draft.process = this_process()
                    draft.beats += 1
        except (ConditionFailed, NotFound, AlreadyExists):
            return False
        self._beat_at = self._timer()
        return True


def renew(db: Store, leases: Sequence[LeaseHolder]) -> bool:
    """Renews the leases that this process holds in one commit, once the time of one has come; whether it has tried.

    If that fails, since somebody has paused a consumer for example, `hold` finds out about each.
    """
    held = [each for each in leases if each.is_held]
    if not held or min(each.seconds_until_beat() for each in held) > 0:
        return False
    for some in (held[at : at + MAX_RENEWED] for at in range(0, len(held), MAX_RENEWED)):
        with suppress(ConditionFailed, NotFound):
            with db.transaction() as whole:
                for each in some:
                    each.beat(whole)
            for each in some:
                each.has_beaten()
    return True
