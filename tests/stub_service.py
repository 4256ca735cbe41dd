"""A local HTTP server that records requests and gives scripted replies, as an embedding service or OpenSearch would."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote

Reply = tuple[int, Any] | tuple[int, Any, dict[str, str]]


class RecordedRequest(NamedTuple):
    """A request; `body` is decoded if it is JSON."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


Answer = Callable[[RecordedRequest], Reply | None]


class StubService:
    """Answers a request by `answer`; replies in `first` are given before that, one to each request.

    A reply of None closes the connection.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.first: list[Reply | None] = []
        self.requests: list[RecordedRequest] = []
        self.url = ""

    def reply(self, request: RecordedRequest) -> Reply | None:
        return self.first.pop(0) if self.first else self.answer(request)


@contextmanager
def serving(answer: Answer) -> Iterator[StubService]:
    service = StubService(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # a reply is sent at once: in two parts, the second would wait for the client's acknowledgement

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(sent) if sent and self.headers["Content-Type"] == "application/json" else sent
            request = RecordedRequest(self.command, unquote(self.path), dict(self.headers.items()), body)
            service.requests.append(request)
            reply = service.reply(request)
            if reply is None:
                self.close_connection = True
                return
            status, content, *headers = reply
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers[0] if headers else {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST  # noqa: N815 (names of http.server)

        def log_message(self, *_: object) -> None:
            """Nothing on the terminal."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()


def numbers_of(text: str, dimensions: int) -> list[float]:
    """Different numbers for different texts."""
    return [float(sum(text.encode()) % 97 + place) for place in range(dimensions)]
