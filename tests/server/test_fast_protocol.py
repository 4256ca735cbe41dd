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
