"""The interface of a backend: it answers requests, in a thread or on an event loop."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

from partita.dynamodb.requests import Request

Reply = TypeVar("Reply")


class Backend(Protocol):
    """Answers a request or raises a `DynamoDBError`; any thread may call."""

    def call(self, request: Request[Reply], /) -> Reply: ...


class AsyncBackend(Protocol):
    """Answers a request, or raises a `DynamoDBError`, on an event loop."""

    async def call(self, request: Request[Reply], /) -> Reply: ...


class OwnedAsyncBackend(AsyncBackend, Protocol):
    """An async backend that its owner has to close."""

    async def close(self) -> None: ...


@runtime_checkable
class NonblockingBackend(Protocol):
    """An async backend that can answer some requests without blocking, and the others through a callback."""

    def is_nonblocking(self, request: Request[Any]) -> bool: ...

    def call_nonblocking(self, request: Request[Any]) -> Any: ...

    def start(self, request: Request[Any], done: Callable[[Any, BaseException | None], None]) -> None: ...
