"""The worker: runs consumers in a thread, woken by commits."""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from partita.consumers import state
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.handler_transaction import TakenOver
from partita.consumers.leases import BEAT_SECONDS, LeaseHolder
from partita.consumers.runner import ConsumerRunner
from partita.errors import ConfigurationError, PartitaError
from partita.store.store import Store

POLL_SECONDS = 1.0  # between two looks at a database that does not report commits: over HTTP, and at Amazon

_log = logging.getLogger("partita.consumers")


class _Watch(Protocol):
    def wait(self, seconds: float) -> bool: ...
    def wake(self) -> None: ...
    def close(self) -> None: ...


class Worker:
    """Runs consumers of a store until it is closed; several workers share them.

    with Worker(db, [notifications]):
        ...
    """

    def __init__(self, db: Store, consumers: Sequence[Consumer]) -> None:
        names = [each.name for each in consumers]
        for name in names:
            if names.count(name) > 1:
                raise ConfigurationError(f"two consumers are named {name!r}; rename one")
        self._db = db
        self._consumers = list(consumers)
        self._stopping = threading.Event()
        self._watch: _Watch | None = None
        self._thread = threading.Thread(target=self._run, name="partita-worker", daemon=True)

    def start(self) -> None:
        create_state_tables(self._db)
        self._thread.start()

    def close(self) -> None:
        """Finishes the changes at hand, and gives the consumers to others."""
        self._stopping.set()
        if self._watch is not None:
            self._watch.wake()
        if self._thread.is_alive():
            self._thread.join()

    def __enter__(self) -> "Worker":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run(self) -> None:
        watch = getattr(self._db.backend, "watch_commits", lambda: _Poll(self._stopping))()
        self._watch = watch
        runs = [_Run(self._db, each) for each in self._consumers]
        try:
            while not self._stopping.is_set():
                if not sum([each.step() for each in runs]):
                    watch.wait(min(each.next_due() for each in runs))
        finally:
            for each in runs:
                each.close()
            self._watch = None
            watch.close()


class _Run:
    """One consumer in a worker: its lease, and its runner while the lease is held."""

    def __init__(self, db: Store, consumer: Consumer) -> None:
        self._runner = ConsumerRunner(db, consumer)
        self._lease = LeaseHolder(self._runner.db, consumer.name)
        self._has_begun = False
        self._wait_until = 0.0
        self._failures = 0

    def step(self) -> int:
        """Handles what there is, if the lease is held; returns the number of changes."""
        if time.monotonic() < self._wait_until:
            return 0
        try:
            if not self._lease.hold():
                self._has_begun = False
                return 0
            if not self._has_begun:
                self._runner.take_over()
                self._has_begun = True
            handled = self._runner.step()
        except TakenOver:
            self._has_begun = self._lease.is_held = False
            return 0
        except (PartitaError, OSError) as error:
            self._failures += 1
            self._has_begun = False
            self._wait_until = time.monotonic() + min(30.0, 0.5 * 2 ** min(self._failures, 6))
            _log.error("consumer %s cannot go on, and tries again: %s", self._runner.consumer.name, error)
            return 0
        self._failures = 0
        return handled

    def next_due(self) -> float:
        """The seconds until it has something to do even if nothing is written."""
        parked = self._runner.parking.seconds_until_due() if self._has_begun else BEAT_SECONDS
        return max(0.01, min(BEAT_SECONDS, parked))

    def close(self) -> None:
        self._runner.close()
        try:
            self._lease.release()
        except (PartitaError, OSError) as error:
            _log.warning("consumer %s: the lease ends by itself: %s", self._runner.consumer.name, error)


class _Poll:
    """The watch of a database that does not report commits."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping

    def wait(self, seconds: float) -> bool:
        self._stopping.wait(min(seconds, POLL_SECONDS))
        return True

    def wake(self) -> None:
        """Does nothing: the stop itself ends the wait."""

    def close(self) -> None:
        """Does nothing: there is nothing open."""


def create_state_tables(db: Store) -> None:
    """Creates the table of the consumers' state, if it does not exist."""
    Store(db.backend, state.design, table_names=ConsumerStore(db).table_name).create_tables()
