"""Waiting for changes of tables, or for a little while where a database does not report them."""

import threading
from collections.abc import Sequence
from typing import Protocol

from partita.dynamodb.backend import Backend

POLL_SECONDS = 1.0  # over HTTP and on Amazon


class BackendWatch(Protocol):
    """Waits for changes."""

    def wait(self, seconds: float) -> bool: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


def table_watch(backend: Backend, tables: Sequence[str], stopping: threading.Event) -> BackendWatch:
    """A watch of the changes in tables; of a backend that reports none, a wait that `stopping` ends."""
    watch: BackendWatch = getattr(backend, "watch_tables", lambda _: _Poll(stopping))(tables)
    return watch


class _Poll:
    """The watch of a database that does not report changes."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping

    def wait(self, seconds: float) -> bool:
        self._stopping.wait(min(seconds, POLL_SECONDS))
        return True

    def wake(self) -> None:
        """Does nothing: the stop itself ends the wait."""

    def close(self) -> None:
        """Does nothing: there is nothing open."""
