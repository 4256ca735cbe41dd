"""`connect`: opens the database at an address.

    memory:                 an engine in this process; the data ends with it
    notes.db                an engine in this process, on a database file
    http://127.0.0.1:8000   any server that speaks DynamoDB's protocol
    dynamodb://eu-west-1    Amazon DynamoDB, with keys from the environment or botocore's chain

The modules that an address needs are imported when it is opened: pytest imports `partita` in every run where
it is installed, and that import loads neither the engine nor an HTTP client.
"""

import os
import re
import time
from collections.abc import Callable, Container, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, overload

from partita.errors import ConfigurationError
from partita.setting_rules import FLAG, SettingRule, check_settings
from partita.store.settings import RULES, AsyncStoreSettings, SyncStoreSettings

if TYPE_CHECKING:
    from typing import Unpack

    from partita.design.tables import Table
    from partita.engine.async_engine import AsyncEngine
    from partita.engine.engine import Engine
    from partita.plan.design import Design
    from partita.remote.async_backend import AsyncRemoteBackend
    from partita.remote.credentials import CredentialSource
    from partita.remote.settings import RemoteSettings
    from partita.remote.sync_backend import RemoteBackend
    from partita.storage.sqlite_connection import Durability
    from partita.store.async_store import AsyncStore
    from partita.store.store import Store

Address: TypeAlias = "str | os.PathLike[str]"

_REMOTE_SCHEMES = ("http://", "https://", "dynamodb://")
_ANY_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+:")  # not the single letter of a drive
_REMOTE_ADDRESSES = "http://, https:// and dynamodb:// addresses"


class EmbeddedSettings(TypedDict, total=False):
    """Settings of an engine in this process."""

    clock: Callable[[], datetime] | None
    durability: "Durability | None"
    maintain: bool | None
    buckets: "str | os.PathLike[str] | None"


class NetworkSettings(TypedDict, total=False):
    """Settings of an address over HTTP; `remote.settings.RemoteSettings` describes each of them."""

    region: str | None
    credentials: "CredentialSource | None"
    connect_timeout: float | None
    read_timeout: float | None
    connections: int | None
    ca_bundle: str | None


class BackendSettings(EmbeddedSettings, NetworkSettings, total=False):
    """Settings of a backend."""


class SyncSettings(BackendSettings, SyncStoreSettings, total=False):
    """Settings of a store and of the backend that is opened for it."""

    read_only: bool | None


class AsyncSettings(BackendSettings, AsyncStoreSettings, total=False):
    """The same on an event loop."""

    read_only: bool | None


_OF_STORE = SyncStoreSettings.__annotations__
_APPLIES_TO = {
    **dict.fromkeys(NetworkSettings.__annotations__, _REMOTE_ADDRESSES),
    **dict.fromkeys(_OF_STORE, "a store; pass a design"),
    "clock": "a store or an engine in this process",
    "durability": "a database file",
    "maintain": "an engine in this process",
    "buckets": "an engine in this process",
    "read_only": "a store on a file or over HTTP; pass a design",
}
_RULES = {
    **RULES,
    "durability": SettingRule(lambda value: value in ("power", "process"), "'power' or 'process'"),
    "maintain": FLAG,
    "buckets": SettingRule(lambda value: isinstance(value, str | os.PathLike), "the path of a folder"),
    "read_only": FLAG,
}


@overload
def connect(
    address: "Literal['memory:'] | os.PathLike[str]", design: None = None, **settings: "Unpack[EmbeddedSettings]"
) -> "Engine": ...
@overload
def connect(address: str, design: None = None, **settings: "Unpack[BackendSettings]") -> "Engine | RemoteBackend": ...
@overload
def connect(
    address: "Address", design: "Design | Table", *tables: "Table", **settings: "Unpack[SyncSettings]"
) -> "Store": ...
def connect(
    address: "Address",
    design: "Design | Table | None" = None,
    *tables: "Table",
    **settings: "Unpack[SyncSettings]",
) -> "Engine | RemoteBackend | Store":
    """Opens an address: with a design, its store; without one, the backend that answers DynamoDB's requests.

    A path object is always a database file. A store closes the backend that was opened for it. Data that does not
    satisfy the design is a DesignMismatch: here for a file, and at the first operation for an address over HTTP.

    Settings of `memory:` and of a database file:
        clock          The time, as a function that returns an aware datetime. One clock serves the engine (TTL,
                       streams) and the store (CreatedAt, UpdatedAt, expired items).
        durability     What a committed write on a file survives: "power", loss of power (the default), or "process",
                       the end of the process.
        maintain       False leaves housekeeping, such as TTL, to calls of `engine.maintenance.step()`.
        buckets        A folder whose folders take the place of S3's buckets in exports, imports and bulk puts.

    Settings of addresses over HTTP:
        region, credentials, connect_timeout, read_timeout, connections, ca_bundle

    Settings of a store:
        clock, sleep, random, retries, cursor_keys, table_names, on_call, on_unreadable,
        slow_call_seconds, tracer: see `Store`

        read_only      True opens data that the design does not satisfy as well, and rejects every write. Reads of what
                       the data does not have yet are a NotReady.

    A setting that is None has its default. With an address over HTTP, `clock` serves the store alone: requests are
    signed with the time of the machine.

    >>> from partita.dynamodb.requests import ListTables
    >>> with connect("memory:") as backend:
    ...     backend.call(ListTables()).table_names
    []
    """
    given = _checked(address, design is not None, settings)
    if design is None:
        return _open_backend(address, given)
    from partita.store.base_store import proven
    from partita.store.store import Store

    design = proven(design, *tables)  # before a file is created for it
    if address == "memory:":
        return Store(_open_backend(address, given), design, **_chosen(given, _OF_STORE))
    from partita.store.design_watch import DesignWatch, own_design
    from partita.store.read_only import ReadOnlyBackend

    read_only = given.get("read_only", False)
    backend: Any = _open_backend(address, given)
    store = Store(ReadOnlyBackend(backend) if read_only else backend, own_design(design), **_chosen(given, _OF_STORE))
    store.watch = DesignWatch(store.design, store.context, read_only=read_only)
    if not _is_remote(address):
        try:
            store._check_design()
        except BaseException:
            backend.close()
            raise
    return store


