"""A remote DynamoDB for threads: requests over a pool of kept connections, by urllib3."""

import math
import ssl
from typing import Self, TypeVar

from partita.dynamodb.requests import Request
from partita.errors import ConfigurationError, NoReply
from partita.remote.endpoints import Endpoint
from partita.remote.protocol import body_of, reply_of, wire_format
from partita.remote.settings import RemoteSettings
from partita.remote.signing import Signer

try:
    import urllib3
    from urllib3 import exceptions as failures
except ModuleNotFoundError as missing:
    raise ConfigurationError(
        "an address over HTTP needs urllib3, which is not installed: pip install 'partita[remote]'"
    ) from missing

Reply = TypeVar("Reply")

_NEVER_SENT = (
    failures.ConnectTimeoutError,
    failures.NewConnectionError,
    failures.ProxyError,
    failures.EmptyPoolError,
    failures.ClosedPoolError,
)


class RemoteBackend:
    """The DynamoDB at an address; close it, or use it in a `with` block.

    It never asks twice: whoever knows whether a request may be repeated does that.
    """

    def __init__(self, address: str, settings: RemoteSettings | None = None) -> None:
        settings = settings or RemoteSettings()
        endpoint = settings.endpoint(address)
        self._credentials = settings.source(endpoint)
        self._line = Connection(endpoint, settings)
        self._streams_line = Connection(endpoint.for_streams(), settings) if endpoint.amazon else self._line

    @property
    def endpoint(self) -> str:
        """Where requests go."""
        return self._line.url

    def call(self, request: Request[Reply]) -> Reply:
        """Answers a request, or raises the `DynamoDBError` that came back, or `NoReply`."""
        form = wire_format(type(request))
        body = body_of(request)
        line = self._streams_line if form.streams else self._line
        response = line.post(line.signer.headers(self._credentials.current(), form.target, body), body)
        return reply_of(request, line.url, response.status, response.headers, response.data)

    def close(self) -> None:
        """Closes the kept connections."""
        self._line.pool.close()
        self._streams_line.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Connection:
    """One host: its connections, and the signer that knows its name."""

    def __init__(self, endpoint: Endpoint, settings: RemoteSettings) -> None:
        self.url = endpoint.url
        self.signer = Signer(endpoint)
        self.pool = _pool(endpoint, settings)
        self._longest_wait = math.ceil(settings.read_timeout)

    def post(self, headers: dict[str, str], body: bytes) -> urllib3.BaseHTTPResponse:
        try:
            return self.pool.urlopen(
                "POST",
                "/",
                body=body,
                headers=headers,
                retries=False,
                redirect=False,
                assert_same_host=False,
                pool_timeout=self._longest_wait,
                decode_content=False,
            )
        except failures.HTTPError as error:
            raise NoReply(self.url, _reason(error), perhaps_executed=not _never_sent(error)) from error


def _pool(endpoint: Endpoint, settings: RemoteSettings) -> urllib3.HTTPConnectionPool:
    timeout = urllib3.Timeout(connect=settings.connect_timeout, read=settings.read_timeout)
    most = settings.connections
    trusted = settings.tls(endpoint)
    if trusted is None:
        return urllib3.HTTPConnectionPool(endpoint.host, endpoint.port, timeout=timeout, maxsize=most, block=True)
    proxy = endpoint.proxy()
    if proxy is None:
        return urllib3.HTTPSConnectionPool(
            endpoint.host, endpoint.port, timeout=timeout, maxsize=most, block=True, ssl_context=trusted
        )
    through = urllib3.ProxyManager(proxy, timeout=timeout, maxsize=most, block=True, ssl_context=trusted)
    return through.connection_from_host(endpoint.host, endpoint.port, endpoint.scheme)


def _never_sent(error: failures.HTTPError) -> bool:
    if isinstance(error, failures.SSLError):
        return bool(error.args) and isinstance(error.args[0], ssl.SSLCertVerificationError)
    return isinstance(error, _NEVER_SENT)


def _reason(error: failures.HTTPError) -> str:
    """What happened, without urllib3's own object in front of it."""
    match error:
        case failures.NewConnectionError():
            return str(error.__cause__ or error)
        case failures.ConnectTimeoutError():
            return "no connection within the time-out"
        case failures.ReadTimeoutError():
            return "no reply within the time-out"
        case failures.EmptyPoolError():
            return "every connection was busy for as long as the time-out"
        case failures.ClosedPoolError():
            return "this backend is closed"
        case failures.ProtocolError():
            return f"the connection broke ({error.args[-1]})"
    return str(error)
