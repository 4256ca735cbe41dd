"""Waiting for commits of any thread or process, without asking again and again.

On Linux, the kernel reports writes to the log of a database file (inotify). It does so before the commit is visible, so
the version is looked at again for a little while. Elsewhere, the version is looked at every 20 ms.
"""

import os
import select
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

POLL_SECONDS = 0.02
_VISIBLE_SECONDS = 0.05  # after a write to the log, until its commit must be visible
_LOOK_SECONDS = 0.0005
_IN_MODIFY, _IN_CREATE, _IN_CLOEXEC, _IN_NONBLOCK = 0x2, 0x100, 0o2000000, 0o4000
_EVENT = struct.Struct("iIII")


class CommitWatch:
    """Waits until the version of a storage has changed; for one thread. `wake` ends the wait from another."""

    def __init__(self, version: Callable[[], int], path: str | None = None) -> None:
        self._version = version
        self._last = version()
        self._wakes, self._wake = os.pipe()
        os.set_blocking(self._wakes, False)
        os.set_blocking(self._wake, False)
        self._is_closed = False
        self._closing = threading.Lock()  # a closed descriptor's number may be another file's
        self._log = None if path is None else f"{path}-wal".encode()
        self._inotify = None if path is None else _watch_folder(os.path.dirname(os.path.abspath(path)))  # noqa: PTH100, PTH120

    def wait(self, seconds: float) -> bool:
        """Waits for a commit, at most some seconds; whether there was one since the last call."""
        deadline = time.monotonic() + seconds
        while not self._has_changed():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            watched = [self._wakes] if self._inotify is None else [self._wakes, self._inotify]
            ready = select.select(watched, [], [], min(left, POLL_SECONDS) if self._inotify is None else left)[0]
            if self._wakes in ready:
                _drain(self._wakes)
                return self._has_changed()
            if self._inotify in ready and self._log_was_written():
                self._look_again()
        return True

    def wake(self) -> None:
        """Ends the wait of another thread."""
        with self._closing, suppress(BlockingIOError):
            if not self._is_closed:
                os.write(self._wake, b"x")

    def close(self) -> None:
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
            for each in (self._wakes, self._wake, self._inotify):
                if each is not None:
                    os.close(each)

    def _has_changed(self) -> bool:
        before, self._last = self._last, self._version()
        return before != self._last

    def _look_again(self) -> None:
        """Looks at the version until it changes, but not for long: the write may have been rolled back."""
        until = time.monotonic() + _VISIBLE_SECONDS
        while time.monotonic() < until and self._version() == self._last:
            time.sleep(_LOOK_SECONDS)

    def _log_was_written(self) -> bool:
        assert self._inotify is not None
        found, at, name = False, 0, os.path.basename(self._log or b"")  # noqa: PTH119 - bytes
        events = _drain(self._inotify)
        while at < len(events):
            _, _, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size
            found = found or events[at : at + length].rstrip(b"\0") == name
            at += length
        return found


class MemoryWatch:
    """Waits until a storage in memory has another version."""

    def __init__(self, version: Callable[[], int], committed: threading.Condition) -> None:
        self._version = version
        self._committed = committed
        self._last = version()
        self._is_woken = False

    def wait(self, seconds: float) -> bool:
        """Waits for a commit, at most some seconds; whether there was one since the last call."""
        with self._committed:
            self._committed.wait_for(lambda: self._is_woken or self._version() != self._last, seconds)
            self._is_woken = False
            before, self._last = self._last, self._version()
        return before != self._last

    def wake(self) -> None:
        """Ends the wait of another thread."""
        with self._committed:
            self._is_woken = True
            self._committed.notify_all()

    def close(self) -> None:
        """Does nothing: there is nothing open."""


def _watch_folder(folder: str) -> int | None:
    """A descriptor of inotify events of the files in a folder; None where there are none."""
    if sys.platform != "linux" or not os.path.isdir(folder):  # noqa: PTH112 - pathlib takes time to import
        return None
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.inotify_init1(_IN_CLOEXEC | _IN_NONBLOCK)
    if descriptor < 0:
        return None
    if libc.inotify_add_watch(descriptor, os.fsencode(folder), _IN_MODIFY | _IN_CREATE) < 0:
        os.close(descriptor)
        return None
    return descriptor


def _drain(descriptor: int) -> bytes:
    found = b""
    with suppress(BlockingIOError):
        while piece := os.read(descriptor, 65536):
            found += piece
    return found
