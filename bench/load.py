"""The load generator: eight connections, one request under way on each, pre-built bytes out, replies counted.

It runs in a process of its own and takes orders from its standard input, one JSON line each; `Generator` is the other
end of that. A reply that is not a 200 ends the measurement with an error: a fast error must not count as speed.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import cast

import uvloop

from bench import vector_workload, workload

CONNECTIONS = 8
HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"


@dataclass(frozen=True)
class Order:
    """Measure `operation` on `port` for `seconds`, after `warm` seconds that do not count; `skip` requests first.

    With `paths` it is the GET of one after the other of them.
    """

    port: int
    operation: str
    seconds: float
    warm: float
    skip: int = 0
    paths: tuple[str, ...] = ()


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as the reply before it is complete."""

    def __init__(self, following: Callable[[], bytes | None], ended: Callable[[Exception | None], None]) -> None:
        self._following = following
        self._ended = ended
        self._partial = b""
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports write, but are not of asyncio's class.
        self._transport = cast("asyncio.WriteTransport", transport)
        self._send()

    def _send(self) -> None:
        following = self._following()
        if following is None:
            self._transport.close()
        else:
            self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        if self._missing:
            self._missing -= len(data)
        else:
            data = self._partial + data
            end = data.find(HEAD_END)
            if end < 0:
                self._partial = data
                return
            self._partial = b""
            self._missing = end + len(HEAD_END) + self._length(data, end) - len(data)
        if self._missing == 0:
            self._send()
        elif self._missing < 0:
            self._fail("more bytes than the Content-Length says")

    def _length(self, data: bytes, end: int) -> int:
        if not data.startswith(b"HTTP/1.1 200"):
            self._fail(data[:600].decode(errors="replace"))
        head = data[:end].lower()
        begin = head.find(LENGTH)
        if begin < 0:
            self._fail("a reply without Content-Length")
        return int(head[begin + len(LENGTH) :].split(b"\r\n", 1)[0])

    def _fail(self, why: str) -> None:
        error = RuntimeError(f"unexpected reply: {why}")
        self._ended(error)
        raise error

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended(exc)


@cache
def _requests(operation: str, port: int, paths: tuple[str, ...]) -> list[bytes]:
    if paths:
        return [f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: */*\r\n\r\n".encode() for path in paths]
    bodies = vector_workload.bodies if operation in vector_workload.OPERATIONS else workload.bodies
    return [workload.request(operation, body, port) for body in bodies(operation)]


async def measured(order: Order) -> float:
    """Requests a second."""
    loop = asyncio.get_running_loop()
    requests = _requests(order.operation, order.port, tuple(order.paths))
    at, sent = order.skip, 0
    stop = False

    def following() -> bytes | None:
        nonlocal at, sent
        if stop:
            return None
        at += 1
        sent += 1
        return requests[at % len(requests)]

    over: list[asyncio.Future[None]] = []

    def protocol() -> _Connection:
        future: asyncio.Future[None] = loop.create_future()
        over.append(future)

        def ended(error: Exception | None) -> None:
            if future.done():
                return
            if error is None and not stop:
                error = ConnectionError("the server closed a connection")
            future.set_exception(error) if error else future.set_result(None)

        return _Connection(following, ended)

    for _ in range(CONNECTIONS):
        await loop.create_connection(protocol, "127.0.0.1", order.port)
    await _or_failure(over, order.warm)
    begun, before = time.perf_counter(), sent
    await _or_failure(over, order.seconds)
    rate = (sent - before) / (time.perf_counter() - begun)
    stop = True
    await asyncio.wait_for(asyncio.gather(*over), 60)
    return rate


async def _or_failure(over: list[asyncio.Future[None]], seconds: float) -> None:
    """Lets the connections work for a while; the first that fails ends the wait with its error."""
    done, _ = await asyncio.wait(over, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for future in done:
        future.result()


class Generator:
    """The load generator's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def rate(self, order: Order) -> float:
        """Requests a second; a failed measurement is a `RuntimeError`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asdict(order)), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the load generator ended with exit code {self._process.wait(10)}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{order.operation} on port {order.port}: {answer['error']}")
        rate: float = answer["rate"]
        return rate


@contextlib.contextmanager
def generator() -> Iterator[Generator]:
    """A load generator that ends with the block."""
    command = [sys.executable, "-m", "bench.load"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Generator(process)
        finally:
            process.terminate()


def main() -> None:
    """Obeys the orders on standard input until it ends."""
    for line in sys.stdin:
        try:
            answer: dict[str, float | str] = {"rate": uvloop.run(measured(Order(**json.loads(line))))}
        except (OSError, RuntimeError, TimeoutError) as error:
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
