"""Connections of an event loop to one host, by aiohttp: signed POST requests in, HTTP replies out."""

from collections.abc import Mapping
from io import BytesIO
from typing import NamedTuple

from partita.errors import NoReply
from partita.extras import needs
from partita.remote.endpoints import RemoteEndpoint
from partita.remote.settings import RemoteSettings
from partita.remote.signing import Signer

with needs("HTTP on an event loop", "async"):
    import aiohttp
    from yarl import URL

_LARGE = 1 << 20  # aiohttp sends bytes in one write and warns above this size; a file it sends in pieces
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


class HttpReply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    data: bytes


class AsyncConnectionPool:
    """The open connections to one host, and the signer of its requests; made inside the running event loop."""

    def __init__(self, endpoint: RemoteEndpoint, settings: RemoteSettings) -> None:
        self.url = endpoint.url
        self.signer = Signer(endpoint)
        self._url = URL(endpoint.url + "/")
        self._proxy = endpoint.proxy()
        trusted = settings.tls(endpoint)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=settings.connections, ssl=True if trusted is None else trusted),
            timeout=aiohttp.ClientTimeout(
                sock_connect=settings.connect_timeout, sock_read=settings.read_timeout, connect=settings.read_timeout
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept",),
        )

    async def post(self, headers: dict[str, str], body: bytes) -> HttpReply:
        """Sends a request once; raises `NoReply` when there is no answer to it."""
        if self._session.closed:
            raise NoReply(self.url, "this backend is closed", perhaps_executed=False)
        try:
            async with self._session.post(
                self._url,
                data=body if len(body) < _LARGE else BytesIO(body),
                headers=headers,
                proxy=self._proxy,
                allow_redirects=False,
            ) as response:
                return HttpReply(response.status, response.headers, await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NoReply(self.url, _reason(error), perhaps_executed=not isinstance(error, _NEVER_SENT)) from error

    async def close(self) -> None:
        await self._session.close()


def _reason(error: Exception) -> str:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return "no connection within the timeout"
        case TimeoutError():
            return "no reply within the timeout"
        case aiohttp.ClientConnectorError():
            return str(error.os_error)
    return f"the connection broke ({error})"
