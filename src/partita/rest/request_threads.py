"""The threads of requests that wait: reads have some of their own, so that none waits until writes are durable.

A write holds its thread until the disk has its commit, and asyncio's own pool has six threads on two cores: while the
disk is slow, all of them hold writes. The more writes wait at a time, the more share a commit.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

READ_THREADS = 8
WRITE_THREADS = 16

P = ParamSpec("P")
R = TypeVar("R")


class RequestThreads:
    """Runs functions in threads, in the context of their caller; the threads start when they are needed."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._reads = ThreadPoolExecutor(READ_THREADS, "partita-reads")
        self._writes = ThreadPoolExecutor(WRITE_THREADS, "partita-writes")

    async def read(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of a function that only reads."""
        return await _run(self._reads, partial(function, *args, **kwargs))

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The result of a function that may write."""
        return await _run(self._writes, partial(function, *args, **kwargs))

    def close(self) -> None:
        """Waits for what is running; new threads start with the next request."""
        reads, writes = self._reads, self._writes
        self._start()
        reads.shutdown()
        writes.shutdown()


async def _run(threads: ThreadPoolExecutor, function: Callable[[], R]) -> R:
    return await asyncio.get_running_loop().run_in_executor(threads, copy_context().run, function)
