"""Clients that mean harm, each in a process of its own so that it does not slow down the one that measures.

    python -m tests.server.attacks NAME PORT SECONDS

None of them signs a request or reads more than it must. An attack goes on for some seconds, connecting again where the
server has closed a connection.
"""

import gzip
import json
import resource
import select
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tests.timing import PATIENCE

TARGET = b"X-Amz-Target: DynamoDB_20120810."
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
TABLE = "attacked"
BLOCK = 256 * 1024


def _request(operation: bytes, body: object, *lines: bytes) -> bytes:
    text = json.dumps(body).encode()
    headers = b"".join(line + b"\r\n" for line in (TARGET + operation, *lines, b"Content-Length: %d" % len(text)))
    return HEAD + headers + b"\r\n" + text


LIST = _request(b"ListTables", {})
SCAN = _request(b"Scan", {"TableName": TABLE})
SCAN_GZIP = _request(b"Scan", {"TableName": TABLE}, b"Accept-Encoding: gzip")


class Client:
    """A connection that sends `start`, then `more` again and again, and never reads; it reconnects when closed."""

    def __init__(self, port: int, start: bytes, more: bytes = b"") -> None:
        self._port = port
        self._start = start
        self._more = more
        self._connect()

    def _connect(self) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", self._port))
        self.socket.setblocking(False)
        self._rest = memoryview(self._start)

    def fileno(self) -> int:
        return self.socket.fileno()

    @property
    def has_more(self) -> bool:
        return bool(self._rest) or bool(self._more)

    def send(self) -> None:
        if not self._rest:
            self._rest = memoryview(self._more)
        try:
            self._rest = self._rest[self.socket.send(self._rest) :]
        except BlockingIOError:
            return
        except OSError:
            self.socket.close()
            self._connect()


def _flood(port: int, seconds: float, count: int, start: bytes, more: bytes = b"") -> None:
    print("begins", flush=True)
    deadline = time.monotonic() + seconds
    clients = [Client(port, start, more) for _ in range(count)]
    while time.monotonic() < deadline:
        sending = [each for each in clients if each.has_more]
        poll = select.poll()
        by_number = {each.fileno(): each for each in sending}
        for number in by_number:
            poll.register(number, select.POLLOUT | select.POLLERR | select.POLLHUP)
        for number, _ in poll.poll(100):
            by_number[number].send()
    for each in clients:
        each.socket.close()


def _headers(port: int, seconds: float) -> None:
    lines = b"".join(b"X-%06d: %s\r\n" % (number, b"x" * 50) for number in range(4000))
    _flood(port, seconds, 4, HEAD, lines)


def _unread_scans(port: int, seconds: float) -> None:
    print("begins", flush=True)
    deadline = time.monotonic() + seconds
    clients = [Client(port, (SCAN_GZIP if number % 2 else SCAN) * 8) for number in range(200)]
    for each in clients:
        each.send()
    time.sleep(max(0.0, deadline - time.monotonic()))


def _idle(port: int, seconds: float) -> None:
    print("begins", flush=True)
    deadline = time.monotonic() + seconds
    held = []
    while time.monotonic() < deadline:
        with suppress(OSError):
            held.append(socket.create_connection(("127.0.0.1", port), 5))
        if len(held) > 1500:
            held.pop(0).close()


def _slow(port: int, seconds: float) -> None:
    """A byte of a request now and then, on many connections."""
    print("begins", flush=True)
    deadline = time.monotonic() + seconds
    clients = [Client(port, b"P") for _ in range(500)]
    text = SCAN[1:-1]
    for at in range(len(text)):
        for each in clients:
            with suppress(OSError):
                each.socket.send(text[at : at + 1])
        if time.monotonic() > deadline:
            return


def _chunked(extra: bytes) -> bytes:
    return HEAD + TARGET + b"ListTables\r\nTransfer-Encoding: chunked\r\n\r\n" + extra


def _bombs(port: int, seconds: float) -> None:
    layer = gzip.compress(b" " * 300_000_000, 1)
    head = HEAD + TARGET + b"ListTables\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(layer)
    _flood(port, seconds, 20, b"", head + layer)


