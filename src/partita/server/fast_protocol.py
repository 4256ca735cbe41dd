"""The fast path: DynamoDB requests, and GET requests to the REST API, are answered where they are parsed.

uvicorn keeps the connections, parses requests and stops gracefully. An ASGI cycle costs more than a GetItem
(docs/decisions/0005), so two kinds of request are answered in this protocol instead: a plain `POST /` with a DynamoDB
target, as SDKs send it, and a plain GET below `/api/` where reads do not block. All others go through ASGI.

    IDLE --> HEADERS --+--> FAST ------> IDLE    answered here
                       +--> ASGI ------> IDLE    answered by uvicorn's own cycle
                       +--> CLOSING              input is ignored; the connection closes after the last answer

Requests are answered in the order of arrival, one at a time. What a client sends ahead waits, a few requests parsed
and the rest as bytes, and the connection is not read meanwhile. Input is parsed in small pieces, in turns with that of
other connections, so that no client holds up the others (docs/decisions/0020).
"""

import re
from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from partita.dynamodb.decode import error_body
from partita.dynamodb.exceptions import SerializationException
from partita.http.asgi import EVENT_STREAM, UNLIMITED
from partita.http.sources import AllowedSources
from partita.server.connections import LARGE, Connections, MeasuredTransport, ReadControl, is_reset
from partita.server.dispatch import Dispatcher, ProtocolResponse, reply_head
from partita.server.protocol_app import MAX_BODY, TOO_LARGE
from partita.server.turns import Turns

REQUEST_SECONDS = 30.0  # from the first byte of a request to its last
IDLE_SECONDS = 75.0  # between requests on one connection
UNREAD_SECONDS = 30.0  # for a client to read what it has asked for
CHECK_SECONDS = 5.0  # between checks of those three

MAX_HEAD = 32 * 1024  # bytes of the request line and the headers
MAX_URL = 16 * 1024
MAX_HEADERS = 100
MAX_PIPELINED = 16  # requests that wait for their answer; further input waits as bytes
MOST_PIPELINED = 64  # the same with those that one piece of input may add; the connection closes after these
PIECE = 2048  # bytes of input that are parsed at once, unless they are the rest of a body
MAX_AT_ONCE = 32 * 1024  # bytes of input of which the first piece is parsed without waiting for a turn

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
_TARGETS = (b"DynamoDB_20120810.", b"DynamoDBStreams_20120810.")
_CLOSE = b"connection: close\r\n"

Headers = list[tuple[bytes, bytes]]
RestResponse = tuple[int, bytes, Headers]
NonblockingRead = Callable[[str, bytes, bytes, dict[bytes, bytes]], RestResponse]
"""From method, path, query string and headers to status, body and headers; neither blocks nor raises."""


@dataclass(frozen=True)
class FastPath:
    """What answers on the fast path: DynamoDB requests, reads below `/api/` where not None, from allowed sources."""

    dispatcher: Dispatcher | None
    nonblocking_read: NonblockingRead | None
    sources: AllowedSources


class Phase(Enum):
    """The part of a request that is being read."""

    IDLE = auto()
    HEADERS = auto()
    FAST = auto()
    ASGI = auto()
    CLOSING = auto()


IDLE, HEADERS, FAST, ASGI, CLOSING = Phase  # module names, since Python 3.11 looks up members of an enum slowly


