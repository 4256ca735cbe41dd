"""The fast path and ASGI on one connection: answers stay in the order of the requests."""

import json

import pytest

from tests.peers import Running, call
from tests.server.sockets import connected, request

pytestmark = pytest.mark.slow

TABLE = {
    "TableName": "mixed",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
PUT = request("PutItem", json.dumps({"TableName": "mixed", "Item": {"pk": {"S": "a"}}}).encode())
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def endpoint(server: Running) -> str:
    assert call(server.endpoint, "CreateTable", TABLE).status in (200, 400)
    return server.endpoint


def received(endpoint: str, *requests: bytes) -> list[bytes]:
    """The bodies of all replies to pipelined requests, until the connection is closed."""
    with connected(endpoint) as connection:
        connection.sendall(b"".join(requests))
        replies = connection.makefile("rb")
        bodies = []
        while status := replies.readline():
            assert status == b"HTTP/1.1 200 OK\r\n"
            length = 0
            while (line := replies.readline()) != b"\r\n":
                name, _, value = line.partition(b": ")
                length = int(value) if name == b"content-length" else length
            bodies.append(replies.read(length))
        return bodies


LAST = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
HEALTHY = b"healthy: partita\n"


def test_asgi_requests_behind_an_unanswered_write_are_answered_in_order(endpoint: str) -> None:
    assert received(endpoint, PUT, HEALTH, PUT, LAST) == [b"{}", HEALTHY, b"{}", HEALTHY]


def test_fast_requests_behind_an_asgi_request_are_answered_in_order(endpoint: str) -> None:
    assert received(endpoint, HEALTH, PUT, LAST) == [HEALTHY, b"{}", HEALTHY]


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


def upgrading(message: bytes) -> bytes:
    """The same request, which asks for another protocol besides."""
    line, _, rest = message.partition(b"\r\n")
    return line + b"\r\n" + UPGRADE + rest


def test_request_for_another_protocol_is_answered_with_its_body_and_so_are_those_behind_it(endpoint: str) -> None:
    """Java's HttpClient asks for HTTP/2 so."""
    assert received(endpoint, upgrading(PUT), PUT, upgrading(HEALTH), LAST) == [b"{}", b"{}", HEALTHY, HEALTHY]


def test_body_of_a_request_for_another_protocol_is_never_a_request(endpoint: str) -> None:
    with connected(endpoint) as connection:
        connection.sendall(upgrading(request("ListTables", PUT)) + LAST)
        received = connection.makefile("rb").read()
    assert received.count(b"HTTP/1.1 ") == 2
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.endswith(HEALTHY)


def test_connect_is_rejected_and_ends_the_connection(endpoint: str) -> None:
    with connected(endpoint) as connection:
        connection.sendall(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n" + PUT)
        received = connection.makefile("rb").read()
    assert received.startswith(b"HTTP/1.1 405 ")
    assert received.count(b"HTTP/1.1 ") == 1
