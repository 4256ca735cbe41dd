"""`connect`: an address to a backend.

    memory:               an engine in this process, gone with it
    notes.db              an engine in this process, on a file
    http://127.0.0.1:8000 whatever answers DynamoDB's protocol there
    dynamodb://eu-west-1  Amazon DynamoDB, with botocore's credential chain

What an address needs is imported when it is opened: `import partita` happens in every pytest run of who has installed
us, and needs neither the engine nor an HTTP client.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from partita.errors import ConfigurationError

if TYPE_CHECKING:
    from partita.design.tables import Table
    from partita.engine.async_engine import AsyncEngine
    from partita.engine.engine import Engine
    from partita.plan.design import Design
    from partita.remote.async_backend import AsyncRemoteBackend
    from partita.remote.settings import RemoteSettings
    from partita.remote.sync_backend import RemoteBackend
    from partita.storage.sqlite import Durability
    from partita.store.async_store import AsyncStore
    from partita.store.store import Store

_REMOTE = ("http://", "https://", "dynamodb://")


def open_engine(
    address: str,
    *,
    durability: "Durability" = "power",
    clock: Callable[[], float] = time.time,
    maintain: bool = True,
) -> "Engine":
    """Opens an engine in this process: `memory:`, or the path of a database file.

    >>> from partita.dynamodb.requests import ListTables
    >>> with open_engine("memory:") as engine:
    ...     engine.call(ListTables()).table_names
    []
    """
    from partita.engine.engine import Engine
    from partita.storage.memory import MemoryStorage
    from partita.storage.sqlite import SqliteStorage

    if durability not in ("power", "process"):
        raise ConfigurationError(f"durability: {durability!r} is neither 'power' nor 'process'")
    if address == "memory:":
        return Engine(MemoryStorage(), clock=clock, maintain=maintain)
    if not address or "://" in address:
        raise ConfigurationError(
            f"address: {address!r} is none; write memory:, the path of a database file, http://HOST:PORT, "
            "https://HOST or dynamodb://REGION"
        )
    return Engine(SqliteStorage(address, durability), clock=clock, maintain=maintain)


@overload
def open_backend(
    address: Literal["memory:"], *, clock: Callable[[], float] = time.time, maintain: bool = True
) -> "Engine": ...


@overload
def open_backend(
    address: str,
    *,
    durability: "Durability" = "power",
    clock: Callable[[], float] = time.time,
    maintain: bool = True,
    remote: "RemoteSettings | None" = None,
) -> "Engine | RemoteBackend": ...


def open_backend(
    address: str,
    *,
    durability: "Durability" = "power",
    clock: Callable[[], float] = time.time,
    maintain: bool = True,
    remote: "RemoteSettings | None" = None,
) -> "Engine | RemoteBackend":
    """Opens a backend for threads; `remote` is about addresses over HTTP, the others are about the engine."""
    if address.startswith(_REMOTE):
        from partita.remote.sync_backend import RemoteBackend

        return RemoteBackend(address, remote)
    return open_engine(address, durability=durability, clock=clock, maintain=maintain)


async def open_backend_async(
    address: str,
    *,
    durability: "Durability" = "power",
    clock: Callable[[], float] = time.time,
    maintain: bool = True,
    remote: "RemoteSettings | None" = None,
) -> "AsyncEngine | AsyncRemoteBackend":
    """Opens a backend for the running event loop."""
    if address.startswith(_REMOTE):
        from partita.remote.async_backend import AsyncRemoteBackend

        return await AsyncRemoteBackend.open(address, remote)
    from partita.engine.async_engine import AsyncEngine

    return AsyncEngine(open_engine(address, durability=durability, clock=clock, maintain=maintain))


@overload
def connect(address: Literal["memory:"], *, clock: Callable[[], float] = ..., maintain: bool = ...) -> "Engine": ...
@overload
def connect(address: str, design: "Design | Table", *tables: "Table", **settings: Any) -> "Store": ...
@overload
def connect(address: str, **settings: Any) -> "Engine | RemoteBackend": ...
def connect(
    address: str, design: "Design | Table | None" = None, *tables: "Table", **settings: Any
) -> "Engine | RemoteBackend | Store":
    """Opens an address: with a design, its store; without one, the backend that answers DynamoDB's requests.

    The settings are those of `open_backend`; a store closes the backend that was opened for it.

    >>> from partita.dynamodb.requests import ListTables
    >>> with connect("memory:") as backend:
    ...     backend.call(ListTables()).table_names
    []
    """
    backend = open_backend(address, **settings)
    if design is None:
        return backend
    from partita.store.store import Store

    return Store(backend, design, *tables)


@overload
async def connect_async(address: str, design: "Design | Table", *tables: "Table", **settings: Any) -> "AsyncStore": ...
@overload
async def connect_async(address: str, **settings: Any) -> "AsyncEngine | AsyncRemoteBackend": ...
async def connect_async(
    address: str, design: "Design | Table | None" = None, *tables: "Table", **settings: Any
) -> "AsyncEngine | AsyncRemoteBackend | AsyncStore":
    """`connect` for the running event loop."""
    backend = await open_backend_async(address, **settings)
    if design is None:
        return backend
    from partita.store.async_store import AsyncStore

    return AsyncStore(backend, design, *tables)
