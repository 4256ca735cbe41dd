"""Event streams of `partita serve`: a notification arrives, a stop does not wait, other clients have room."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from partita.cli.token import issuer_beside
from partita.server.connections import MAX_CONNECTIONS
from tests.peers import started, wait_until
from tests.peers.process import Running, free_port
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

PARTITA = Path(sys.executable).with_name("partita")
ANA, BIA = "sub-ana", "sub-bia"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    command = [str(PARTITA), "serve", "blog", "--on", str(tmp_path / "blog.db"), "--no-seed"]
    with started(lambda port: [*command, "--port", str(port)]) as running:
        yield running


@pytest.fixture
def tokens(served: Running, tmp_path: Path) -> dict[str, str]:
    issuer = issuer_beside(str(tmp_path / "blog.db"))
    return {ANA: issuer.token(ANA, ("AUTHOR", "ADMIN")), BIA: issuer.token(BIA, ())}


def send(served: Running, token: str, method: str, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = urllib.request.Request(f"{served.endpoint}/api/blog{path}", data, headers, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:  # noqa: S310
        return json.loads(reply.read() or b"null")


def listening(served: Running, token: str, path: str) -> socket.socket:
    """A connection whose stream of events has begun."""
    host, port = served.endpoint.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    head = f"GET /api/blog{path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n"
    connection.sendall(f"{head}Authorization: Bearer {token}\r\n\r\n".encode())
    received_until(connection, b"retry: 3000")
    return connection


def received_until(connection: socket.socket, wanted: bytes) -> bytes:
    data = b""
    while wanted not in data:
        piece = connection.recv(65536)
        assert piece, data
        data += piece
    return data


def published_post(served: Running, tokens: dict[str, str]) -> str:
    for user, token in tokens.items():
        send(served, token, "POST", "/users", {"name": user})
    root = send(served, tokens[ANA], "POST", "/categories", {"name": "Música"})
    sub = send(served, tokens[ANA], "POST", "/categories", {"name": "Samba", "parentId": root["categoryId"]})
    new = {"title": "Roda", "content": "Samba.", "subcategoryId": sub["categoryId"]}
    post: str = send(served, tokens[ANA], "POST", "/posts", new)["postId"]
    send(served, tokens[ANA], "PUT", f"/posts/{post}/publication")
    return post


def test_like_reaches_the_author_who_listens(served: Running, tokens: dict[str, str]) -> None:
    post = published_post(served, tokens)
    with listening(served, tokens[ANA], f"/users/{ANA}/notifications/events") as connection:
        send(served, tokens[BIA], "PUT", f"/posts/{post}/likes/{BIA}")
        received = received_until(connection, b'"type":"LIKE"')
    assert b"event: created" in received


def test_stop_does_not_wait_for_open_streams(tmp_path: Path) -> None:
    """uvicorn reports requests that it has waited for in vain."""
    port = free_port()
    command = [str(PARTITA), "serve", "blog", "--on", str(tmp_path / "blog.db"), "--no-seed", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: answers(port))
            served = Running(f"http://127.0.0.1:{port}", process.pid, 0)
            token = issuer_beside(str(tmp_path / "blog.db")).token(ANA, ("AUTHOR",))
            send(served, token, "POST", "/users", {"name": "Ana"})
            with listening(served, token, f"/users/{ANA}/notifications/events"):
                process.send_signal(signal.SIGTERM)
                _, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert errors == ""


def answers(port: int) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=PATIENCE) as reply:
        return bool(reply.status == 200)
    return False


def test_streams_are_not_counted_as_ordinary_connections(served: Running, tokens: dict[str, str]) -> None:
    """The oldest ordinary connections are closed where there are too many; a stream stays open."""
    published_post(served, tokens)
    host, port = served.endpoint.removeprefix("http://").split(":")
    path = f"/users/{ANA}/notifications/events"
    with listening(served, tokens[ANA], path) as connection, ExitStack() as closing:
        others = []
        for _ in range(1100):
            other = closing.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
            other.sendall(f"GET /health HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            others.append(other)
        wait_until(lambda: sum(map(is_closed, others)) >= len(others) - MAX_CONNECTIONS)
        post = send(served, tokens[ANA], "GET", f"/users/{ANA}/posts")["items"][0]["postId"]
        send(served, tokens[BIA], "PUT", f"/posts/{post}/likes/{BIA}")
        received_until(connection, b'"type":"LIKE"')


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection; reads what it has sent."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
