"""One consumer of a worker, in a thread of its own, so that none waits for the slow handlers of another."""

import logging
import threading
import time
from contextlib import suppress

from partita.consumers.batch_runner import runner_of
from partita.consumers.causes import Causes
from partita.consumers.consumer import Consumer
from partita.consumers.handler_transaction import TakenOver
from partita.consumers.leases import BEAT_SECONDS, LeaseHolder
from partita.consumers.runner import Interrupted
from partita.consumers.stream_pages import SharedPages
from partita.errors import PartitaError
from partita.store.store import Store

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds after a failure of the database
POSITION_SECONDS = 0.25  # that the position after skipped records may wait to be stored with a change

_log = logging.getLogger("partita.consumers")


class ConsumerThread:
    """Runs a consumer while it holds its lease; another thread keeps the lease, and wakes this one after commits."""

    def __init__(self, db: Store, consumer: Consumer, pages: SharedPages, causes: Causes) -> None:
        self.name = consumer.name
        self._runner = runner_of(
            db,
            consumer,
            pages=pages,
            parallel=consumer.parallel,
            should_stop=lambda: not self._may_run,
            patience=POSITION_SECONDS,
            causes=causes,
        )
        self.lease = LeaseHolder(self._runner.db, consumer.name)
        self._has_begun = False
        self._failures = 0
        self._is_stopping = False
        self._awake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"partita-consumer {consumer.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Has it look for changes."""
        self._awake.set()

    def look_again(self) -> None:
        """Has it look for what somebody has ordered, too: a dead letter may have been retried."""
        self._runner.parking.look_again()
        self._awake.set()

    def stop(self) -> None:
        """Lets it end after the changes at hand; `join` waits for that."""
        self._is_stopping = True
        self._awake.set()

    def join(self, seconds: float | None = None) -> bool:
        """Waits until it has ended, or for some seconds; whether it has ended."""
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def release(self) -> None:
        """Gives the consumer to others."""
        try:
            self.lease.release()
        except (PartitaError, OSError) as error:
            _log.warning("consumer %s: the lease ends by itself: %s", self.name, error)

    @property
    def _may_run(self) -> bool:
        return self.lease.is_held and not self._is_stopping

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                self._awake.clear()
                if not (self.lease.is_held and self._step()):
                    self._awake.wait(self._pause())
            self._store_positions()
        finally:
            self._runner.close()

    def _store_positions(self) -> None:
        if self._has_begun and self.lease.is_held:
            with suppress(PartitaError, OSError):  # the next process reads the skipped records again
                self._runner.store_positions()

    def _step(self) -> int:
        """Handles what there is; returns the number of changes."""
        try:
            if not self._has_begun:
                self._runner.take_over()
                self._has_begun = True
            handled = self._runner.step()
        except (TakenOver, Interrupted) as reason:
            self._has_begun = False
            if isinstance(reason, TakenOver):
                self.lease.is_held = False  # it is read again, and perhaps still this process's
            return 0
        except BaseException as error:  # noqa: BLE001 - the thread must not end
            self._failures += 1
            self._has_begun = False
            is_known = isinstance(error, PartitaError | OSError)
            wrong = "consumer %s cannot go on, and tries again in %.1f s: %s"
            _log.error(wrong, self.name, self._failure_pause(), error, exc_info=None if is_known else error)
            self._sleep(self._failure_pause())
            return 0
        self._failures = 0
        return handled

    def _failure_pause(self) -> float:
        pause: float = FIRST_PAUSE * 2 ** min(self._failures - 1, 10)
        return min(LONGEST_PAUSE, pause)

    def _sleep(self, seconds: float) -> None:
        """Waits, whatever is written meanwhile, until it is stopped."""
        until = time.monotonic() + seconds
        while not self._is_stopping and (left := until - time.monotonic()) > 0:
            self._awake.wait(left)
            if not self._is_stopping:
                self._awake.clear()

    def _pause(self) -> float | None:
        """The seconds until it has something to do even if nothing is written; None if there is nothing."""
        if not self._has_begun or not self.lease.is_held:
            return None if not self.lease.is_held else 0.01
        try:
            parked = self._runner.parking.seconds_until_due()
        except (PartitaError, OSError):
            return BEAT_SECONDS
        longest = POSITION_SECONDS if self._runner.has_unstored_positions else BEAT_SECONDS
        return max(0.01, min(longest, parked))
