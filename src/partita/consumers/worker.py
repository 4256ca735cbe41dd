"""The worker: runs consumers, woken by commits.

commits ──> watch ──wakes──> a thread for each consumer ──> pages of the streams, read once for all of them
                                ^
            leases ──starts─────┘     renewed while handlers run
"""

import logging
import threading
from collections.abc import Sequence

from partita.consumers import state
from partita.consumers.backend_watch import POLL_SECONDS, BackendWatch, commit_watch
from partita.consumers.causes import Causes
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.consumer_thread import ConsumerThread
from partita.consumers.leases import BEAT_SECONDS, renew
from partita.consumers.monitor import ConsumerMonitor
from partita.consumers.stream_pages import SharedPages
from partita.errors import ConfigurationError
from partita.store.store import Store

LOOK_SECONDS = 1.0  # between two looks at the leases of other processes
HELD_LOOK_SECONDS = 3.0  # between two looks at its own leases, after commits: somebody may have paused a consumer
LONGEST_PAUSE = 30.0  # after failures of the database

_log = logging.getLogger("partita.consumers")


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
        self._state = ConsumerStore(db)
        self.monitor = ConsumerMonitor(db, names)
        self._pages = SharedPages()
        causes = Causes()
        self._running = [ConsumerThread(db, each, self._pages, causes) for each in consumers]
        self._is_local = hasattr(db.backend, "watch_commits")
        self._watch: BackendWatch | None = None
        self._stopping = threading.Event()  # no more changes are begun
        self._stopped = threading.Event()  # all that were begun have ended
        self._committed = threading.Event()
        self._commits = threading.Thread(target=self._watch_commits, name="partita-commits", daemon=True)
        self._leases = threading.Thread(target=self._keep_leases, name="partita-leases", daemon=True)

    def start(self) -> None:
        create_state_tables(self._db)
        for each in self._running:
            each.start()
        self._leases.start()
        self._commits.start()

    def close(self) -> None:
        """Finishes the changes at hand, and gives the consumers to others."""
        self.monitor.close()
        self._stopping.set()
        if self._watch is not None:
            self._watch.wake()
        for each in self._running:
            each.stop()
        for each in self._running:
            each.join()
        self._stopped.set()
        self._committed.set()
        for thread in (self._leases, self._commits):
            if thread.is_alive():
                thread.join()
        for each in self._running:
            each.release()

    def __enter__(self) -> "Worker":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _watch_commits(self) -> None:
        """Wakes the consumers after each commit."""
        while not self._stopping.is_set():
            try:
                self._wait_for_commits()
            except Exception:  # noqa: BLE001 - the thread must not end
                _log.exception("commits cannot be watched; it is tried again")
                self._stopping.wait(POLL_SECONDS)

    def _wait_for_commits(self) -> None:
        watch = commit_watch(self._db.backend, self._stopping)
        self._watch = watch
        try:
            while not self._stopping.is_set():
                has_changed = watch.wait(BEAT_SECONDS)
                self._pages.renew()
                if has_changed:
                    for each in self._running:
                        each.wake()
                    if self._is_local:
                        self._committed.set()
        finally:
            self._watch = None
            watch.close()

    def _keep_leases(self) -> None:
        """Takes and renews the leases, in a thread of its own: a handler may take longer than a lease."""
        failures = 0
        while not self._stopped.is_set():
            look = self._committed.is_set()
            self._committed.clear()
            try:
                renew(self._state, [each.lease for each in self._running])
                for each in self._running:
                    self._hold(each, look=look)
                failures = 0
            except Exception as error:  # noqa: BLE001 - the thread must not end
                failures += 1
                _log.warning("leases of consumers cannot be renewed, and are tried again: %s", error)
            self.monitor.start()  # once it has looked at all leases, which takes long on a busy machine
            is_held = all(each.lease.is_held for each in self._running)
            pause = HELD_LOOK_SECONDS if is_held else LOOK_SECONDS
            if self._stopped.wait(min(LONGEST_PAUSE, pause * 2**failures)):
                return
            if is_held:
                self._committed.wait(min((each.lease.seconds_until_beat() for each in self._running), default=None))

    def _hold(self, running: ConsumerThread, *, look: bool) -> None:
        was_held = running.lease.is_held
        may_hold = was_held or not self._stopping.is_set()
        if may_hold and running.lease.hold(look=look) and not was_held:
            running.wake()


def create_state_tables(db: Store) -> None:
    """Creates the table of the consumers' state, if it does not exist."""
    Store(db.backend, state.design, table_names=ConsumerStore(db).table_name).create_tables()
