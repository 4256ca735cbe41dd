"""The waist itself: whoever answers requests, in a thread or on an event loop."""

from typing import Protocol, TypeVar

from partita.wire.requests import Request

Reply = TypeVar("Reply")


class Backend(Protocol):
    """Answers a request or raises a `DynamoDBError`; any thread may call."""

    def call(self, request: Request[Reply]) -> Reply: ...

    def close(self) -> None: ...


class AsyncBackend(Protocol):
    """The same on an event loop."""

    async def call(self, request: Request[Reply]) -> Reply: ...

    async def close(self) -> None: ...
