"""The remote backend for threads: a request to a signed HTTP request, its answer to a reply."""

from typing import Self, TypeVar

from partita.dynamodb.requests import Request
from partita.remote.connection_pool import ConnectionPool
from partita.remote.protocol import Host, body_of, reply_of, wire_format
from partita.remote.settings import RemoteSettings

Reply = TypeVar("Reply")


class RemoteBackend:
    """The DynamoDB at an address; close it, or use it in a `with` block.

    Requests are sent once: only the caller knows whether a request may be repeated.
    """

    def __init__(self, address: str, settings: RemoteSettings | None = None) -> None:
        settings = settings or RemoteSettings()
        endpoint = settings.endpoint(address)
        self._credentials = settings.credential_source(endpoint)
        self._pool = ConnectionPool(endpoint, settings)
        self._pools = dict.fromkeys(Host, self._pool)
        if endpoint.amazon:
            self._pools[Host.STREAMS] = ConnectionPool(endpoint.for_streams(), settings)
            self._pools[Host.SEARCH] = ConnectionPool(endpoint.for_search(), settings)

    @property
    def endpoint(self) -> str:
        """The URL that requests are sent to."""
        return self._pool.url

    def call(self, request: Request[Reply]) -> Reply:
        """Answers a request; raises the `DynamoDBError` of the reply, or `NoReply`."""
        form = wire_format(type(request))
        body = body_of(request)
        pool = self._pools[form.host]
        response = pool.post(pool.signer.headers(self._credentials.current(), form.target, body), body)
        return reply_of(request, pool.url, response.status, response.headers, response.data)

    def close(self) -> None:
        """Closes the open connections."""
        for pool in self._pools.values():
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
