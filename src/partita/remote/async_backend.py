"""The remote backend for an event loop: `sync_backend` with `await`."""

import asyncio
from typing import Self, TypeVar

from partita.dynamodb.requests import Request
from partita.remote.async_connection_pool import AsyncConnectionPool
from partita.remote.credentials import Credentials
from partita.remote.endpoints import RemoteEndpoint
from partita.remote.protocol import Host, body_of, reply_of, wire_format
from partita.remote.settings import RemoteSettings

Reply = TypeVar("Reply")


class AsyncRemoteBackend:
    """The DynamoDB at an address, for the running event loop: made by `open`, closed by `close` or `async with`."""

    def __init__(self, endpoint: RemoteEndpoint, settings: RemoteSettings) -> None:
        self._credentials = settings.credential_source(endpoint)
        self._pool = AsyncConnectionPool(endpoint, settings)
        self._pools = dict.fromkeys(Host, self._pool)
        if endpoint.amazon:
            self._pools[Host.STREAMS] = AsyncConnectionPool(endpoint.for_streams(), settings)
            self._pools[Host.SEARCH] = AsyncConnectionPool(endpoint.for_search(), settings)

    @classmethod
    async def open(cls, address: str, settings: RemoteSettings | None = None) -> Self:
        """Opens a backend; files are read in a thread."""
        settings = settings or RemoteSettings()
        return cls(await asyncio.to_thread(settings.endpoint, address), settings)

    @property
    def endpoint(self) -> str:
        """The URL that requests are sent to."""
        return self._pool.url

    async def call(self, request: Request[Reply]) -> Reply:
        """Answers a request; raises the `DynamoDBError` of the reply, or `NoReply`."""
        form = wire_format(type(request))
        body = body_of(request)
        pool = self._pools[form.host]
        response = await pool.post(pool.signer.headers(await self._keys(), form.target, body), body)
        return reply_of(request, pool.url, response.status, response.headers, response.data)

    async def close(self) -> None:
        """Closes the open connections."""
        for pool in self._pools.values():
            await pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _keys(self) -> Credentials:
        if self._credentials.blocks():
            return await asyncio.to_thread(self._credentials.current)
        return self._credentials.current()
