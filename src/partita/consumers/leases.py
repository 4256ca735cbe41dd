"""Leases: one process at a time runs a consumer; when it ends, another takes over.

The owner adds to a counter now and then. Others take over when they have seen the same count for some time, by their
own clock. On the same machine they see at once that a process has ended.
"""

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from partita.consumers import state
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.state import Lease
from partita.design.conditions import F
from partita.errors import AlreadyExists, ConditionFailed, NotFound

LEASE_SECONDS = 30.0
BEAT_SECONDS = LEASE_SECONDS / 3


class LeaseHolder:
    """Tries to hold the lease of one consumer."""

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

    def hold(self) -> bool:
        """Whether this process runs the consumer now: takes a free lease, and renews its own in time."""
        if self.is_held and self._timer() - self._beat_at < BEAT_SECONDS:
            return True
        found = self._db.get(self._get, consistent=True)
        self.is_paused = found is not None and found.is_paused
        if self.is_paused:
            self.release()
        elif found is None or not found.owner or found.owner == self._owner or self._has_ended(found):
            self.is_held = self._take(found)
        else:
            self.is_held = False
        return self.is_held

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


@cache
def _machine() -> str:
    """Identifies this machine since it was started, and its space of process ids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process was started, in ticks since the machine was; "" if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def this_process() -> str:
    """Identifies this process among all on this machine; "" where that cannot be known."""
    return f"{_machine()}/{os.getpid()}/{_started(os.getpid())}" if _machine() else ""


def is_dead(process: str) -> bool:
    """Whether a process of this machine, as `this_process` names it, has ended; false for one of another machine."""
    machine, _, rest = process.rpartition("/")[0].rpartition("/")
    started = process.rpartition("/")[2]
    return bool(machine) and machine == _machine() and rest.isdigit() and _started(int(rest)) != started