@overload
async def connect_async(
    address: "Literal['memory:'] | os.PathLike[str]", design: None = None, **settings: "Unpack[EmbeddedSettings]"
) -> "AsyncEngine": ...
@overload
async def connect_async(
    address: str, design: None = None, **settings: "Unpack[BackendSettings]"
) -> "AsyncEngine | AsyncRemoteBackend": ...
@overload
async def connect_async(
    address: "Address", design: "Design | Table", *tables: "Table", **settings: "Unpack[AsyncSettings]"
) -> "AsyncStore": ...
async def connect_async(
    address: "Address",
    design: "Design | Table | None" = None,
    *tables: "Table",
    **settings: "Unpack[AsyncSettings]",
) -> "AsyncEngine | AsyncRemoteBackend | AsyncStore":
    """`connect` for the running event loop; the settings are the same, and `sleep` is awaited."""
    given = _checked(address, design is not None, settings)
    if design is None:
        return await _open_async_backend(address, given)
    from partita.store.async_store import AsyncStore
    from partita.store.base_store import proven

    design = proven(design, *tables)  # before a file is created for it
    if address == "memory:":
        return AsyncStore(await _open_async_backend(address, given), design, **_chosen(given, _OF_STORE))
    from partita.store.design_watch import DesignWatch, own_design
    from partita.store.read_only import AsyncReadOnlyBackend

    read_only = given.get("read_only", False)
    backend: Any = await _open_async_backend(address, given)
    asked = AsyncReadOnlyBackend(backend) if read_only else backend
    store = AsyncStore(asked, own_design(design), **_chosen(given, _OF_STORE))
    store.watch = DesignWatch(store.design, store.context, read_only=read_only)
    if not _is_remote(address):
        try:
            await store._check_design()
        except BaseException:
            await backend.close()
            raise
    return store


def _is_remote(address: "Address") -> bool:
    return isinstance(address, str) and address.startswith(_REMOTE_SCHEMES)


def _checked(address: "Address", has_design: bool, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have a value; rejects an invalid address, and a setting that has no effect on a valid one."""
    if not _is_valid(address):
        raise ConfigurationError(
            f"{address!r} is not a valid address; use memory:, a file path, http://HOST:PORT, https://HOST "
            "or dynamodb://REGION"
        )
    is_remote = _is_remote(address)
    usable = set(NetworkSettings.__annotations__ if is_remote else EmbeddedSettings.__annotations__)
    if address == "memory:":
        usable.discard("durability")
    if has_design:
        usable.update(_OF_STORE)
    if has_design and address != "memory:":
        usable.add("read_only")
    given = {name: value for name, value in settings.items() if value is not None}
    for name in given:
        if name not in _APPLIES_TO:
            raise ConfigurationError(f"{name} is not a setting of connect; its settings are {', '.join(_APPLIES_TO)}")
        if name not in usable:
            raise ConfigurationError(f"{name} is not a setting of {str(address)!r}; it applies to {_APPLIES_TO[name]}")
    check_settings(_RULES, given)
    return given


def _is_valid(address: Any) -> bool:
    """Whether it is an address; a text that looks like one of another scheme is not taken for the name of a file."""
    if isinstance(address, os.PathLike):
        return "\0" not in os.fsdecode(address)
    if not isinstance(address, str) or not address or address != address.strip() or "\0" in address:
        return False
    return address == "memory:" or _is_remote(address) or not ("://" in address or _ANY_SCHEME.match(address))


def _open_backend(address: "Address", given: Mapping[str, Any]) -> "Engine | RemoteBackend":
    if not _is_remote(address):
        return _open_engine(address, given)
    from partita.remote.sync_backend import RemoteBackend

    return RemoteBackend(str(address), _remote_settings(given))


async def _open_async_backend(address: "Address", given: Mapping[str, Any]) -> "AsyncEngine | AsyncRemoteBackend":
    if not _is_remote(address):
        from partita.engine.async_engine import AsyncEngine

        return AsyncEngine(_open_engine(address, given))
    from partita.remote.async_backend import AsyncRemoteBackend

    return await AsyncRemoteBackend.open(str(address), _remote_settings(given))


def _open_engine(address: "Address", given: Mapping[str, Any]) -> "Engine":
    """An engine in memory or on a file."""
    from partita.engine.engine import Engine
    from partita.storage.contract import Storage

    storage: Storage
    if address == "memory:":
        from partita.storage.memory import MemoryStorage

        storage = MemoryStorage()
    else:
        from partita.storage.sqlite import SqliteStorage

        storage = SqliteStorage(os.fsdecode(address), given.get("durability", "power"))
    clock = given.get("clock")
    seconds = time.time if clock is None else lambda: clock().timestamp()
    return Engine(storage, clock=seconds, maintain=given.get("maintain", True), buckets=given.get("buckets"))


def _remote_settings(given: Mapping[str, Any]) -> "RemoteSettings":
    from partita.remote.settings import RemoteSettings

    return RemoteSettings(**_chosen(given, NetworkSettings.__annotations__))


def _chosen(given: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in names}
