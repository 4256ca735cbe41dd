"""Runs coroutines for code that is not async."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class CoroutineRunner:
    """An event loop of its own. Where the thread of its caller runs a loop already, it works in another thread.

    threads   How many threads `asyncio.to_thread` has.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads
        self._runner: asyncio.Runner | None = None
        self._beside: ThreadPoolExecutor | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine to its end and returns its result."""
        return self._call(lambda: self._opened().run(coroutine))

    def close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            self._call(runner.close)
        if self._beside is not None:
            self._beside.shutdown()

    def __enter__(self) -> "CoroutineRunner":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _opened(self) -> asyncio.Runner:
        if self._runner is None:
            self._runner = asyncio.Runner()
            if self._threads is not None:
                executor = ThreadPoolExecutor(self._threads, thread_name_prefix="partita-handler")
                self._runner.get_loop().set_default_executor(executor)
        return self._runner

    def _call(self, function: Callable[[], T]) -> T:
        """Calls a function where no event loop runs."""
        with suppress(RuntimeError):  # there is none in this thread
            asyncio.get_running_loop()
            self._beside = self._beside or ThreadPoolExecutor(1, thread_name_prefix="partita-coroutines")
        return function() if self._beside is None else self._beside.submit(function).result()
