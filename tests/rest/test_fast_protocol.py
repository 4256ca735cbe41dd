"""Reads over REST on a real server: the fast path gives the same replies as ASGI, in the order of the requests."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import urlsplit

import pytest

from partita import connect
from partita.cli.open_systems import open_systems
from partita.cli.seed import seed_system
from partita_systems import SYSTEMS
from tests.peers.process import started
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

PARTITA = Path(sys.executable).with_name("partita")
HEAD = "Host: localhost\r\n"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    file = tmp_path_factory.mktemp("lane") / "cards.db"
    with connect(file, durability="process", maintain=False) as backend:
        (cards,) = open_systems(backend, [SYSTEMS["perfectit"]])
        seed_system(cards, 0.1, 1, lambda *_: None)
    command: list[str | Path] = [PARTITA, "serve", "perfectit", "--on", file, "--no-seed", "--port"]
    with started(lambda free: [*command, str(free)]) as running:
        found = urlsplit(running.endpoint).port
        assert found is not None
        yield found


def exchanged(port: int, text: str, replies: int = 1) -> list[Reply]:
    """The replies on one connection."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection, connection.makefile("rb") as stream:
        connection.sendall(text.encode())
        return [_reply(stream, has_body=not text.startswith("HEAD")) for _ in range(replies)]


def _reply(stream: BinaryIO, *, has_body: bool) -> Reply:
    """A reply to HEAD has a length and no body."""
    status = int(stream.readline().split()[1])
    headers = {}
    while line := stream.readline().strip().decode():
        name, _, value = line.partition(": ")
        headers[name] = value
    length = int(headers.get("content-length", "0")) if has_body else 0
    return Reply(status, headers, stream.read(length))


def plain(reply: Reply) -> Reply:
    """The reply without its date and the header that ASGI adds because it closes the connection."""
    return reply._replace(headers={k: v for k, v in reply.headers.items() if k not in ("connection", "date")})


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "path",
    [
        "cards?limit=2",
        "cards/top?limit=1",
        "cards/absent",
        "cards?limit=abc",
        "cards?nonsense=1",
        "nothing/here",
        "users/x/notifications",
        "docs",
        "openapi.json",
        "cards/%ED%8C%8C%EC%8A%A4%ED%83%80",
        "cards/%ff",
        "../../etc/passwd",
    ],
)
def test_fast_path_and_asgi_give_the_same_reply(port: int, method: str, path: str) -> None:
    line = f"{method} /api/perfectit/{path} HTTP/1.1\r\n{HEAD}"
    (short,) = exchanged(port, f"{line}\r\n")
    (long,) = exchanged(port, f"{line}Connection: close\r\n\r\n")
    assert plain(short) == plain(long)
    assert "connection" not in short.headers
    assert short.headers["date"]
    assert (method == "HEAD") is (short.body == b"")


def test_matching_if_none_match_is_304(port: int) -> None:
    line = f"GET /api/perfectit/openapi.json HTTP/1.1\r\n{HEAD}"
    (first,) = exchanged(port, f"{line}\r\n")
    (again,) = exchanged(port, f"{line}If-None-Match: {first.headers['etag']}\r\n\r\n")
    assert (again.status, again.body) == (304, b"")
    (zipped,) = exchanged(port, f"{line}Accept-Encoding: gzip\r\n\r\n")
    assert zipped.headers["content-encoding"] == "gzip"
    assert len(zipped.body) < len(first.body)


def test_responses_come_in_the_order_of_requests(port: int) -> None:
    """On every path: a read, a request of DynamoDB's protocol that waits for the disk, another read."""
    body = '{"TableName":"perfectit-main","Item":{"PK":{"S":"x"},"SK":{"S":"x"}}}'
    head = f"{HEAD}X-Amz-Target: DynamoDB_20120810.PutItem\r\nContent-Length: {len(body)}\r\n"
    asked = [f"GET /api/perfectit/cards/absent{number} HTTP/1.1\r\n{HEAD}\r\n" for number in range(3)]
    replies = exchanged(port, f"{asked[0]}POST / HTTP/1.1\r\n{head}\r\n{body}{asked[1]}{asked[2]}", 4)
    assert [reply.status for reply in replies] == [404, 200, 404, 404]
    assert [number for number, reply in enumerate(replies) if b"absent" in reply.body] == [0, 2, 3]
    assert replies[1].body == b"{}"


def test_get_with_a_body_is_answered(port: int) -> None:
    (reply,) = exchanged(port, f"GET /api/perfectit/cards?limit=1 HTTP/1.1\r\n{HEAD}Content-Length: 2\r\n\r\n{{}}")
    assert reply.status == 200


def test_home_and_health_are_served_beside_the_fast_path(port: int) -> None:
    for path in ("/api", "/api/", "/health"):
        (reply,) = exchanged(port, f"GET {path} HTTP/1.1\r\n{HEAD}\r\n")
        assert reply.status == 200, path
