"""Finds a write-ahead log that does not belong to its database file.

A process that is killed leaves its log, and SQLite applies it when the file is opened next. If the file was replaced
meanwhile, by a backup or by another database, the log would be applied to pages that it was not written for.

The version number in page 1 of a file contains a stamp beside the format. It begins at random, and the first commit of
each log raises it by one, so the log says which state of which file it follows:

    file 700    log 701    follows it
    file 701    log 701    has been copied in part
    file 640    log 701    the file is an older copy
    file 12     log 701    the log is that of another file

A log without page 1 is accepted: that of a version without stamps, or one that another process restarted.

A log that is missing is found by its index, `-shm`, where that is still there. SQLite deletes the index first, and only
when all of the log is in the file. So an index of commits that are not in the file, without a log, means lost commits.

A process loses its locks of a file when it closes any descriptor of it, so neither the file nor the index may be opened
and closed beside SQLite. The file is read through SQLite, which keeps descriptors for as long as it has locks; the
descriptor of an index stays open. Nobody locks a log.
"""

import os
import secrets
import struct
from pathlib import Path
from typing import BinaryIO

import apsw

FORMAT_BITS = 0xFF
_SHIFT = 8
_STAMPS = 1 << 23

_PAGE_1 = struct.Struct(">60xI")  # the user version (sqlite.org/fileformat2.html)
_LOG_HEADER = struct.Struct(">8xI4xQ8x")  # page size, salts
_FRAME_HEADER = struct.Struct(">I4xQ8x")  # page number, salts
_INDEX = struct.Struct("=I12xI76xI")  # version, frames in the log, frames copied into the file (wal.c)
_INDEX_VERSION = 3007000
_ATTEMPTS = 5  # while another process writes
_indexes: dict[tuple[int, int], int] = {}  # descriptors of indexes without a log


def next_version(version: int, file_format: int) -> int:
    """The version number of a file with its next stamp.

    >>> next_version(7 << 8 | 2, 2) == 8 << 8 | 2
    True
    """
    stamp = (version >> _SHIFT) + 1 if version >> _SHIFT else secrets.randbelow(_STAMPS)
    return (stamp % _STAMPS or 1) << _SHIFT | file_format


def is_stale(path: str) -> bool:
    """Whether the log beside a file was written for another file, or for an earlier or later state of it."""
    for _ in range(_ATTEMPTS):
        found, stamps = _file_stamp(path), _log_stamps(path)
        if not found or not stamps or 0 in stamps:
            return False
        if (found - stamps[0] + 1) % _STAMPS <= (stamps[-1] - stamps[0] + 1) % _STAMPS:
            return False
        if (found, stamps) == (_file_stamp(path), _log_stamps(path)):
            return True
    return False  # other processes are writing, so the log is theirs


def is_missing(path: str) -> bool:
    """Whether the log beside a file was deleted while it had commits that are not in the file."""
    return not _has_log(path) and _has_commits(path) and not _has_log(path)  # not created meanwhile


def _has_log(path: str) -> bool:
    return Path(f"{path}-wal").exists()


def _has_commits(path: str) -> bool:
    """Whether the index of the log names commits that are not in the file."""
    try:
        head = os.pread(_open_index(f"{path}-shm"), _INDEX.size, 0)
    except OSError:
        return False
    if len(head) < _INDEX.size:
        return False
    version, frames, copied = _INDEX.unpack(head)
    return bool(version == _INDEX_VERSION and copied < frames)


def _open_index(path: str) -> int:
    """A descriptor of an index without a log, which is rare; it stays open (see above)."""
    found = Path(path).stat()
    identity = found.st_dev, found.st_ino
    if identity not in _indexes:
        _indexes[identity] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return _indexes[identity]


def _file_stamp(path: str) -> int | None:
    try:
        file = apsw.VFSFile("", path, [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    except apsw.Error:
        return None
    try:
        return _stamp(file.xRead(_PAGE_1.size, 0))
    except apsw.Error:
        return None
    finally:
        file.xClose()


def _log_stamps(path: str) -> list[int]:
    """The stamps of the frames of page 1 in the log."""
    try:
        with Path(f"{path}-wal").open("rb") as log:
            head = log.read(_LOG_HEADER.size)
            if len(head) < _LOG_HEADER.size:
                return []
            page_size, salts = _LOG_HEADER.unpack(head)
            return _stamps_in_frames(log, page_size, salts)
    except OSError:
        return []


def _stamps_in_frames(log: BinaryIO, page_size: int, salts: int) -> list[int]:
    stamps = []
    while len(head := log.read(_FRAME_HEADER.size)) == _FRAME_HEADER.size:
        page, frame_salts = _FRAME_HEADER.unpack(head)
        if frame_salts != salts:  # of an earlier log
            break
        begin = log.tell()
        if page == 1 and (stamp := _stamp(log.read(_PAGE_1.size))) is not None:
            stamps.append(stamp)
        log.seek(begin + page_size)
    return stamps


def _stamp(head: bytes) -> int | None:
    if len(head) < _PAGE_1.size:
        return None
    version: int = _PAGE_1.unpack(head)[0]
    return version >> _SHIFT
