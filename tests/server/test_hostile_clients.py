"""Clients that mean harm cost little memory and no time of others; each limit has an answer."""

import contextlib
import json
import random
import re
import select
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bench.hostile import MEGABYTES, WAIT, Server, Worst, worst_of_rounds
from tests.peers import Running, call, free_port, started, wait_until
from tests.server.attacks import ATTACKS, HEAD, TARGET
from tests.server.conftest import engine_command
from tests.server.sockets import ask, connected, exchange, is_closed_by_server, read_reply, request
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"a" * 16_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (GET + b"X: " + b"a" * 30_000 + b"\r\n\r\n", 200),
        (GET + b"X: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (GET + b"X" * 40_000 + b": a\r\n\r\n", 431),
        (GET + b"X:a\r\n" * 90 + b"\r\n", 200),
        (GET + b"X:a\r\n" * 110 + b"\r\n", 431),
        (HEAD + TARGET + b"ListTables\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"a" * 40_000, 431),
        (HEAD + TARGET + b"ListTables\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"a" * 40_000, 431),
        (HEAD + TARGET + b"ListTables\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X:a\r\n" * 200, 431),
        (b"\r\n" * 30_000, 431),
        (HEAD + TARGET + b"ListTables\r\nContent-Length: 16777217\r\n\r\n", 413),
        (b"nonsense\r\n\r\n", 400),
        *[
            (HEAD + TARGET + b"ListTables\r\nTransfer-Encoding: " + coding + b"\r\n\r\n2\r\n{}\r\n0\r\n\r\n", status)
            for coding, status in (
                (b"gzip, chunked", 501),
                (b"deflate,chunked", 501),
                (b"chunked, chunked", 400),
                (b"chunked, gzip", 400),
                (b"chunked\r\nTransfer-Encoding: chunked", 400),
            )
        ],
    ],
)
def test_each_limit_has_a_status(endpoint: str, sent: bytes, status: int) -> None:
    reply = exchange(endpoint, sent)
    assert reply.status == status
    assert reply.headers["date"]
    if status not in (200, 404):
        assert reply.headers["connection"] == "close"
        assert reply.code


CHUNKED = HEAD + TARGET + b"ListTables\r\nAccept-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"  # through ASGI


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"ZZ\r\n", 400),
        (b"2\r\n{}\r\nZZ\r\n", 400),
        (b"1;" + b"a" * 40_000, 431),
        (b"2\r\n{}\r\n0\r\nX: " + b"a" * 40_000, 431),
    ],
)
@pytest.mark.parametrize("before", [b"", CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n"], ids=["alone", "behind another"])
def test_body_that_cannot_be_read_further_is_answered_at_once(
    endpoint: str, before: bytes, body: bytes, status: int
) -> None:
    """Its application had waited for the rest of it for half a minute, while the client could send on."""
    with connected(endpoint) as client:
        client.sendall(before + CHUNKED + b"\r\n" + body)
        received = b""
        with contextlib.suppress(ConnectionError):  # the server has closed it before it has read all
            while piece := client.recv(65536):
                received += piece
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200"] * bool(before) + [b"%d" % status]
    assert b"connection: close" in received


def test_body_that_cannot_be_read_further_may_follow_an_answer(endpoint: str) -> None:
    with connected(endpoint) as client:
        client.sendall(CHUNKED + b"Origin: http://elsewhere\r\n\r\n")
        assert read_reply(client).status == 403
        client.sendall(b"ZZ\r\n")
        assert is_closed_by_server(client)


def test_trailers_are_not_headers(endpoint: str) -> None:
    chunks = b"2\r\n{}\r\n0\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n\r\n"
    reply = exchange(endpoint, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert reply.code == "UnknownOperationException"


def test_requests_sent_far_ahead_are_all_answered(endpoint: str) -> None:
    """More than the server parses ahead, of both ways to answer, read while they are sent."""
    table = {
        "TableName": "ahead",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    assert call(endpoint, "CreateTable", table).status in (200, 400)
    item = {"TableName": "ahead", "Item": {"pk": {"S": "a"}}}
    pair = request("PutItem", json.dumps(item).encode()) + GET + b"\r\n"
    with connected(endpoint) as connection:
        connection.sendall(pair * 300)
        received = b""
        while received.count(b"healthy") < 300:
            received += connection.recv(65536)
    bodies = [part.partition(b"\r\n\r\n")[2] for part in received.split(b"HTTP/1.1 200 OK\r\n")[1:]]
    assert bodies == [b"{}", b"healthy: partita\n"] * 300


IMPATIENT = (
    "import sys, partita.http.request_body as bodies, partita.server.fast_protocol as protocol\n"
    "import partita.server.connections as connections\n"
    "protocol.UNREAD_SECONDS, protocol.CHECK_SECONDS = 0.3, 0.1\n"
    "connections.Connections.__init__.__defaults__ = (20, 4_000_000, None)\n"
    "from partita.cli.main import main\n"
    "sys.argv = ['partita', 'engine', '--memory', '--port', sys.argv[1]]\n"
    "main()\n"
)


@pytest.fixture(scope="module")
def impatient() -> Iterator[Running]:
    """An engine that keeps 20 connections and 4 MB, and waits 0.3 s for a client to read."""
    with started(lambda port: [sys.executable, "-c", IMPATIENT, str(port)]) as running:
        Server(running.endpoint, running.pid).fill()
        yield running


def _unread_scan(endpoint: str, count: int = 30) -> socket.socket:
    connection = connected(endpoint)
    connection.sendall(request("Scan", b'{"TableName": "attacked"}') * count)
    return connection


def _kernel_sockets(connection: socket.socket) -> tuple[list[str], list[str]]:
    """The kernel's lines about both ends of a connection, ours first; an empty one where there is no such end."""
    ours, theirs = f":{connection.getsockname()[1]:04X}", f":{connection.getpeername()[1]:04X}"
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    ends = {(each[1][-5:], each[2][-5:]): each for each in sockets}
    return ends.get((ours, theirs), []), ends.get((theirs, ours), [])


def _is_held_by_server(connection: socket.socket) -> bool:
    """Whether the server has accepted the connection and not closed it: a process owns its end."""
    end = _kernel_sockets(connection)[1]
    return bool(end) and end[9] != "0"  # the inode


def _is_read_by_server(connection: socket.socket) -> bool:
    """Whether the server has read all that was sent: both ends' queues are empty."""
    ours, theirs = _kernel_sockets(connection)
    return _is_held_by_server(connection) and ours[4].startswith("00000000") and theirs[4].endswith("00000000")


def _is_answered_and_closed(connection: socket.socket) -> bool:
    """Whether the server has sent something that waits to be read here, and has closed its end since."""
    ours, theirs = _kernel_sockets(connection)
    return not ours or (not ours[4].endswith("00000000") and (not theirs or theirs[9] == "0"))


def test_client_that_does_not_read_is_disconnected(impatient: Running) -> None:
    with _unread_scan(impatient.endpoint) as connection:

        def is_disconnected() -> bool:
            assert call(impatient.endpoint, "ListTables", {}).status == 200
            return _is_answered_and_closed(connection)

        wait_until(is_disconnected)
        assert is_closed_by_server(connection)


def _is_closing(connection: socket.socket) -> bool:
    """Whether the server has closed its end; nothing was sent that could be read."""
    return bool(select.select([connection], [], [], 0)[0])


def test_new_client_is_answered_where_others_hold_every_connection(impatient: Running) -> None:
    """The order in which the server sees them is the system's: any twenty go."""
    with contextlib.ExitStack() as held:
        silent = [held.enter_context(connected(impatient.endpoint)) for _ in range(40)]
        for each in silent:
            each.sendall(b"P")
        wait_until(lambda: sum(map(_is_closing, silent)) >= 20)
        assert call(impatient.endpoint, "ListTables", {}).status == 200
        assert all(is_closed_by_server(each) for each in silent if _is_closing(each))


def test_unfinished_bodies_share_a_bound(impatient: Running) -> None:
    """The third body of 2 MB would be too much: the first goes, which has waited longest."""
    with contextlib.ExitStack() as held:
        bodies = []
        for _ in range(3):
            bodies.append(held.enter_context(connected(impatient.endpoint)))
            bodies[-1].sendall(HEAD + TARGET + b"ListTables\r\nContent-Length: 2000000\r\n\r\n" + b" " * 1_999_999)
            wait_until(partial(_is_read_by_server, bodies[-1]))
        assert is_closed_by_server(bodies[0])
        bodies[2].sendall(b" ")
        assert read_reply(bodies[2]).code == "SerializationException"


def test_clients_that_disconnect_leave_nothing_in_the_log() -> None:
    """At any byte of a request, after any part of the reply, politely or with a reset."""
    chance = random.Random(7)
    port = free_port()
    command = [str(part) for part in engine_command("--memory", "--port", str(port))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            endpoint = f"http://127.0.0.1:{port}"
            Server(endpoint, process.pid).fill()
            body = json.dumps({"TableName": "attacked", "Item": {"pk": {"S": "x"}, "n": {"S": "x" * 200_000}}}).encode()
            for number in range(200):
                lines = chance.choice(
                    [(), ("Accept-Encoding: gzip",), ("Expect: 100-continue",), ("Connection: close",)]
                )
                sent = chance.choice(
                    [request("PutItem", body, *lines), request("Scan", b'{"TableName":"attacked"}', *lines)]
                )
                with connected(endpoint) as connection:
                    if number % 2:
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    with contextlib.suppress(OSError):
                        connection.sendall((sent * 3)[: chance.randrange(len(sent) * 3)])
                        connection.setblocking(False)
                        connection.recv(chance.choice([1, 1000, 1 << 20]))
            assert ask(endpoint, "ListTables", {}).status == 200
        finally:
            process.terminate()
            said = process.communicate(timeout=PATIENCE)[0]
    assert [line for line in said.splitlines() if not line.startswith("try:")] == []


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[Server]:
    """A server for each attack: memory that an allocator keeps after one is not a cost of the next."""
    data = str(tmp_path / "attacked.db")
    with started(lambda port: engine_command("--data", data, "--port", str(port))) as running:
        server = Server(running.endpoint, running.pid)
        server.fill()
        yield server


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_costs_others_neither_time_nor_memory(attacked: Server, name: str) -> None:
    """The server's own processor time while a client waits; `python -m bench.hostile` measures the wait.

    A client that the machine does not let run waits longer, and the server works on: where a round is bad, more follow.
    """
    rounds: list[Worst] = []
    while len(rounds) < 3 or (_median_of_best(rounds) > WAIT and len(rounds) < 9):
        rounds.append(worst_of_rounds(attacked, name, 1, 0.7))
    assert _median_of_best(rounds) <= WAIT
    assert max(each.memory for each in rounds) <= MEGABYTES


def _median_of_best(rounds: list[Worst]) -> float:
    """The work in the second of the best three rounds."""
    return sorted(each.work for each in rounds)[1]
