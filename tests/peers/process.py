"""Runs a server in a process of its own: starts it on a free port, waits until it answers, stops it by its id."""

import contextlib
import functools
import itertools
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.peers.http import call
from tests.timing import PATIENCE

Answers = Callable[[str], bool]

PORTS = range(20_000, 32_000)  # below those that the system itself gives to clients and servers (ip_local_port_range)
PORTS_EACH = 100


@dataclass(frozen=True)
class Running:
    """A server that answers at `endpoint`; `seconds` is the time from its start to its first answer."""

    endpoint: str
    pid: int
    seconds: float


def free_port() -> int:
    """Returns a loopback port that is free, and that no other test process takes."""
    return next(port for port in _ports() if _is_free(port))


@functools.cache
def _ports() -> Iterator[int]:
    """The ports of this process, again and again. A Unix socket with a name of its own keeps others from them."""
    for start in range(PORTS.start, PORTS.stop, PORTS_EACH):
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0partita tests, ports {start}")
        except OSError:
            reservation.close()
        else:
            reservation.detach()  # open until the process ends
            return itertools.cycle(range(start, start + PORTS_EACH))
    raise RuntimeError("every port for tests is reserved by other processes")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections do not count
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def lists_tables(endpoint: str) -> bool:
    """Whether `endpoint` answers DynamoDB's protocol."""
    try:
        return call(endpoint, "ListTables", {}).status == 200
    except OSError:
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits for something that other processes bring about; raises `TimeoutError` when it does not come."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("this does not come")
        time.sleep(0.001)  # leaves the processor to them


@contextlib.contextmanager
def started(
    command: Callable[[int], Sequence[str | Path]],
    *,
    answers: Answers = lists_tables,
    environment: dict[str, str] | None = None,
    within: float = PATIENCE,
) -> Iterator[Running]:
    """Runs `command(port)`: the block is entered when the server answers, and the server stops when it is left.

    Raises `RuntimeError` with the server's output when it exits, or does not answer for `within` seconds.
    """
    port = free_port()
    with tempfile.TemporaryFile() as output:
        begun = time.monotonic()
        process = subprocess.Popen(
            [str(part) for part in command(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | (environment or {}),
        )
        try:
            endpoint = f"http://127.0.0.1:{port}"
            if not _answered(process, port, lambda: answers(endpoint), begun + within):
                output.seek(0)
                said = output.read().decode(errors="replace")[-4000:]
                raise RuntimeError(f"{process.args!r} did not answer (exit code {process.poll()}); it printed:\n{said}")
            yield Running(endpoint, process.pid, time.monotonic() - begun)
        finally:
            _end(process)


def _answered(process: subprocess.Popen[bytes], port: int, answers: Callable[[], bool], deadline: float) -> bool:
    while time.monotonic() < deadline:
        if _listening(port):
            with contextlib.suppress(OSError):
                if answers():
                    return True
        if _ended(process, within=0.01):
            return False
    return False


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _ended(process: subprocess.Popen[bytes], *, within: float) -> bool:
    try:
        process.wait(within)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    if not _ended(process, within=PATIENCE):
        process.kill()
        process.wait()
