"""Waiting for commits of a database, or for a little while where it does not report them."""

import threading
from typing import Protocol

from partita.dynamodb.backend import Backend

POLL_SECONDS = 1.0  # over HTTP and on Amazon


class BackendWatch(Protocol):
    """Waits for commits."""

    def wait(self, seconds: float) -> bool: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


def commit_watch(backend: Backend, stopping: threading.Event) -> BackendWatch:
    """A watch of the backend's commits; of a backend that reports none, a wait that `stopping` ends."""
    watch: BackendWatch = getattr(backend, "watch_commits", lambda: _Poll(stopping))()
    return watch


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
