"""Worker processes: several servers accept connections from one listening socket."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from partita.errors import ConfigurationError

STOP_SECONDS = 15.0  # for a worker to answer the requests in progress
MIN_SECONDS = 1.0  # a worker that ends sooner is not started again


def run_workers(count: int, work: Callable[..., None], *arguments: Any) -> None:
    """Runs `work` in processes of their own until this one is interrupted or terminated; then stops them.

    A worker that ends by itself is replaced. One that ends at once cannot work, and stops all with a
    `ConfigurationError`. `work` and its arguments are pickled; a socket among them is shared.
    """
    context = multiprocessing.get_context("spawn")
    interrupted = _on_interrupt()

    def start() -> tuple[SpawnProcess, float]:
        process = context.Process(target=_work, args=(work, *arguments))
        process.start()
        return process, time.monotonic()

    workers: list[tuple[SpawnProcess, float]] = []
    try:
        workers.extend(start() for _ in range(count))
        while interrupted not in wait([interrupted, *(process.sentinel for process, _ in workers)]):
            for at, (process, started) in enumerate(workers):
                if not process.is_alive():
                    if time.monotonic() - started < MIN_SECONDS:
                        raise ConfigurationError(f"a worker process ended at once, with exit code {process.exitcode}")
                    workers[at] = start()
    finally:
        _stop([process for process, _ in workers])


def _on_interrupt() -> Connection:
    """A connection that becomes readable with SIGINT or SIGTERM.

    An exception might come while a worker is being started: nothing would stop that one.
    """
    reader, writer = multiprocessing.Pipe(duplex=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: writer.send_bytes(b"stop"))
    return reader


def _stop(processes: list[SpawnProcess]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + STOP_SECONDS
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        if process.is_alive():
            process.kill()


def _work(work: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(KeyboardInterrupt):
        work(*arguments)


def _end_with_parent() -> None:
    """Stops this worker when the process that has started it is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
