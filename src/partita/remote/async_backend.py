"""A remote DynamoDB for an event loop: requests over a pool of kept connections, by aiohttp."""

import asyncio
from io import BytesIO
from typing import Self, TypeVar

from partita.dynamodb.requests import Request
from partita.errors import ConfigurationError, NoReply
from partita.remote.credentials import Credentials
from partita.remote.endpoints import Endpoint
from partita.remote.protocol import body_of, reply_of, wire_format
from partita.remote.settings import RemoteSettings
from partita.remote.signing import Signer

try:
    import aiohttp
    from yarl import URL
except ModuleNotFoundError as missing:
    raise ConfigurationError(
        "an address over HTTP on an event loop needs aiohttp, which is not installed: pip install 'partita[async]'"
    ) from missing

Reply = TypeVar("Reply")

_LARGE = 1 << 20  # aiohttp sends raw bytes in one go and warns beyond this; what it reads as a file goes in pieces
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


class AsyncRemoteBackend:
    """The DynamoDB at an address, for the running event loop; opened by `open`, closed by `close` or `async with`."""

    def __init__(self, endpoint: Endpoint, settings: RemoteSettings) -> None:
        self._credentials = settings.source(endpoint)
        self._host = AsyncConnection(endpoint)
        self._streams_host = AsyncConnection(endpoint.for_streams())
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

    @classmethod
    async def open(cls, address: str, settings: RemoteSettings | None = None) -> Self:
        """Opens a backend; what may read files or the network for that happens in a thread."""
        settings = settings or RemoteSettings()
        return cls(await asyncio.to_thread(settings.endpoint, address), settings)

    @property
    def endpoint(self) -> str:
        """Where requests go."""
        return self._host.name

    async def call(self, request: Request[Reply]) -> Reply:
        """Answers a request, or raises the `DynamoDBError` that came back, or `NoReply`."""
        form = wire_format(type(request))
        body = body_of(request)
        host = self._streams_host if form.streams else self._host
        if self._session.closed:
            raise NoReply(host.name, "this backend is closed", perhaps_executed=False)
        headers = host.signer.headers(await self._keys(), form.target, body)
        try:
            async with self._session.post(
                host.url,
                data=body if len(body) < _LARGE else BytesIO(body),
                headers=headers,
                proxy=host.proxy,
                allow_redirects=False,
            ) as response:
                status, answered, answer = response.status, response.headers, await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NoReply(host.name, _reason(error), perhaps_executed=not isinstance(error, _NEVER_SENT)) from error
        return reply_of(request, host.name, status, answered, answer)

    async def close(self) -> None:
        """Closes the kept connections."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _keys(self) -> Credentials:
        if self._credentials.blocks():
            return await asyncio.to_thread(self._credentials.current)
        return self._credentials.current()


class AsyncConnection:
    """A host by name, as a URL, and the signer that knows it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = endpoint.url
        self.url = URL(endpoint.url + "/")
        self.proxy = endpoint.proxy()
        self.signer = Signer(endpoint)


def _reason(error: Exception) -> str:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return "no connection within the time-out"
        case TimeoutError():
            return "no reply within the time-out"
        case aiohttp.ClientConnectorError():
            return str(error.os_error)
    return f"the connection broke ({error})"
