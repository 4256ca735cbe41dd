"""The endpoint of metrics bounds its cost: few readings, few connections, no traceback for clients that vanish."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection

import pytest

from partita.http.metrics_endpoint import FRESH_SECONDS, MAX_CONNECTIONS, MetricsEndpoint, serve_metrics
from tests.peers import wait_until
from tests.timing import PATIENCE

RESET = struct.pack("ii", 1, 0)


class Readings:
    """Counts how often the metrics are read, at a time that the test sets."""

    def __init__(self) -> None:
        self.count = 0
        self.now = 100.0

    def render(self) -> bytes:
        self.count += 1
        return b"reading %d\n" % self.count

    def endpoint(self) -> MetricsEndpoint:
        return MetricsEndpoint(self.render, "text/plain", host="127.0.0.1", token=None, clock=lambda: self.now)


@pytest.fixture
def port() -> Iterator[int]:
    with serve_metrics(Readings().endpoint(), "127.0.0.1", 0) as at:
        yield at


def get(port: int) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/metrics")
    status = connection.getresponse().status
    connection.close()
    return status


def test_metrics_are_read_once_a_second_however_many_ask() -> None:
    readings = Readings()
    endpoint = readings.endpoint()
    assert {endpoint.respond(b"").body for _ in range(50)} == {b"reading 1\n"}
    readings.now += FRESH_SECONDS
    assert endpoint.respond(b"").body == b"reading 2\n"


def test_silent_connections_leave_room_for_others(port: int) -> None:
    before = threading.active_count()
    with ExitStack() as silent:
        for _ in range(5 * MAX_CONNECTIONS):
            client = silent.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            client.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert get(port) == 200
        wait_until(lambda: threading.active_count() <= before + MAX_CONNECTIONS)


def test_clients_that_vanish_leave_no_traceback(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    for sent in (b"", b"GET /met", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        client = socket.create_connection(("127.0.0.1", port), PATIENCE)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        client.sendall(sent)
        client.close()
    assert get(port) == 200
    assert capfd.readouterr() == ("", "")