def _posted(operation: bytes, body: bytes, *lines: bytes) -> bytes:
    headers = b"".join(line + b"\r\n" for line in (TARGET + operation, *lines, b"Content-Length: %d" % len(body)))
    return HEAD + headers + b"\r\n" + body


def _nested(member: bytes, size: int) -> bytes:
    """A PutItem with a list of as many members as fit into a body of this size."""
    start, end = b'{"TableName":"attacked","Item":{"pk":{"S":"nested"},"x":{"L":[', b"]}}}"
    count = (size - len(start) - len(end)) // (len(member) + 1)
    return start + b",".join([member] * count) + end


def _nested_values(port: int, seconds: float) -> None:
    """The most values that a body can have, the most that are decoded, and the most that an item can have."""
    bodies = [
        _nested(b'{"L":[]}', 16_000_000),
        _nested(b"{}", 16_000_000),
        _nested(b'{"L":[]}', 2_200_000),
        _nested(b'{"NULL":true}', 2_860_000),
        b"[" * 16_000_000,
    ]
    _flood(port, seconds, 20, b"", b"".join(_posted(b"PutItem", body) for body in bodies))


def _large_items(port: int, seconds: float) -> None:
    _flood(port, seconds, 20, b"", _posted(b"PutItem", _nested(b'{"NULL":true}', 2_860_000)))


def _stacked_bombs(port: int, seconds: float) -> None:
    body, names = b"[" * 16_000_000, (b"gzip", b"deflate", b"gzip", b"deflate")
    for name in names:
        body = gzip.compress(body, 9) if name == b"gzip" else zlib.compress(body, 9)
    _flood(port, seconds, 20, b"", _posted(b"PutItem", body, b"Content-Encoding: " + b", ".join(names)) * 50)


def _tiny_chunks(port: int, seconds: float) -> None:
    _flood(port, seconds, 20, _chunked(b""), b"1\r\n \r\n" * 40_000)


def _expectations(port: int, seconds: float) -> None:
    head = HEAD + TARGET + b"PutItem\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    _flood(port, seconds, 200, head % 16_000_000, b" " * 4096)


ATTACKS: dict[str, Callable[[int, float], None]] = {
    "endless headers": _headers,
    "endless URL": lambda port, seconds: _flood(port, seconds, 4, b"GET /", b"a" * BLOCK),
    "endless header": lambda port, seconds: _flood(port, seconds, 4, HEAD + b"X-A: ", b"a" * BLOCK),
    "endless chunk extension": lambda port, seconds: _flood(port, seconds, 4, _chunked(b"1;"), b"a" * BLOCK),
    "endless trailers": lambda port, seconds: _flood(port, seconds, 4, _chunked(b"0\r\n"), b"X-A: b\r\n" * 30_000),
    "requests sent ahead": lambda port, seconds: _flood(port, seconds, 20, b"", LIST * 1000),
    "tiny requests sent ahead": lambda port, seconds: _flood(port, seconds, 20, b"", b"GET / HTTP/1.1\r\n\r\n" * 9000),
    "unfinished bodies": lambda port, seconds: _flood(
        port, seconds, 200, HEAD + TARGET + b"PutItem\r\nContent-Length: 16000000\r\n\r\n" + b" " * 15_999_999
    ),
    "gzip bombs": _bombs,
    "stacked bombs": _stacked_bombs,
    "nested values": _nested_values,
    "large items": _large_items,
    "tiny chunks": _tiny_chunks,
    "unfinished expectations": _expectations,
    "HTTP/2": lambda port, seconds: _flood(
        port, seconds, 20, b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" * 9000
    ),
    "unread scans": _unread_scans,
    "idle connections": _idle,
    "slow senders": _slow,
}


@contextmanager
def attacking(name: str, port: int, seconds: float) -> Iterator[None]:
    """Runs an attack beside the block."""
    command = [sys.executable, "-m", "tests.server.attacks", name, str(port), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it is about to begin
            yield
            if process.wait(seconds + PATIENCE):
                raise RuntimeError(f"the attack {name!r} ended with {process.returncode}")
        finally:
            process.kill()


def main() -> None:
    name, port, seconds = sys.argv[1:]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    ATTACKS[name](int(port), float(seconds))


if __name__ == "__main__":
    main()
