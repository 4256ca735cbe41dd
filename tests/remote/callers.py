"""Both remote backends behind one interface, so that each test runs on both."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

from partita.dynamodb.requests import Request
from partita.remote.async_backend import AsyncRemoteBackend
from partita.remote.settings import RemoteSettings
from partita.remote.sync_backend import RemoteBackend

Reply = TypeVar("Reply")


class Call(Protocol):
    """`call` of a backend, sync or async."""

    def __call__(self, request: Request[Reply], /) -> Reply: ...


Opened = Callable[[str, RemoteSettings | None], AbstractContextManager[Call]]


@contextmanager
def in_thread(address: str, settings: RemoteSettings | None = None) -> Iterator[Call]:
    """The backend for threads."""
    with RemoteBackend(address, settings) as backend:
        yield backend.call


@contextmanager
def on_loop(address: str, settings: RemoteSettings | None = None) -> Iterator[Call]:
    """The backend for an event loop, with a loop of its own."""
    with asyncio.Runner() as runner:
        backend = runner.run(AsyncRemoteBackend.open(address, settings))

        def call(request: Request[Reply]) -> Reply:
            return runner.run(backend.call(request))

        try:
            yield call
        finally:
            runner.run(backend.close())
