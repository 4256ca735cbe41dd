"""A small HTTP server on loopback that publishes a key set, with a delay if a test wants one."""

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from tests.rest.tokens import jwk
from tests.timing import PATIENCE


class Publisher:
    """The published key set, and the number of requests for it. While `held`, requests wait."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.reads = 0
        self.status = 200
        self.location: str | None = None
        self.asked = threading.Event()
        self.released = threading.Event()
        self.released.set()
        self.publish("RS256")

    def publish(self, *algorithms: str) -> None:
        self.body = json.dumps({"keys": [jwk(each) for each in algorithms]}).encode()

    def hold(self) -> None:
        self.asked.clear()
        self.released.clear()


class _Answers(BaseHTTPRequestHandler):
    publisher: Publisher

    def do_GET(self) -> None:
        publisher = self.publisher
        publisher.reads += 1
        publisher.asked.set()
        publisher.released.wait(PATIENCE)
        try:
            self._answer(publisher)
        except OSError:
            return  # the client has gone

    def _answer(self, publisher: Publisher) -> None:
        if self.path.startswith("/redirected"):
            self.send_response(302)
            self.send_header("Location", publisher.location or self.path + "x")
            self.end_headers()
            return
        self.send_response(publisher.status)
        self.end_headers()
        for number in count() if self.path == "/endless" else range(1):
            self.wfile.write(publisher.body if number == 0 else b" " * 1024)

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


@contextmanager
def publishing(tls: ssl.SSLContext | None = None) -> Iterator[Publisher]:
    handler = type("Answers", (_Answers,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        if tls is not None:
            running.socket = tls.wrap_socket(running.socket, server_side=True)
        publisher = Publisher(f"{'http' if tls is None else 'https'}://localhost:{running.server_port}/jwks.json")
        handler.publisher = publisher  # type: ignore[attr-defined]
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield publisher
        finally:
            publisher.released.set()
            running.shutdown()
            thread.join()
