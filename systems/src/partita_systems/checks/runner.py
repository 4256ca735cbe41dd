"""The runner of checks: claims what is due, probes several pages at the same time, records the outcomes.

A check is claimed when a thread is free for it, so its lease has to last for one probe only, however slow the pages
before it were. A lease that ends all the same, since the machine stood still, costs one more run: the late outcome is
not recorded.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta

from partita import PartitaError, Store
from partita_systems.checks import design as d
from partita_systems.checks.service import Checks, Claim, Probe

CONCURRENCY = 32
LEASE = timedelta(seconds=60)  # a probe takes at most 10 seconds, and the time to resolve names
LOOK_SECONDS = 1.0  # between two looks for due checks

_log = logging.getLogger("partita.checks")


class CheckRunner:
    """Runs due checks of a store with a probe."""

    def __init__(
        self,
        db: Store,
        probe: Probe,
        concurrency: int = CONCURRENCY,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._service = Checks(db)
        self._probe = probe
        self._concurrency = concurrency
        self._sleep = sleep

    def run_due(self) -> int:
        """Runs all checks that are due now; returns how many were recorded."""
        return self.run(lambda: False, due_at=self._service.now())

    def run(self, should_stop: Callable[[], bool], *, due_at: datetime | None = None) -> int:
        """Runs checks as they become due, until it should stop; those that are running then are finished.

        With `due_at`, runs those that were due at that time, and ends. Returns how many were recorded.
        """
        recorded = 0
        running: set[Future[bool]] = set()
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="partita-check") as threads:
            while True:
                is_over = should_stop()
                claims = [] if is_over else self._claim(self._concurrency - len(running), due_at)
                running |= {threads.submit(self._run_one, each) for each in claims}
                if not running and (is_over or due_at is not None):
                    return recorded
                if running:
                    done, running = wait(running, LOOK_SECONDS, FIRST_COMPLETED)
                    recorded += sum(each.result() for each in done)
                else:
                    self._sleep(LOOK_SECONDS)

    def _claim(self, count: int, due_at: datetime | None) -> list[Claim]:
        try:
            return self._service.claim(count, LEASE, due_at) if count else []
        except (PartitaError, OSError) as error:
            _log.error("due checks could not be claimed, and are tried again: %s", error)
            return []

    def _run_one(self, claim: Claim) -> bool:
        """Probes a check and records the outcome; false where another runner has taken it over."""
        outcome = self._outcome(claim)
        try:
            return self._service.record(claim, outcome) is not None
        except (PartitaError, OSError) as error:
            _log.error("the outcome of check %s could not be recorded: %s", claim.check.check_id, error)
            return False

    def _outcome(self, claim: Claim) -> d.Outcome:
        try:
            return self._probe(claim.check)
        except Exception:  # noqa: BLE001 - a type from outside may raise anything; the other checks go on
            _log.exception("the probe of check %s failed", claim.check.check_id)
            return d.Outcome(status="DOWN", reason="the check could not be run")
