"""Folds the write-ahead log into the file in the background, so that no writer has to wait for it.

SQLite does this inside the commit that makes the log long enough, and that commit then waits for the whole file. Here
a commit only tells a thread, which copies what it can without stopping anybody. A log that grows faster than that is
cut short by the writer itself, at a length that is rarely reached.
"""

import threading
from contextlib import suppress

import apsw

PAGES = 2000  # of the log: from here on it is folded in
MOST_PAGES = 8000  # 64 MB: from here on the writer does it, so that the log cannot grow without bound


class Checkpointer:
    """The thread that folds one file's log in; it starts when it is first needed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._wake = threading.Event()
        self._is_stopping = False
        self._thread: threading.Thread | None = None

    def after_commit(self, connection: apsw.Connection, database: str, pages: int) -> int:
        """SQLite calls this after each commit with the length of the log."""
        if pages >= MOST_PAGES:
            with suppress(apsw.BusyError):  # a long read holds the log open; the next commit tries again
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        elif pages >= PAGES and not self._wake.is_set():
            self._wake.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="partita-checkpoint", daemon=True)
                self._thread.start()
        return apsw.SQLITE_OK

    def stop(self) -> None:
        self._is_stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        connection = apsw.Connection(self._path)
        try:
            while self._wake.wait():
                self._wake.clear()  # before the work, or a call that comes meanwhile would be lost
                if self._is_stopping:
                    return
                with suppress(apsw.BusyError):  # another process is at it
                    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        finally:
            connection.close(True)
