"""The fast path: DynamoDB requests, and GET requests to the REST API, are answered where they are parsed.

uvicorn keeps the connections, parses requests and stops gracefully. An ASGI cycle costs more than a GetItem
(docs/decisions/0005), so two kinds of request are answered in this protocol instead: a plain `POST /` with a DynamoDB
target, as SDKs send it, and a plain GET below `/api/` where reads do not block. All others go through ASGI.

    IDLE --> HEADERS --+--> FAST ------> IDLE    answered here, in the order of arrival
                       +--> ASGI ------> IDLE    answered by uvicorn's own cycle
                       +--> CLOSING              input is ignored; the connection closes after the last answer
"""

from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from partita.server.dispatch import Dispatcher, ProtocolResponse, reply_head
from partita.server.protocol_app import MAX_BODY, TOO_LARGE

REQUEST_SECONDS = 30.0  # from the first byte of a request to its last
IDLE_SECONDS = 75.0  # between requests on one connection
CHECK_SECONDS = 5.0  # between checks of those two
MAX_PIPELINED = 16  # requests that a client may send before it reads their answers

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_TARGETS = (b"DynamoDB_20120810.", b"DynamoDBStreams_20120810.")

Headers = list[tuple[bytes, bytes]]
NonblockingRead = Callable[[str, bytes, bytes, dict[bytes, bytes]], tuple[int, bytes, Headers]]
"""From method, path, query string and headers to status, body and headers; neither blocks nor raises."""


class Phase(Enum):
    """What is read from a connection at the moment."""

    IDLE = auto()
    HEADERS = auto()
    FAST = auto()
    ASGI = auto()
    CLOSING = auto()


IDLE, HEADERS, FAST, ASGI, CLOSING = Phase  # module names, since Python 3.11 looks up members of an enum slowly


