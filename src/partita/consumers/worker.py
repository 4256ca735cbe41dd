"""The worker: runs consumers, woken by changes of their tables.

changes ──> watch ──wakes──> a thread for each consumer ──> pages of the streams, read once for all of them
                                ^
            leases ──starts─────┘     renewed while handlers run
"""

import logging
import threading
from collections.abc import Sequence

from partita.consumers import state
from partita.consumers.backend_watch import POLL_SECONDS, BackendWatch, table_watch
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
REPORT_SECONDS = 5.0  # that a handler may take to end, until it is reported

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
        self._tables = sorted({db.table_name(name) for each in consumers for name in each.tables})
        self._watch: BackendWatch | None = None
        self._stopping = threading.Event()  # no more changes are begun
        self._stopped = threading.Event()  # all that were begun have ended
        self._changes = threading.Thread(target=self._watch_changes, name="partita-changes", daemon=True)
        self._leases = threading.Thread(target=self._keep_leases, name="partita-leases", daemon=True)

    def start(self) -> None:
        create_state_tables(self._db)
        for each in self._running:
            each.start()
        self._leases.start()
        self._changes.start()

    def close(self) -> None:
        """Finishes the changes at hand, and gives the consumers to others."""
        self.monitor.close()
        self._stopping.set()
        if self._watch is not None:
            self._watch.wake()
        for each in self._running:
            each.stop()
        for each in self._running:
            if not each.join(REPORT_SECONDS):
                _log.warning("consumer %s: waiting for a handler that has not ended", each.name)
                each.join()
        self._stopped.set()
        for thread in (self._leases, self._changes):
            if thread.is_alive():
                thread.join()
        for each in self._running:
            each.release()

    def __enter__(self) -> "Worker":
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _watch_changes(self) -> None:
        """Wakes the consumers after each change of their tables."""
        while not self._stopping.is_set():
            try:
                self._wait_for_changes()
            except Exception:  # noqa: BLE001 - the thread must not end
                _log.exception("changes cannot be watched; it is tried again")
                self._stopping.wait(POLL_SECONDS)

    def _wait_for_changes(self) -> None:
        watch = table_watch(self._db.backend, self._tables, self._stopping)
        self._watch = watch
        try:
            self._wake_all()  # for what was written before the watch began
            while not self._stopping.is_set():
                if watch.wait(BEAT_SECONDS):
                    self._wake_all()
        finally:
            self._watch = None
            watch.close()

    def _wake_all(self) -> None:
        self._pages.renew()
        for each in self._running:
            each.wake()

    def _keep_leases(self) -> None:
        """Takes and renews the leases, in a thread of its own: a handler may take longer than a lease."""
        failures, version = 0, None
        is_local = hasattr(self._db.backend, "version")
        while not self._stopped.is_set():
            try:
                before, version = version, self._version()
                look = before != version
                has_renewed = renew(self._state, [each.lease for each in self._running])
                for each in self._running:
                    self._hold(each, look=look)
                if has_renewed and not look:
                    version = self._version()  # the commit of a beat is no reason to look
                failures = 0
            except Exception as error:  # noqa: BLE001 - the thread must not end
                failures += 1
                _log.warning("leases of consumers cannot be renewed, and are tried again: %s", error)
            self.monitor.start()  # once it has looked at all leases, which takes long on a busy machine
            is_held = all(each.lease.is_held for each in self._running)
            pause = HELD_LOOK_SECONDS if is_held else LOOK_SECONDS
            if is_held and not is_local:
                pause = max(pause, min((each.lease.seconds_until_beat() for each in self._running), default=pause))
            self._stopped.wait(min(LONGEST_PAUSE, pause * 2**failures))

    def _version(self) -> int | None:
        """A number that changes with every commit; None of a database that has none."""
        version: int | None = getattr(self._db.backend, "version", lambda: None)()
        return version

    def _hold(self, running: ConsumerThread, *, look: bool) -> None:
        was_held = running.lease.is_held
        may_hold = was_held or not self._stopping.is_set()
        if may_hold and running.lease.hold(look=look) and (look or not was_held):
            running.look_again()


def create_state_tables(db: Store) -> None:
    """Creates the table of the consumers' state, if it does not exist."""
    Store(db.backend, state.design, table_names=ConsumerStore(db).table_name).create_tables()
