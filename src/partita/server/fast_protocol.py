"""The fast lane: DynamoDB's own requests, and reads over REST, are answered where they are read.

uvicorn keeps the connections, reads the requests and stops gracefully. A plain `POST /` with a DynamoDB target, which
is what an SDK sends, and a plain GET below `/api/`, where that never waits, are answered in this protocol; everything
else goes the usual ASGI way. That is worth it because an ASGI cycle costs more than a GetItem (docs/decisions/0005).
"""

from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from partita.server.dispatch import Answer, Answers, reply_head
from partita.server.protocol_app import LARGEST_BODY, TOO_LARGE

REQUEST_SECONDS = 30.0  # from a request's first byte to its last
IDLE_SECONDS = 75.0  # between requests on one connection
LOOK_SECONDS = 5.0  # how often a connection is looked at
MOST_WAITING = 16  # requests that a client may send ahead of their answers

_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_TARGETS = (b"DynamoDB_20120810.", b"DynamoDBStreams_20120810.")

Headers = list[tuple[bytes, bytes]]
ReadAtOnce = Callable[[str, bytes, bytes, dict[bytes, bytes]], tuple[int, bytes, Headers]]
"""From method, path, query string and headers to status, body and headers; it neither waits nor raises."""


class FastPathProtocol(HttpToolsProtocol):
    """uvicorn's protocol with the fast lane, and with an end to its patience."""

    answers: Answers | None = None  # set by `serve` once the backend is open
    read_at_once: ReadAtOnce | None = None  # what is below `/api/`

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._in_lane = False
        self._parts: list[bytes] = []
        self._size = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_answering = False
        self._is_last = False
        self._is_deaf = False
        self._is_reading = True
        self._since = self.loop.time()
        self._look: TimerHandle = self.loop.call_later(LOOK_SECONDS, self._look_around)

    def connection_lost(self, exc: Exception | None) -> None:
        self._look.cancel()
        self._waiting.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._is_reading:
            self._is_reading, self._since = True, self.loop.time()
        super().data_received(data)

    # Reading a request

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._in_lane = False

    def on_headers_complete(self) -> None:
        if self._belongs_here():
            self._in_lane, self._parts, self._size = True, [], 0
            return
        if self._is_answering or self._waiting:  # the answers would change places: the client has to ask again
            self._is_last = self._is_deaf = True
            return
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        super().on_headers_complete()

    def _belongs_here(self) -> bool:
        method = self.parser.get_method()
        if self.answers is None or self.expect_100_continue or self._is_in_cycle():
            return False
        if not self.parser.should_keep_alive() or self.parser.should_upgrade():
            return False
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            return False
        self._asked = dict(self.headers)
        if method == b"POST" and self.url == b"/":
            return self._is_plain_call()
        return method in (b"GET", b"HEAD") and self.url.startswith(b"/api/") and self._is_plain_read()

    def _is_plain_call(self) -> bool:
        if b"content-encoding" in self._asked or b"gzip" in self._asked.get(b"accept-encoding", b""):
            return False
        return self._asked.get(b"x-amz-target", b"").startswith(_TARGETS)

    def _is_plain_read(self) -> bool:
        has_body = b"content-length" in self._asked or b"transfer-encoding" in self._asked
        return self.read_at_once is not None and not has_body and self.url != b"/api/" and b"#" not in self.url

    def on_body(self, body: bytes) -> None:
        if self._is_deaf:
            return
        if not self._in_lane:
            super().on_body(body)
            return
        self._parts.append(body)
        self._size += len(body)
        if self._size > LARGEST_BODY:
            self._is_deaf = True
            self._write((413, TOO_LARGE))
            self.transport.close()

    def on_message_complete(self) -> None:
        self._is_reading, self._since = False, self.loop.time()
        if self._is_deaf:
            return
        if not self._in_lane:
            super().on_message_complete()
            return
        answer = self._ready()
        if self._is_answering or self._waiting or self.flow.write_paused:
            self._waiting.append(answer)
            if len(self._waiting) >= MOST_WAITING:
                self.flow.pause_reading()
        else:
            answer()

    def _ready(self) -> Callable[[], None]:
        """What is left to do for the request that has just been read."""
        if self.url != b"/":
            return partial(self._read, self.parser.get_method().decode(), self.url, self._asked)
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return partial(self._answer, self._asked[b"x-amz-target"], body)

    # Answering it

    def _answer(self, target: bytes, body: bytes) -> None:
        assert self.answers is not None
        self._is_answering = True
        answer = self.answers.begin(target, body, self._answered)
        if answer is not None:
            self._is_answering = False
            self._write(answer)

    def _read(self, method: str, url: bytes, asked: dict[bytes, bytes]) -> None:
        assert self.read_at_once is not None
        path, _, query = url.partition(b"?")
        status, body, headers = self.read_at_once(method, path, query, asked)
        lines = [b"%s: %s\r\n" % header for header in (*self.server_state.default_headers, *headers)]
        self._send(status, *lines, b"\r\n", b"" if method == "HEAD" else body)

    def _answered(self, answer: Answer) -> None:
        self._is_answering = False
        if self.transport.is_closing():
            return
        self._write(answer)
        self._answer_waiting()

    def _answer_waiting(self) -> None:
        """Answers what a client has asked ahead, as long as it takes the answers."""
        while self._waiting and not self._is_answering and not self.flow.write_paused:
            self._waiting.popleft()()
        if len(self._waiting) < MOST_WAITING:
            self.flow.resume_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._answer_waiting()

    def _write(self, answer: Answer) -> None:
        status, body = answer
        self._send(status, reply_head(body), body)

    def _send(self, status: int, *parts: bytes) -> None:
        self.server_state.total_requests += 1
        self._since = self.loop.time()
        self.transport.write(b"".join((_LINES[status], *parts)))
        if self._is_last and not self._waiting:
            self.transport.close()

    def _is_in_cycle(self) -> bool:
        cycle: Any = self.cycle  # None before the first request that goes the ASGI way
        return cycle is not None and not cycle.response_complete

    # Ending the connection

    def shutdown(self) -> None:
        if self._is_answering:
            self._is_last = True
        else:
            super().shutdown()

    def _look_around(self) -> None:
        """Closes a connection whose client is too slow to say its request, or has nothing to say for too long."""
        waited = self.loop.time() - self._since
        is_busy = self._is_answering or self._is_in_cycle()
        if waited > (REQUEST_SECONDS if self._is_reading else IDLE_SECONDS) and not is_busy:
            self.transport.close()
        else:
            self._look = self.loop.call_later(LOOK_SECONDS, self._look_around)