class FastPathProtocol(HttpToolsProtocol):
    """uvicorn's protocol with the fast path, and with timeouts for slow and idle clients."""

    def __init__(
        self, dispatcher: Dispatcher | None, nonblocking_read: NonblockingRead | None, **settings: Any
    ) -> None:
        """Without a dispatcher every request goes through ASGI; `nonblocking_read` answers below `/api/`."""
        super().__init__(**settings)
        self._dispatcher = dispatcher
        self._nonblocking_read = nonblocking_read
        self._phase = HEADERS  # the first request is timed from the connection on
        self._since = self.loop.time()
        self._request_headers: dict[bytes, bytes] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._pipelined: deque[Callable[[], None]] = deque()
        self._is_answering = False  # a write is not committed yet; requests may be read meanwhile
        self._check: TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._check = self.loop.call_later(CHECK_SECONDS, self._check_timeouts)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._check is not None:
            self._check.cancel()
        self._pipelined.clear()
        super().connection_lost(exc)

    # Reading a request

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        if self._phase is not CLOSING:
            self._phase, self._since = HEADERS, self.loop.time()

    def on_headers_complete(self) -> None:
        if self._phase is CLOSING:
            return
        if self._takes_fast_path():
            self._phase, self._parts, self._size = FAST, [], 0
            return
        if self._is_answering or self._pipelined:  # ASGI would answer it before those: the client has to send it again
            self._phase = CLOSING
            return
        self._phase = ASGI
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.headers, self.expect_100_continue = url, headers, expects
        self.scope["headers"] = headers
        super().on_headers_complete()

    def _takes_fast_path(self) -> bool:
        method = self.parser.get_method()
        if self._dispatcher is None or self.expect_100_continue or self._is_in_asgi_cycle():
            return False
        if not self.parser.should_keep_alive() or self.parser.should_upgrade():
            return False
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            return False
        self._request_headers = headers = dict(self.headers)
        if method == b"POST" and self.url == b"/":
            if b"content-encoding" in headers or b"gzip" in headers.get(b"accept-encoding", b""):
                return False
            return headers.get(b"x-amz-target", b"").startswith(_TARGETS)
        return method in (b"GET", b"HEAD") and self.url.startswith(b"/api/") and self._is_plain_read(headers)

    def _is_plain_read(self, headers: dict[bytes, bytes]) -> bool:
        has_body = b"content-length" in headers or b"transfer-encoding" in headers
        return self._nonblocking_read is not None and not has_body and self.url != b"/api/" and b"#" not in self.url

    def on_body(self, body: bytes) -> None:
        if self._phase is FAST:
            self._parts.append(body)
            self._size += len(body)
            if self._size > MAX_BODY:
                self._phase = CLOSING
                self._write((413, TOO_LARGE))
                self.transport.close()
        elif self._phase is ASGI:
            super().on_body(body)

    def on_message_complete(self) -> None:
        phase = self._phase
        if phase is CLOSING:
            return
        self._phase, self._since = IDLE, self.loop.time()
        if phase is ASGI:
            super().on_message_complete()
            return
        answer = self._answer_to_request()
        if self._is_answering or self._pipelined or self.flow.write_paused:
            self._pipelined.append(answer)
            if len(self._pipelined) >= MAX_PIPELINED:
                self.flow.pause_reading()
        else:
            answer()

    def _answer_to_request(self) -> Callable[[], None]:
        """The call that answers the request that has just been read."""
        if self.url != b"/":
            return partial(self._read, self.parser.get_method().decode(), self.url, self._request_headers)
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        return partial(self._answer, self._request_headers[b"x-amz-target"], body)

    # Answering it

    def _answer(self, target: bytes, body: bytes) -> None:
        assert self._dispatcher is not None
        self._is_answering = True
        response = self._dispatcher.dispatch(target, body, self._on_response)
        if response is not None:
            self._is_answering = False
            self._write(response)

    def _read(self, method: str, url: bytes, headers: dict[bytes, bytes]) -> None:
        assert self._nonblocking_read is not None
        path, _, query = url.partition(b"?")
        status, body, reply_headers = self._nonblocking_read(method, path, query, headers)
        lines = [b"%s: %s\r\n" % header for header in (*self.server_state.default_headers, *reply_headers)]
        self._send(status, *lines, b"\r\n", b"" if method == "HEAD" else body)

    def _on_response(self, response: ProtocolResponse) -> None:
        self._is_answering = False
        if self.transport.is_closing():
            return
        self._write(response)
        self._answer_pipelined()

    def _answer_pipelined(self) -> None:
        """Answers the requests that wait, as long as the client reads the answers."""
        while self._pipelined and not self._is_answering and not self.flow.write_paused:
            self._pipelined.popleft()()
        if len(self._pipelined) < MAX_PIPELINED:
            self.flow.resume_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._answer_pipelined()

    def _write(self, response: ProtocolResponse) -> None:
        status, body = response
        self._send(status, reply_head(body), body)

    def _send(self, status: int, *parts: bytes) -> None:
        self.server_state.total_requests += 1
        self._since = self.loop.time()
        self.transport.write(b"".join((_STATUS_LINES[status], *parts)))
        if self._phase is CLOSING and not self._pipelined:
            self.transport.close()

    def _is_in_asgi_cycle(self) -> bool:
        cycle: Any = self.cycle  # None before the first request that goes through ASGI
        return cycle is not None and not cycle.response_complete

    # Ending the connection

    def shutdown(self) -> None:
        if self._is_answering:
            self._phase = CLOSING
        else:
            super().shutdown()

    def _check_timeouts(self) -> None:
        """Closes a connection whose client sends its request too slowly, or has been idle for too long."""
        waited = self.loop.time() - self._since
        is_busy = self._is_answering or self._is_in_asgi_cycle()
        if waited > (IDLE_SECONDS if self._phase is IDLE else REQUEST_SECONDS) and not is_busy:
            self.transport.close()
        else:
            self._check = self.loop.call_later(CHECK_SECONDS, self._check_timeouts)
