"""Checkpoints: copies the write-ahead log into the file, most of it in the background, so that no commit waits long.

SQLite itself checkpoints inside the commit that makes the log long enough, and that commit waits for the whole file.
Here a thread copies the log while commits make it longer. The log restarts only when all of it has been copied, which
the thread alone never achieves while commits go on. So the next commit copies the rest, which is little:

    commits   . . . . . . . . . . . .|rest|. . . .
    log       grows ............... 8000    restarts
    thread                  [ copies most ]
"""

import threading
from contextlib import suppress

import apsw

CHECKPOINT_PAGES = 8000  # 64 MB of log; pages that many commits change are copied once
MAX_PAGES = 24_000  # at this length a commit waits for the thread
WAIT_SECONDS = 10.0


class Checkpointer:
    """The checkpoints of one file; its thread starts when it is first needed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._wake = threading.Event()
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._is_stopping = False
        self._has_copied = False
        self.pages = 0  # of the log, after the last commit
        self._from = CHECKPOINT_PAGES
        self._thread: threading.Thread | None = None
        self.begins_log = True
        """Whether the next commit may be the first one of a log; SQLite does not say so before."""

    def after_commit(self, connection: apsw.Connection, database: str, pages: int) -> int:
        """SQLite calls this after each commit, with the length of the log."""
        if pages < self.pages:  # it has restarted
            self._from, self._has_copied = CHECKPOINT_PAGES, False
        self.pages = pages
        self.begins_log = False
        is_long = pages >= self._from
        if self._has_copied or (is_long and pages >= MAX_PAGES):
            self._is_idle.wait(WAIT_SECONDS)
            self._has_copied = False
            self._from = pages + CHECKPOINT_PAGES  # a long read may keep the log from restarting
            length, copied = _copy(connection)
            self.begins_log = length == copied
        elif is_long and self._is_idle.is_set():
            self._begin()
        return apsw.SQLITE_OK  # and no exception: the commit is done

    def stop(self) -> None:
        self._is_stopping = True
        self._wake.set()
        thread = self._thread
        if thread is not None and thread.is_alive():  # an interrupt may come before its start
            thread.join()

    def _begin(self) -> None:
        self._is_idle.clear()  # before the thread starts, which may end at once
        self._wake.set()
        if self._thread is not None and self._thread.is_alive():
            return
        self._thread = threading.Thread(target=self._work, name="partita-checkpoint", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # no thread can be started; a commit copies the log when it is long
            self._is_idle.set()

    def _work(self) -> None:
        """Copies the log when asked to; an error leaves the work to the next time.

        Errors of SQLite do not end the thread. After any other, the next checkpoint starts another thread.
        """
        connection: apsw.Connection | None = None
        try:
            while self._wake.wait():
                self._wake.clear()  # before the work, or a wake-up during it would be lost
                if self._is_stopping:
                    break
                try:
                    connection = connection or self._open()
                    _copy(connection)
                except apsw.Error:
                    connection = None
                self._has_copied = True
                self._is_idle.set()
        finally:
            if self._thread is threading.current_thread():
                self._thread = None  # before it counts as idle: a thread that is ending takes no more work
            self._is_idle.set()
            if connection is not None:
                with suppress(apsw.Error):
                    connection.close(True)

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(self._path)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # opens the log
        return connection


def _copy(connection: apsw.Connection) -> tuple[int, int]:
    """Copies pages that no reader needs in the log, without waiting; returns the pages in the log, and those copied."""
    try:
        return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error:  # another process does it, or the disk fails, which the next commit reports
        return 0, 0
