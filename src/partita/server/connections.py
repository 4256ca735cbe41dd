"""Bounds on connections: how many a server keeps, how much memory they may hold together, how long each may wait.

The bounds hold before anyone is authenticated. When a bound is reached, the connection goes whose client does least:
one that has not sent a request yet, or else the one that has waited longest for its client.
"""

import select
import socket
import sys
from asyncio import Transport
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from uvicorn.protocols.http.flow_control import FlowControl

MAX_CONNECTIONS = 1000
MAX_BUFFERED = 20 * 1024 * 1024  # bytes of unread replies and of requests, in all connections together
TRIM_EVERY = 2 * MAX_BUFFERED  # bytes of connections that were closed
LARGE = 64 * 1024  # bytes; connections that hold less are not counted

M_MMAP_THRESHOLD = -3  # of mallopt(3)
LARGE_BLOCK = 128 * 1024
FILES_BESIDE = 2048  # open files beside the connections: those of the engine, and connections not yet accepted


class BoundedConnection(Protocol):
    """A connection as its bounds see it."""

    @property
    def waiting_since(self) -> float | None:
        """Since when it has waited for its client; None while the client waits for an answer."""

    @property
    def last_active(self) -> float:
        """When something was last sent or received."""

    def held_bytes(self) -> int:
        """The bytes that it holds: of requests not yet answered, and of replies not yet read."""

    def abort(self) -> None:
        """Closes it at once; what is not sent is lost."""


class Connections:
    """The open connections of a server."""

    def __init__(
        self,
        maximum: int = MAX_CONNECTIONS,
        max_buffered: int = MAX_BUFFERED,
        trim_memory: Callable[[], None] = lambda: None,
    ) -> None:
        """`trim_memory` is called now and then while connections are closed that hold much."""
        self._maximum = maximum
        self._max_buffered = max_buffered
        self._trim_memory = trim_memory
        self._released = 0  # bytes since memory was last trimmed
        self._new: dict[BoundedConnection, None] = {}  # without a request yet, oldest first
        self._used: dict[BoundedConnection, None] = {}
        self._large: set[BoundedConnection] = set()

    def add(self, connection: BoundedConnection) -> None:
        """Adds a new connection; closes another where there are too many."""
        self._new[connection] = None
        if len(self._new) + len(self._used) > self._maximum:
            victim = next(iter(self._new)) if len(self._new) > 1 else _least_active(self._used)
            self.remove(victim)
            victim.abort()

    def on_request(self, connection: BoundedConnection) -> None:
        """Notes the first request of a connection."""
        if self._new.pop(connection, self) is None:
            self._used[connection] = None

    def remove(self, connection: BoundedConnection) -> None:
        self._new.pop(connection, None)
        self._used.pop(connection, None)
        self._large.discard(connection)

    def on_growth(self, connection: BoundedConnection, *, is_reply: bool = False) -> None:
        """Counts a connection that holds a large amount; closes others, or else itself, where all hold too much.

        With `is_reply` it does not close itself: one reply alone may be larger than all are together.
        """
        self._large.add(connection)
        held = {each: each.held_bytes() for each in self._large}
        self._large = {each for each, size in held.items() if size >= LARGE}
        excess = sum(held.values()) - self._max_buffered
        while excess > 0 and self._large:
            victim = _longest_waiting(self._large - {connection})
            if victim is None and is_reply:
                break
            victim = victim or connection
            excess -= held[victim]
            self._released += held[victim]
            self.remove(victim)
            victim.abort()
        if self._released > TRIM_EVERY:
            self._released = 0
            self._trim_memory()


def _longest_waiting(connections: "dict[BoundedConnection, None] | set[BoundedConnection]") -> BoundedConnection | None:
    """The connection that has waited longest for its client, or None where all are being answered."""
    waiting = [(since, each) for each in connections if (since := each.waiting_since) is not None]
    return min(waiting, key=lambda pair: pair[0])[1] if waiting else None


def _least_active(connections: "dict[BoundedConnection, None]") -> BoundedConnection:
    """The connection that has waited longest for its client, or else for its answer."""
    return _longest_waiting(connections) or min(connections, key=lambda each: each.last_active)


class ReadControl(FlowControl):
    """uvicorn's flow control of a connection, which resumes neither a connection on hold nor one that is closing."""

    on_hold = False

    def pause_reading(self) -> None:
        if not self._transport.is_closing():
            super().pause_reading()

    def resume_reading(self) -> None:
        if not self.on_hold and not self._transport.is_closing():
            super().resume_reading()

    def hold(self) -> None:
        """Stops reading until `release`."""
        self.on_hold = True
        self.pause_reading()

    def release(self) -> None:
        self.on_hold = False
        self.resume_reading()


class MeasuredTransport:
    """The transport of a connection as uvicorn's cycle uses it; `on_write` gets the size of each write before it.

    A transport counts the bytes that are not sent yet. A write of which one byte is not sent is in memory whole.
    """

    def __init__(self, transport: Transport, on_write: Callable[[int], None]) -> None:
        self._transport = transport
        self._on_write = on_write
        self.close = transport.close
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        self._on_write(len(data))
        self._transport.write(data)


def is_reset(connection: socket.socket | None) -> bool:
    """Whether the other side has reset a connection, by closing it before it has read all."""
    if connection is None or connection.fileno() < 0 or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(connection.fileno(), 0)  # errors and resets are always reported
    return bool(poll.poll(0))


def return_freed_memory() -> None:
    """Has the C library return large blocks to the system when they are freed.

    glibc keeps blocks of up to 32 MB once it has seen such: a burst of large requests would stay in memory for ever.
    """
    mallopt = _c_function("mallopt")
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)


def trim_memory() -> None:
    """Returns freed memory between smaller blocks to the system; takes milliseconds."""
    malloc_trim = _c_function("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def _c_function(name: str) -> Any:
    """A function of the C library that only Linux has, with glibc."""
    import ctypes

    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def raise_file_limit() -> None:
    """Lets this process open as many files as its connections need, where the system allows it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
