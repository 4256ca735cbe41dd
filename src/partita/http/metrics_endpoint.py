"""`GET /metrics`: metrics for Prometheus, on loopback for everyone, elsewhere for those who have the token."""

import hmac
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from partita.errors import ConfigurationError
from partita.http.hosts import is_loopback
from partita.http.sources import AllowedSources

PATH = "/metrics"
TEXT = "text/plain; charset=utf-8"
TOKEN_VARIABLE = "PARTITA_METRICS_TOKEN"
SLOW_SECONDS = 10.0  # until a silent client is disconnected
FRESH_SECONDS = 1.0  # that a response is given again: reading the metrics costs more than asking for them
MAX_CONNECTIONS = 8  # to the port of the metrics; a further one closes the oldest

_log = logging.getLogger("partita.metrics")


class MetricsResponse(NamedTuple):
    status: int
    content_type: str
    body: bytes


class MetricsEndpoint:
    """Answers requests for metrics.

    render   Returns the metrics; it is called in any thread.
    host     The address that the server listens on.
    token    The bearer token that a request must have; without one, the endpoint answers on loopback only.
    """

    def __init__(
        self,
        render: Callable[[], bytes],
        content_type: str,
        *,
        host: str,
        token: str | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._render = render
        self._clock = clock
        self._lock = threading.Lock()
        self._rendered: tuple[float, bytes] | None = None
        self._content_type = content_type
        self._token = token
        self.is_open = token is not None or is_loopback(host)

    def respond(self, authorization: bytes) -> MetricsResponse:
        """The response to a request with this Authorization header, which may be empty."""
        if not self.is_open:
            return MetricsResponse(403, TEXT, f"set {TOKEN_VARIABLE} on the server, and send it\n".encode())
        if self._token is not None:
            scheme, _, given = authorization.partition(b" ")
            is_right = hmac.compare_digest(given.strip(), self._token.encode())
            if scheme.lower() != b"bearer" or not is_right:
                return MetricsResponse(401, TEXT, b"send the header Authorization: Bearer TOKEN\n")
        try:
            return MetricsResponse(200, self._content_type, self._metrics())
        except Exception:  # noqa: BLE001 - the client gets a response, the log the traceback
            _log.exception("the metrics could not be read")
            return MetricsResponse(500, TEXT, b"the metrics could not be read; the server's log has the error\n")

    def _metrics(self) -> bytes:
        """The metrics, which are read at most once in a second, however many ask for them."""
        with self._lock:
            if self._rendered is None or self._clock() - self._rendered[0] >= FRESH_SECONDS:
                self._rendered = self._clock(), self._render()
            return self._rendered[1]


class MetricsServer(ThreadingHTTPServer):
    """A server with few connections at a time, each in a thread; the oldest one makes room for a new one."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: dict[socket.socket, None] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        while len(self._open) >= MAX_CONNECTIONS:
            with suppress(KeyError, StopIteration, RuntimeError):  # another thread has closed it
                self._end(next(iter(self._open)))
        self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that disconnect are no errors."""
        _log.debug("a request for metrics failed", exc_info=True)

    def _end(self, oldest: socket.socket) -> None:
        del self._open[oldest]
        with suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)


@contextmanager
def serve_metrics(endpoint: MetricsEndpoint, host: str, port: int) -> Iterator[int]:
    """Serves metrics on a port of their own while the context lasts; gives the port, which 0 lets the system choose."""
    if not endpoint.is_open:
        raise ConfigurationError(
            f"--metrics-host {host}: anyone who can reach this address could read the metrics; "
            f"set {TOKEN_VARIABLE} in the environment, or use a loopback address"
        )
    sources = AllowedSources([host])

    class MetricsRequestHandler(BaseHTTPRequestHandler):
        timeout = SLOW_SECONDS

        def do_GET(self) -> None:
            headers = [
                (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()
            ]
            rejection = sources.rejection(headers, self.request_version.removeprefix("HTTP/"))
            if rejection is not None:
                self._send(MetricsResponse(rejection.status, TEXT, f"{rejection.message}\n".encode()))
            elif self.path.partition("?")[0] != PATH:
                self._send(MetricsResponse(404, TEXT, f"only {PATH} is served here\n".encode()))
            else:
                self._send(endpoint.respond(dict(headers).get(b"authorization", b"")))

        def _send(self, response: MetricsResponse) -> None:
            self.send_response(response.status)
            self.send_header("content-type", response.content_type)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name in the base class
            """Logs nothing: a request every few seconds."""

    class AddressedServer(MetricsServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    try:
        server = AddressedServer((host, port), MetricsRequestHandler)
    except OSError as error:
        raise ConfigurationError(f"--metrics-host {host} --metrics-port {port}: {error.strerror}") from None
    with server:
        thread = threading.Thread(target=server.serve_forever, name="partita-metrics", daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
