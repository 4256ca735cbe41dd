"""The bench's own instruments: what they count is real, and a missed target is said."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from bench import workload
from bench.ceiling import always_200
from bench.load import Order, _requests, generator
from bench.report import Section, Target, not_measured, table, verdict
from tests.peers import wait_until
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow


@contextmanager
def answering(reply: bytes) -> Iterator[int]:
    """The port of a server that gives the same reply to everything."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while self.request.recv(65536):
                self.request.sendall(reply)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that left in the middle of a reply is what these tests are about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_load_generator_counts_replies() -> None:
    with generator() as clients, always_200() as server:
        port = urlsplit(server.endpoint).port
        assert port is not None
        order = Order(port, "GetItem", seconds=0.05, warm=0.0)
        wait_until(lambda: clients.rate(order) > 0)  # not in the first measurement where the machine stands still


def test_load_generator_asks_for_paths_one_after_the_other() -> None:
    assert [each.split()[1] for each in _requests("GET", 1, ("/a", "/b?c=1"))] == [b"/a", b"/b?c=1"]
    with generator() as clients, always_200() as server:
        port = urlsplit(server.endpoint).port
        assert port is not None
        order = Order(port, "GET", seconds=0.05, warm=0.0, paths=("/a", "/b"))
        wait_until(lambda: clients.rate(order) > 0)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n{}", "400 Bad Request"),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", "without Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", "more bytes"),
    ],
)
def test_load_generator_takes_no_other_reply_for_speed(reply: bytes, why: str) -> None:
    with answering(reply) as port, generator() as clients, pytest.raises(RuntimeError, match=why):
        clients.rate(Order(port, "GetItem", seconds=PATIENCE, warm=0.0))


def test_items_are_the_same_in_every_run_and_have_twenty_attributes() -> None:
    assert workload.item(7) == workload.item(7)
    assert workload.item(7) != workload.item(7, variant=1)
    assert len(workload.item(7)) == 20


def test_no_put_finds_what_it_writes() -> None:
    puts = workload.bodies("PutItem", items=40)
    last = {json.dumps(workload.key(number)): workload.item(number) for number in range(40)}
    for put in puts + puts:
        key = json.dumps({name: put["Item"][name] for name in ("pk", "sk")})
        assert last[key] != put["Item"]
        last[key] = put["Item"]


def test_part_that_fails_misses_its_target() -> None:
    failed = not_measured("bench.http", RuntimeError("no peer started"))
    assert verdict([failed]) == 1
    assert "Not measured: RuntimeError" in str(failed)


def test_missed_target_is_said_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    reached, missed = Target("speed", 2.0, 1.5, "times"), Target("memory", 300, 200, "MB", below=True)
    assert verdict([Section("a", "", [reached])]) == 0
    assert verdict([Section("a", "", [reached, missed])]) == 1
    assert capsys.readouterr().err == "MISSED: memory: 300 MB (wanted at most 200 MB)\n"


def test_table_is_aligned_markdown() -> None:
    assert table(["", "a second"], [["Get", "1,000"]]) == "|     | a second |\n|-----|---------:|\n| Get |    1,000 |"
