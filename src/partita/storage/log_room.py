"""Room in the write-ahead log: zeros behind its end, so that commits that survive power loss do not make it longer.

A commit waits until the disk has its part of the log. Where that part is behind the end of the file, the file system
writes the new length, too, with its own journal: such a commit takes about twice the time. A log that has restarted is
as long as before, so only the first 64 MB pay. This spares them most of it:

    log   frames of commits | zeros, half a megabyte or more | end of the file

Zeros are not a valid frame. SQLite stops reading the log at the first invalid frame, after a crash too, as it does
where frames of an earlier log follow. The zeros are written by the holder of SQLite's write lock, so nobody else is
writing frames there.
"""

import os
from contextlib import suppress

from partita.storage.checkpoints import CHECKPOINT_PAGES

_HEADER, _FRAME_HEADER = 32, 24  # bytes (sqlite.org/fileformat2.html)
_SHORT = 16  # pages; a log that is no longer gets no zeros
_ROOM = 512 * 1024  # bytes; most commits need less
_STEP = 1024 * 1024


class LogRoom:
    """The room in the log of one file, whose pages have `page_size` bytes."""

    def __init__(self, path: str, page_size: int) -> None:
        self._path = path
        self._page_bytes = page_size + _FRAME_HEADER
        self._most = bytes_of_log(CHECKPOINT_PAGES, page_size)  # then it restarts

    def ensure(self, identity: tuple[int, int, int], pages: int) -> None:
        """Adds zeros to a log of these pages if it has little room; `identity` is its device, number and size.

        The caller holds the write lock. Where the disk is full, nothing is lost.
        """
        device, number, size = identity
        if pages <= _SHORT or size >= self._most or size - _HEADER - pages * self._page_bytes >= _ROOM:
            return
        with suppress(OSError):
            log = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                found = os.fstat(log)
                if (found.st_dev, found.st_ino) == (device, number):
                    os.write(log, bytes(_STEP))
            finally:
                os.close(log)


def bytes_of_log(pages: int, page_size: int) -> int:
    """The size of a log with so many pages.

    >>> bytes_of_log(2, 8192)
    16464
    """
    return _HEADER + pages * (_FRAME_HEADER + page_size) if pages else 0
