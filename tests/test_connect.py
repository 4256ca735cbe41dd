"""`connect`: each kind of address gives its backend or store, and takes the settings that apply to it."""

import asyncio
import dataclasses
import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest

from partita import (
    AUTO,
    AsyncStore,
    CreatedAt,
    DesignError,
    Entity,
    Expires,
    Item,
    StorageClosed,
    Store,
    Table,
    connect,
    connect_async,
    get,
    pattern,
    prove,
)
from partita.connect import AsyncSettings, NetworkSettings, SyncSettings
from partita.dynamodb.requests import GetItem, ListTables
from partita.engine.async_engine import AsyncEngine
from partita.engine.engine import Engine
from partita.errors import ConfigurationError
from partita.remote.async_backend import AsyncRemoteBackend
from partita.remote.settings import RemoteSettings
from partita.remote.sync_backend import RemoteBackend
from partita.store.settings import SyncStoreSettings

NOON = datetime(2095, 1, 1, 12, tzinfo=UTC)
notes = Table("notes", pk="id", ttl="expires")


class Note(Entity, table=notes, key=("NOTE#{note_id}",)):
    note_id: str
    text: str
    until: datetime | None = None
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    gone = Expires("until")


def test_memory_and_file_are_engines(tmp_path: Path) -> None:
    for address in ("memory:", str(tmp_path / "notes.db"), tmp_path / "notes.db"):
        with connect(address) as backend:
            assert isinstance(backend, Engine)
            assert backend.call(ListTables()).table_names == []


def test_path_object_is_a_file_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    connect(Path("memory:")).close()
    assert Path("memory:").is_file()


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("https://dynamodb.eu-west-1.amazonaws.com", "https://dynamodb.eu-west-1.amazonaws.com"),
        ("dynamodb://eu-west-1", "https://dynamodb.eu-west-1.amazonaws.com"),
    ],
)
def test_address_over_http_is_remote(address: str, endpoint: str) -> None:
    """Opening sends nothing and looks for no keys."""
    with connect(address) as backend:
        assert isinstance(backend, RemoteBackend)
        assert backend.endpoint == endpoint


def test_event_loop_has_its_own_backends() -> None:
    async def kinds() -> list[type]:
        found = []
        for address in ("memory:", "http://127.0.0.1:8000", "dynamodb://eu-west-1"):
            backend = await connect_async(address)
            found.append(type(backend))
            await backend.close()
        return found

    assert asyncio.run(kinds()) == [AsyncEngine, AsyncRemoteBackend, AsyncRemoteBackend]


def refusal(address: Any, *design: Any, **settings: Any) -> str:
    """The error of `connect`, which is that of `connect_async` too."""
    with pytest.raises(ConfigurationError) as refused:
        connect(address, *design, **settings)
    with pytest.raises(ConfigurationError) as refused_async:
        asyncio.run(connect_async(address, *design, **settings))
    assert str(refused.value) == str(refused_async.value)
    return str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "s3://bucket",
        "dynamo://eu-west-1",
        "dynamodb:",
        "MEMORY:",
        "memory:notes",
        " memory:",
        "a\0b",
        5,
        None,
        b"a.db",
    ],
)
def test_invalid_address_is_rejected_with_the_valid_ones(address: Any) -> None:
    assert refusal(address) == (
        f"{address!r} is not a valid address; use memory:, a file path, http://HOST:PORT, https://HOST "
        "or dynamodb://REGION"
    )


def test_invalid_durability_is_rejected(tmp_path: Path) -> None:
    said = refusal(tmp_path / "notes.db", durability="forever")
    assert said == "durability='forever' is not valid; use 'power' or 'process'"


@pytest.mark.parametrize(
    ("address", "settings", "said"),
    [
        (
            "memory:",
            {"durability": "process"},
            "durability is not a setting of 'memory:'; it applies to a database file",
        ),
        (
            "memory:",
            {"read_timeout": 1.0},
            "read_timeout is not a setting of 'memory:'; it applies to http://, https:// and dynamodb:// addresses",
        ),
        (
            "http://127.0.0.1:8000",
            {"maintain": False},
            "maintain is not a setting of 'http://127.0.0.1:8000'; it applies to an engine in this process",
        ),
        (
            "dynamodb://eu-west-1",
            {"clock": lambda: NOON},
            "clock is not a setting of 'dynamodb://eu-west-1'; it applies to a store or an engine in this process",
        ),
        ("memory:", {"retries": 3}, "retries is not a setting of 'memory:'; it applies to a store; pass a design"),
    ],
)
def test_setting_that_has_no_effect_on_the_address_is_rejected(
    address: str, settings: dict[str, Any], said: str
) -> None:
    assert refusal(address, **settings) == said


