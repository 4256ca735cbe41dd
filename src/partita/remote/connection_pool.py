"""Connections of threads to one host, by urllib3: signed POST requests in, HTTP replies out."""

import math
import ssl

from partita.errors import NoReply
from partita.extras import needs
from partita.remote.endpoints import RemoteEndpoint
from partita.remote.settings import RemoteSettings
from partita.remote.signing import Signer

with needs("an address over HTTP", "remote"):
    import urllib3
    from urllib3 import exceptions as failures

_NEVER_SENT = (
    failures.ConnectTimeoutError,
    failures.NewConnectionError,
    failures.ProxyError,
    failures.EmptyPoolError,
    failures.ClosedPoolError,
)


class ConnectionPool:
    """The open connections to one host, and the signer of its requests."""

    def __init__(self, endpoint: RemoteEndpoint, settings: RemoteSettings) -> None:
        self.url = endpoint.url
        self.signer = Signer(endpoint)
        self._pool = _urllib3_pool(endpoint, settings)
        self._wait_seconds = math.ceil(settings.read_timeout)

    def post(self, headers: dict[str, str], body: bytes) -> urllib3.BaseHTTPResponse:
        """Sends a request once; raises `NoReply` when there is no answer to it."""
        try:
            return self._pool.urlopen(
                "POST",
                "/",
                body=body,
                headers=headers,
                retries=False,
                redirect=False,
                assert_same_host=False,
                pool_timeout=self._wait_seconds,
                decode_content=False,
            )
        except failures.HTTPError as error:
            raise NoReply(self.url, _reason(error), perhaps_executed=not _never_sent(error)) from error

    def close(self) -> None:
        self._pool.close()


def _urllib3_pool(endpoint: RemoteEndpoint, settings: RemoteSettings) -> urllib3.HTTPConnectionPool:
    timeout = urllib3.Timeout(connect=settings.connect_timeout, read=settings.read_timeout)
    size = settings.connections
    trusted = settings.tls(endpoint)
    if trusted is None:
        return urllib3.HTTPConnectionPool(endpoint.host, endpoint.port, timeout=timeout, maxsize=size, block=True)
    proxy = endpoint.proxy()
    if proxy is None:
        return urllib3.HTTPSConnectionPool(
            endpoint.host, endpoint.port, timeout=timeout, maxsize=size, block=True, ssl_context=trusted
        )
    manager = urllib3.ProxyManager(proxy, timeout=timeout, maxsize=size, block=True, ssl_context=trusted)
    return manager.connection_from_host(endpoint.host, endpoint.port, endpoint.scheme)


def _never_sent(error: failures.HTTPError) -> bool:
    if isinstance(error, failures.SSLError):
        return bool(error.args) and isinstance(error.args[0], ssl.SSLCertVerificationError)
    return isinstance(error, _NEVER_SENT)


def _reason(error: failures.HTTPError) -> str:
    """The cause, without urllib3's object in front of it."""
    match error:
        case failures.NewConnectionError():
            return str(error.__cause__ or error)
        case failures.ConnectTimeoutError():
            return "no connection within the timeout"
        case failures.ReadTimeoutError():
            return "no reply within the timeout"
        case failures.EmptyPoolError():
            return "no free connection within the timeout"
        case failures.ClosedPoolError():
            return "this backend is closed"
        case failures.ProtocolError():
            return f"the connection broke ({error.args[-1]})"
    return str(error)
