"""HTTP over a plain socket, for requests that no client library would send."""

import contextlib
import json
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.timing import PATIENCE

TARGET = "DynamoDB_20120810."


@dataclass(frozen=True)
class RawReply:
    """A reply; status 0 when the connection was closed without one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The code of an error reply, or an empty string."""
        if not self.body:
            return ""
        kind: str = json.loads(self.body).get("__type", "")
        return kind.partition("#")[2]


def connected(endpoint: str, timeout: float = PATIENCE) -> socket.socket:
    url = urlsplit(endpoint)
    return socket.create_connection((url.hostname, url.port), timeout)


def request(operation: str, body: bytes, *more: str) -> bytes:
    """Returns the bytes of a request as an SDK sends it, with further header lines."""
    lines = [
        "POST / HTTP/1.1",
        "Host: localhost",
        f"X-Amz-Target: {TARGET}{operation}",
        f"Content-Length: {len(body)}",
        *more,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def exchange(endpoint: str, sent: bytes) -> RawReply:
    """Sends one request on a new connection and returns its reply."""
    with connected(endpoint) as connection:
        with contextlib.suppress(OSError):  # the server may have answered and closed the connection already
            connection.sendall(sent)
        return read_reply(connection)


def read_reply(connection: socket.socket) -> RawReply:
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return RawReply(0, {}, data)
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): text for name, _, text in (line.partition(": ") for line in lines[1:])}
        while len(body) < int(headers.get("content-length", 0)):
            piece = connection.recv(65536)
            if not piece:
                break
            body += piece
    except ConnectionError:
        return RawReply(0, {}, b"")
    return RawReply(int(lines[0].split()[1]), headers, body)


def is_closed_by_server(connection: socket.socket) -> bool:
    """Reads to the end; False where the server keeps the connection open."""
    try:
        while connection.recv(1 << 20):
            pass
    except TimeoutError:
        return False
    except ConnectionError:  # the server has closed it before it has read all
        pass
    return True


def ask(endpoint: str, operation: str, body: Any, *more: str) -> RawReply:
    """Sends `body`, as JSON unless it is bytes, and returns the reply."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return exchange(endpoint, request(operation, raw, *more))