def test_unknown_setting_is_rejected_with_the_known_ones() -> None:
    said = refusal("memory:", durabilty="power")
    assert said.startswith("durabilty is not a setting of connect; its settings are region, credentials, ")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"clock": 5}, "clock=5 is not valid; use a function"),
        ({"sleep": 5}, "sleep=5 is not valid; use a function"),
        ({"retries": -1}, "retries=-1 is not valid; use a whole number, 0 or more"),
        ({"retries": "8"}, "retries='8' is not valid; use a whole number, 0 or more"),
        (
            {"table_names": "prod-"},
            "table_names='prod-' is not valid; use a mapping of table names, or a function of one",
        ),
        ({"on_call": print}, f"on_call={print!r} is not valid; use a list of functions"),
        ({"slow_call_seconds": "1"}, "slow_call_seconds='1' is not valid; use a number of seconds, 0 or more"),
        ({"tracer": 5}, "tracer=5 is not valid; use True, or an OpenTelemetry tracer"),
        ({"maintain": "no"}, "maintain='no' is not valid; use True or False"),
    ],
)
def test_invalid_value_of_a_setting_is_rejected_before_anything_is_opened(setting: Any, said: str) -> None:
    assert refusal("memory:", notes, **setting) == said


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"connect_timeout": 0}, "connect_timeout=0 is not valid; use a number of seconds above 0"),
        ({"read_timeout": "1"}, "read_timeout='1' is not valid; use a number of seconds above 0"),
        ({"connections": 0}, "connections=0 is not valid; use a whole number, 1 or more"),
        ({"region": 5}, "region=5 is not valid; use a text that is not empty"),
        ({"ca_bundle": "/absent.pem"}, "ca_bundle='/absent.pem' is not valid; use the path of a file"),
        (
            {"credentials": "key"},
            "credentials='key' is not valid; use Credentials(access_key, secret_key), of partita.remote.credentials",
        ),
    ],
)
def test_invalid_value_of_a_remote_setting_is_rejected_before_anything_is_opened(setting: Any, said: str) -> None:
    assert refusal("https://127.0.0.1:9", **setting) == said


def test_endpoint_that_cannot_be_parsed_is_rejected() -> None:
    assert refusal("http://[::1") == "'http://[::1' is not a valid endpoint: Invalid IPv6 URL"


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ([5], "5 is not a design; pass the result of prove(), or tables"),
        ([[]], "[] is not a design; pass the result of prove(), or tables"),
        ([prove("notes", notes), notes], "pass the design 'notes', or tables; the design has its tables already"),
    ],
)
def test_argument_that_is_no_design_is_rejected(design: Any, said: str) -> None:
    assert refusal("memory:", *design) == said


def test_setting_that_is_none_has_its_default() -> None:
    connect("memory:", durability=None, clock=None).close()


def test_connect_takes_every_setting_of_a_store_and_of_a_remote_backend() -> None:
    assert NetworkSettings.__annotations__.keys() == {field.name for field in dataclasses.fields(RemoteSettings)}
    for store, settings in ((Store, SyncSettings), (AsyncStore, AsyncSettings)):
        keywords = {
            name for name, each in inspect.signature(store).parameters.items() if each.kind is each.KEYWORD_ONLY
        }
        assert keywords == SyncStoreSettings.__annotations__.keys()
        assert keywords <= settings.__annotations__.keys()


@pattern
def note(note_id: str) -> Item[Note]: ...


def test_address_and_design_give_a_store(tmp_path: Path) -> None:
    with connect(str(tmp_path / "notes.db"), notes) as db:
        assert db.create_tables() == []
        db.create(Note(note_id="1", text="kept"))
    with connect(str(tmp_path / "notes.db"), notes) as db:
        assert db.one(note("1")).text == "kept"


def test_address_and_design_give_an_async_store_on_an_event_loop() -> None:
    async def run() -> str:
        async with await connect_async("memory:", notes) as db:
            await db.create_tables()
            await db.create(Note(note_id="1", text="awaited"))
            found = await db.get(note("1"))
            return found.text if found else "nothing"

    assert asyncio.run(run()) == "awaited"


def test_settings_reach_the_store() -> None:
    sent: list[Any] = []
    waits: list[float] = []
    keys = [b"k" * 16]
    with connect(
        "memory:",
        notes,
        sleep=waits.append,
        random=lambda: 1.0,
        retries=3,
        cursor_keys=keys,
        on_call=[sent.append],
    ) as db:
        db.create_tables()
        assert (db.context.retries, db.context.cursor_keys, db.context.random()) == (3, tuple(keys), 1.0)
        assert sent
        for _ in db.retrying("Note"):
            if waits:
                break


def test_one_clock_serves_the_engine_and_the_store() -> None:
    now = NOON
    with connect("memory:", notes, clock=lambda: now, maintain=False) as db:
        db.create_tables()
        made = db.create(Note(note_id="1", text="soon gone", until=NOON + timedelta(minutes=1)))
        assert made.created_at == NOON
        now += timedelta(minutes=2)
        assert db(note("1")) is None
        assert isinstance(db.backend, Engine)
        while db.backend.maintenance.step():
            pass
        assert db.backend.call(GetItem(table_name="notes", key={"id": {"S": "NOTE#1"}})).item is None


def test_design_is_proven_before_a_file_is_created(tmp_path: Path) -> None:
    broken = Table("broken", pk="id")

    class Thing(Entity, table=broken, key=("{thing_id}",)):
        thing_id: str

    class Other(Entity, table=broken, key=("{other_id}",)):
        other_id: str

    with pytest.raises(DesignError):
        connect(tmp_path / "broken.db", broken)
    assert not (tmp_path / "broken.db").exists()


@pytest.mark.parametrize("address", ["memory:", "notes.db"])
def test_closed_store_says_so_at_once(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    waits: list[float] = []
    db = connect(address, notes, sleep=waits.append)
    db.create_tables()
    db.create(Note(note_id="1", text=""))
    db.close()
    sends: list[Callable[[], object]] = [
        lambda: db.get(get(Note, "1")),
        lambda: db.create(Note(note_id="2", text="")),
        lambda: list(db.scan(Note)),
        db.create_tables,
    ]
    for send in sends:
        with pytest.raises(StorageClosed, match=rf"^{address} is closed; open it again with connect\(\)$"):
            send()
    assert waits == []
    db.close()
