"""Backends that answer reads alone."""

from typing import Any, TypeVar

from partita.dynamodb.backend import AsyncBackend, Backend
from partita.dynamodb.operations import is_read
from partita.dynamodb.requests import Request
from partita.errors import ReadOnlyStore

Reply = TypeVar("Reply")


def _check(request: Request[Any]) -> None:
    if not is_read(request):
        raise ReadOnlyStore(type(request).__name__)


class ReadOnlyBackend:
    """A backend of which every write is rejected."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.cursor_key: bytes | None = getattr(backend, "cursor_key", None)
        self.engine: Any = getattr(backend, "engine", backend)  # by which a text index knows the data

    def call(self, request: Request[Reply], /) -> Reply:
        _check(request)
        return self._backend.call(request)

    def close(self) -> None:
        """Closes the backend, if it can be closed."""
        close = getattr(self._backend, "close", None)
        if close is not None:
            close()


class AsyncReadOnlyBackend:
    """The same on an event loop."""

    def __init__(self, backend: AsyncBackend) -> None:
        self._backend = backend
        self.cursor_key: bytes | None = getattr(backend, "cursor_key", None)

    async def call(self, request: Request[Reply], /) -> Reply:
        _check(request)
        return await self._backend.call(request)

    async def close(self) -> None:
        """Closes the backend, if it can be closed."""
        close = getattr(self._backend, "close", None)
        if close is not None:
            await close()
