"""One gzip member from blocks that are compressed side by side, in threads.

    header | block 1, deflated | block 2, deflated | ... | empty last block | checksum, length

Each block is compressed on its own and ends at a byte (a sync flush), so the compressed blocks can be joined, as `pigz`
joins them. The result is one ordinary member, which every reader of gzip understands. With `isal` (Intel's ISA-L, extra
`data`) a block takes a seventh of the time.

A thread compresses one block while the caller reads the next. The two meet after each block, and a thread makes only
one call for it, without the interpreter's lock: while a thread waits for this lock, each row takes its reader twice the
time, since SQLite's functions release and take it for each.
"""

import os
import struct
import sys
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from types import TracebackType
from typing import Any

from partita.crc import crc32

NICE = 5  # of the threads that compress: the thread that reads is the slower one
WAITING = 2  # blocks, so that neither waits when the other takes longer for one block
LEVEL = 1  # of zlib: 6 takes more than twice the time for a tenth less; of isal: all take about as long
_HEADER = struct.pack("<2sBBLBB", b"\x1f\x8b", 8, 0, 0, 4, 255)  # deflate, no name, no time, fastest, any system
_EMPTY_LAST_BLOCK = b"\x03\x00"
_RAW = -15  # window bits: no header of zlib's own


def _module() -> Any:
    try:
        return import_module("isal.isal_zlib")
    except ImportError:
        return zlib


def give_way() -> None:
    """Lets other threads go first, where a thread has a priority of its own: they read what this one waits for."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), NICE))


class GzipBlocks:
    """Compresses blocks; a context manager, which ends the threads."""

    def __init__(self) -> None:
        self._zlib = _module()
        self._count = 1 if self._zlib is not zlib else min(2, os.cpu_count() or 1)  # zlib is slower than most readers
        self._threads = ThreadPoolExecutor(self._count, "partita-gzip", give_way)
        self._running: deque[tuple[Any, Future[bytes]]] = deque()  # streams, and what they begin with
        self._compressed: list[bytes] = []
        self._checksum = self._length = 0

    def __enter__(self) -> "GzipBlocks":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)

    def add(self, block: bytes) -> None:
        """Adds the next block; waits for a thread that is free."""
        self._checksum = crc32(block, self._checksum)
        self._length += len(block)
        if len(self._running) == self._count + WAITING:
            self._collect()
        stream = self._zlib.compressobj(LEVEL, zlib.DEFLATED, _RAW)
        self._running.append((stream, self._threads.submit(stream.compress, block)))

    def _collect(self) -> None:
        """Waits for the oldest running block."""
        stream, begun = self._running.popleft()
        self._compressed += (begun.result(), stream.flush(zlib.Z_SYNC_FLUSH))

    def content(self) -> bytes:
        """The whole member."""
        while self._running:
            self._collect()
        trailer = struct.pack("<LL", self._checksum, self._length & 0xFFFFFFFF)
        return b"".join([_HEADER, *self._compressed, _EMPTY_LAST_BLOCK, trailer])
