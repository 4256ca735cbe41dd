"""The heartbeat of a run: a thread that renews its lease until the run has ended."""

import logging
import threading
from types import TracebackType

from partita.errors import LeaseLost, PartitaError
from partita.jobs.job_lease import HeldLease

_log = logging.getLogger("partita.jobs")


class Heartbeat:
    """Renews a lease at an interval while its block runs."""

    def __init__(self, held: HeldLease, interval: float) -> None:
        self._held = held
        self._interval = interval
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"heartbeat of job {held.state.job}", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._has_ended.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._has_ended.wait(self._interval):
            try:
                self._held.beat()
            except LeaseLost:
                return
            except (PartitaError, OSError) as error:  # the next beat may succeed before the lease has ended
                _log.warning("job %s: its lease could not be renewed: %s", self._held.state.job, error)