class FastPathProtocol(HttpToolsProtocol):
    """uvicorn's protocol with the fast path, and with bounds on what a client may send, leave unread and wait for."""

    flow: ReadControl

    def __init__(self, fast_path: FastPath | None, connections: Connections, turns: Turns, **settings: Any) -> None:
        """Without a fast path every request goes through ASGI."""
        super().__init__(**settings)
        self._fast_path = fast_path
        self._open_connections = connections
        self._turns = turns
        self._phase = HEADERS  # the first request is timed from the connection on
        self._since = self.loop.time()
        self._check: TimerHandle | None = None

        self.url, self.headers = b"", []
        self._request_headers: dict[bytes, bytes] = {}
        self._head_bytes = 0  # of the request line and the headers, or of trailers, as far as they have arrived
        self._missing = 0  # bytes of the body that the Content-Length announces and that have not arrived
        self._body: bytes | bytearray = b""
        self._size = 0  # of the body, as far as it has arrived

        self._unparsed = memoryview(b"")
        self._parse_is_scheduled = False
        self._pipelined: deque[tuple[Callable[[], None], int]] = deque()  # answers to give, and the requests' sizes
        self._pipelined_bytes = 0
        self._is_answering = False  # requests may be read meanwhile
        self._answering_bytes = 0  # of the body of the request that is being answered
        self._written_bytes = 0  # of the last write, which stay in memory until the client has read all of them
        self._cycle_in_progress: RequestResponseCycle | None = None
        self._waiting_cycles = 0  # ASGI requests among the pipelined ones
        self._is_unlimited = False  # its response is a stream of events

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = ReadControl(transport)
        self._check = self.loop.call_later(CHECK_SECONDS, self._check_timeouts)
        self._open_connections.add(self)
        self._turns.on_arrival()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._check is not None:
            self._check.cancel()
        self._open_connections.remove(self)
        self._phase = CLOSING
        self._unparsed, self._body = memoryview(b""), b""
        self._pipelined.clear()
        cycle = self._cycle_in_progress
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    # Parsing what arrives

    def data_received(self, data: bytes) -> None:
        if self._unparsed:
            self._unparsed = memoryview(bytes(self._unparsed) + data)
            return
        is_body = self._phase is FAST or self._phase is ASGI
        if is_body and not self._turns.has_time():  # many connections send small pieces of bodies
            self._wait_for_turn(data)
            self._go_on()
        elif len(data) <= PIECE or len(data) <= min(self._missing, MAX_AT_ONCE):
            if is_body:
                self._turns.timed(partial(self._parse, data))
            else:
                self._parse(data)
            if self._is_full():
                self.flow.hold()
        else:
            self._wait_for_turn(data)
            if len(data) <= MAX_AT_ONCE:
                self._parse_piece()
            else:
                self._go_on()

    def _wait_for_turn(self, data: bytes) -> None:
        self._unparsed = memoryview(data)
        self.flow.hold()
        if len(data) >= LARGE:
            self._open_connections.on_growth(self)

    def _parse_piece(self) -> None:
        """Parses a piece of what waits, and schedules the next unless requests have to be answered first."""
        self._parse_is_scheduled = False
        size = max(PIECE, self._missing)
        piece, self._unparsed = self._unparsed[:size], self._unparsed[size:]
        self._parse(piece)
        self._go_on()

    def _go_on(self) -> None:
        """Parses or reads more, as far as the bounds allow."""
        if self._is_full() or self._parse_is_scheduled:
            return
        if self._unparsed:
            self._parse_is_scheduled = True
            self._turns.run_later(self._parse_piece)
        elif self.flow.on_hold:
            self.flow.release()

    def _is_full(self) -> bool:
        too_many = len(self._pipelined) >= MAX_PIPELINED or self._pipelined_bytes >= LARGE
        return too_many or self._waiting_cycles > 0  # the body of such a request waits in the socket

    def _parse(self, data: bytes | memoryview) -> None:
        if self._phase is CLOSING:
            self._unparsed = memoryview(b"")
            return
        size = self._size
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._reject(400, "The request is not valid HTTP/1.1")
        else:
            if self._phase is not IDLE:
                self._check_bounds(len(data), self._size > size)

    def _feed(self, data: bytes | memoryview) -> None:
        """Parses data; a request for another protocol is read again as one that does not ask for it.

        The parser takes what follows the head of such a request for data of the other protocol. Java's HttpClient
        sends its first request so, with a body.
        """
        rest = data
        while True:
            try:
                self.parser.feed_data(rest)
            except httptools.HttpParserUpgrade as upgrade:
                rest = memoryview(rest)[upgrade.args[0] :]
                if self.parser.get_method() == b"CONNECT":
                    self._reject(405, "This server is no proxy")
                    return
                head = self._head_without_upgrade()
                self.parser = httptools.HttpRequestParser(self)
                self.parser.feed_data(head)
            else:
                return

    def _head_without_upgrade(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%b: %b\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        return b"%b %b HTTP/%b\r\n%b\r\n" % (self.parser.get_method(), self.url, version, b"".join(lines))

    def _check_bounds(self, parsed: int, has_grown: bool) -> None:
        """Rejects a request whose head, or whose trailers or chunk extensions, are too large."""
        if self._phase is CLOSING or has_grown:
            self._head_bytes = 0
            return
        self._head_bytes += parsed
        if len(self.url) > MAX_URL:
            self._reject(414, f"A URL may have at most {MAX_URL:,} bytes")
        elif self._head_bytes > MAX_HEAD or len(self.headers) > MAX_HEADERS:
            self._reject(431, f"The headers of a request may have at most {MAX_HEAD:,} bytes in {MAX_HEADERS} lines")

    def _reject(self, status: int, message: str) -> None:
        """Answers a request that cannot be read further, and closes the connection after that answer."""
        if self._phase is not CLOSING:
            if self._phase is ASGI:
                self._abandon_cycle()
            self._phase = CLOSING
            body = error_body(SerializationException(message))
            self._enqueue(partial(self._write, (status, body), _CLOSE))

    def _abandon_cycle(self) -> None:
        """Takes back a request whose body will never be complete: its application would wait for the rest of it."""
        if self._waiting_cycles:
            self._waiting_cycles -= 1
            self._pipelined_bytes -= self._pipelined.pop()[1]
        elif not self.cycle.response_started:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._cycle_in_progress = None
            self._is_answering = False

    def _reject_large(self) -> None:
        self._phase = CLOSING
        self._enqueue(partial(self._write, (413, TOO_LARGE), _CLOSE))

    # Reading a request

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        if self._phase is IDLE:  # empty lines before a request begin it again and again
            self._phase, self._since = HEADERS, self.loop.time()
            self._head_bytes = self._size = 0

    def on_headers_complete(self) -> None:
        if self._phase is CLOSING or self.parser.should_upgrade():
            return
        self._body, self._size, self._head_bytes = b"", 0, 0
        if not self.url.startswith(b"/"):
            self.headers = _with_host_of(self.url, self.headers)
        self._request_headers = headers = dict(self.headers)
        if len(self.url) > MAX_URL or len(self.headers) > MAX_HEADERS:
            self._check_bounds(0, has_grown=False)
            return
        length = headers.get(b"content-length")
        self._missing = 0 if length is None else int(length)
        if self._missing > MAX_BODY:
            self._reject_large()
            return
        if b"transfer-encoding" in headers and not _is_chunked_only(self.headers):
            self._reject(501, "Transfer-Encoding may be chunked only; name a compression in Content-Encoding")
            return
        if self._takes_fast_path(headers):
            self._phase = FAST
            return
        self._phase = ASGI
        url, raw_headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        extensions: dict[str, Any] = {UNLIMITED: self._exempt_from_limit}
        self.scope["extensions"] = extensions
        self.scope["headers"] = raw_headers  # `self.headers` is another list: trailers are not headers
        self.cycle = None  # type: ignore[assignment]  # so that uvicorn leaves the order of requests to `_enqueue`
        super().on_headers_complete()

    def _takes_fast_path(self, headers: dict[bytes, bytes]) -> bool:
        fast = self._fast_path
        if fast is None or self.expect_100_continue or not fast.sources.allows_without_origin(headers):
            return False
        if len(headers) != len(self.headers) or not self.parser.should_keep_alive():
            return False
        method = self.parser.get_method()
        if method == b"POST" and self.url == b"/":
            if b"content-encoding" in headers or b"gzip" in headers.get(b"accept-encoding", b""):
                return False
            return fast.dispatcher is not None and headers.get(b"x-amz-target", b"").startswith(_TARGETS)
        is_read = method in (b"GET", b"HEAD") and self.url.startswith(b"/api/")
        return is_read and self._is_plain_read(fast, headers)

    def _is_plain_read(self, fast: FastPath, headers: dict[bytes, bytes]) -> bool:
        if EVENT_STREAM in headers.get(b"accept", b""):
            return False
        has_body = b"content-length" in headers or b"transfer-encoding" in headers
        return fast.nonblocking_read is not None and not has_body and self.url != b"/api/" and b"#" not in self.url

    def on_body(self, body: bytes) -> None:
        if self._phase is CLOSING:
            return
        before, self._size = self._size, self._size + len(body)
        self._missing = max(0, self._missing - len(body))
        if self._phase is FAST:
            if self._size > MAX_BODY:
                self._reject_large()
                return
            if not self._body:
                self._body = body
            else:  # one buffer: a body may arrive in millions of chunks
                self._body = self._body if isinstance(self._body, bytearray) else bytearray(self._body)
                self._body += body
        else:
            super().on_body(body)
        if self._size // LARGE > before // LARGE:
            self._open_connections.on_growth(self)

    def on_message_complete(self) -> None:
        phase = self._phase
        if phase is CLOSING or self.parser.should_upgrade():
            return
        self._phase, self._since = IDLE, self.loop.time()
        self._missing = 0
        self._open_connections.on_request(self)
        if phase is ASGI:
            self._count_body_of_cycle()
            super().on_message_complete()
        else:
            self._enqueue(self._answer_to_request(), self._size)

    def _count_body_of_cycle(self) -> None:
        if self._cycle_in_progress is self.cycle:
            self._answering_bytes = self._size
        elif self._pipelined:
            answer, _ = self._pipelined[-1]
            self._pipelined[-1] = answer, self._size
            self._pipelined_bytes += self._size

    def _answer_to_request(self) -> Callable[[], None]:
        """The call that answers the request that has just been read."""
        if self.url != b"/":
            return partial(self._read, self.parser.get_method().decode(), self.url, self._request_headers)
        body, self._body = bytes(self._body), b""  # not two copies until the next request
        return partial(self._answer, self._request_headers[b"x-amz-target"], body)

    # Answering it

    def _enqueue(self, answer: Callable[[], None], size: int = 0) -> None:
        """Answers a request, now or after those before it; `size` is that of its body."""
        if not (self._is_answering or self._pipelined or self.flow.write_paused):
            self._answering_bytes = size
            answer()
            return
        self._pipelined.append((answer, size))
        self._pipelined_bytes += size
        if len(self._pipelined) >= MOST_PIPELINED:
            self._phase = CLOSING

    def _answer(self, target: bytes, body: bytes) -> None:
        assert self._fast_path is not None
        assert self._fast_path.dispatcher is not None
        self._is_answering = True
        response = self._fast_path.dispatcher.dispatch(target, body, self._on_response, self._is_open)
        if response is not None:
            self._is_answering = False
            self._write(response)

    def _read(self, method: str, url: bytes, headers: dict[bytes, bytes]) -> None:
        assert self._fast_path is not None
        assert self._fast_path.nonblocking_read is not None
        path, _, query = url.partition(b"?")
        work = partial(self._fast_path.nonblocking_read, method, path, query, headers)
        self._is_answering = True
        response = self._turns.run(work, partial(self._on_read, method), self._is_open)
        if response is not None:
            self._is_answering = False
            self._write_read(method, response)

    def _on_read(self, method: str, response: RestResponse) -> None:
        if not self.transport.is_closing():
            self._write_read(method, response)
            self._after_answer()

    def _write_read(self, method: str, response: RestResponse) -> None:
        status, body, headers = response
        lines = b"".join([b"%s: %s\r\n" % header for header in headers])
        self._send(status, lines, b"\r\n", b"" if method == "HEAD" else body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._waiting_cycles += 1
        self._enqueue(partial(self._run_cycle, cycle, app))

    def _run_cycle(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._waiting_cycles -= 1
        self._is_answering, self._cycle_in_progress = True, cycle
        cycle.transport = MeasuredTransport(self.transport, self._on_write)  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    def _on_write(self, size: int) -> None:
        self._written_bytes = size

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        self._cycle_in_progress = None
        self._since = self.loop.time()
        self._after_answer()

    def _on_response(self, response: ProtocolResponse) -> None:
        if not self.transport.is_closing():
            self._write(response)
            self._after_answer()

    def _is_open(self) -> bool:
        """Whether the client may still read an answer; the transport does not notice a reset while it does not read."""
        return not (self.transport.is_closing() or is_reset(self.transport.get_extra_info("socket")))

    def _after_answer(self) -> None:
        """Answers the requests that wait, as long as the client reads the answers, and then reads further ones."""
        self._is_answering, self._answering_bytes = False, 0
        while self._pipelined and not self._is_answering and not self.flow.write_paused:
            answer, size = self._pipelined.popleft()
            self._pipelined_bytes -= size
            self._answering_bytes = size
            answer()
        if self._phase is CLOSING and not self._pipelined and not self._is_answering:
            self.transport.close()
        elif self._unparsed or self.flow.on_hold:
            self._go_on()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._since = self.loop.time()
        self._open_connections.on_growth(self, is_reply=True)

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self._is_answering:
            self._after_answer()

    def _write(self, response: ProtocolResponse, more_headers: bytes = b"") -> None:
        status, body = response
        self._send(status, more_headers, reply_head(body), body)

    def _send(self, status: int, *parts: bytes) -> None:
        self.server_state.total_requests += 1
        self._since = self.loop.time()
        date = self.server_state.default_headers[0][1]
        reply = b"".join((_STATUS_LINES[status], b"date: ", date, b"\r\n", *parts))
        self._written_bytes = len(reply)
        self.transport.write(reply)
        if self._phase is CLOSING and not self._pipelined:
            self.transport.close()

    # Ending the connection

    def _exempt_from_limit(self) -> None:
        """Lets the connection stay open for as long as its response lasts, which a stop ends."""
        self._is_unlimited = True
        self._open_connections.remove(self)

    def shutdown(self) -> None:
        if self._is_unlimited:
            self.transport.close()
        elif self._cycle_in_progress is not None:
            self._cycle_in_progress.keep_alive = False
        elif self._is_answering:
            self._phase = CLOSING
        else:
            self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    @property
    def waiting_since(self) -> float | None:
        """Since when the connection has waited for its client, to send or to read."""
        return None if self._is_answering and not self.flow.write_paused else self._since

    @property
    def last_active(self) -> float:
        return self._since

    def held_bytes(self) -> int:
        arriving = self._size if self._phase in (FAST, ASGI) else 0
        answering = self._answering_bytes if self._is_answering else 0
        unread: int = self.transport.get_write_buffer_size()
        written = max(unread, self._written_bytes) if unread else 0
        return arriving + answering + self._pipelined_bytes + len(self._unparsed) + written

    def _check_timeouts(self) -> None:
        """Closes a connection whose client sends or reads too slowly, or has been idle for too long."""
        since = self.waiting_since
        limit = IDLE_SECONDS if self._phase is IDLE else REQUEST_SECONDS
        if self.flow.write_paused:
            limit = UNREAD_SECONDS
        if since is not None and self.loop.time() - since > limit:
            self.abort()
        else:
            self._check = self.loop.call_later(CHECK_SECONDS, self._check_timeouts)


def _with_host_of(url: bytes, headers: Headers) -> Headers:
    """The headers with the host that a whole URL names, which takes the place of the Host header (RFC 9112, 3.2.2)."""
    _, separator, rest = url.partition(b"://")
    if not separator:
        return headers
    authority = re.split(rb"[/?#]", rest, maxsplit=1)[0]
    return [(b"host", authority), *(header for header in headers if header[0] != b"host")]


def _is_chunked_only(headers: Headers) -> bool:
    """Whether the body has no other transfer coding: SDKs compress by Content-Encoding, which is decompressed."""
    return [value.strip().lower() for name, value in headers if name == b"transfer-encoding"] == [b"chunked"]
