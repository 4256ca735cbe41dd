"""The waist itself: whoever answers requests, in a thread or on an event loop."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

from partita.dynamodb.requests import Request

Reply = TypeVar("Reply")


class Backend(Protocol):
    """Answers a request or raises a `DynamoDBError`; any thread may call."""

    def call(self, request: Request[Reply], /) -> Reply: ...


class AsyncBackend(Protocol):
    """The same on an event loop."""

    async def call(self, request: Request[Reply], /) -> Reply: ...


class OwnedAsyncBackend(AsyncBackend, Protocol):
    """One that its owner closes."""

    async def close(self) -> None: ...


@runtime_checkable
class QuickBackend(Protocol):
    """An async backend that knows which requests it can answer without waiting, and needs no task for the others."""

    def answers_at_once(self, request: Request[Any]) -> bool: ...

    def call_at_once(self, request: Request[Any]) -> Any: ...

    def start(self, request: Request[Any], done: Callable[[Any, BaseException | None], None]) -> None: ...
