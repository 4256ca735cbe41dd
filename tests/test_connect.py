"""`connect`: each kind of address gives its backend, and one that is none is explained."""

import asyncio
from pathlib import Path

import pytest

from partita import Entity, Item, Table, connect, connect_async, pattern
from partita.connect import open_backend, open_backend_async, open_engine
from partita.dynamodb.requests import ListTables
from partita.engine.async_engine import AsyncEngine
from partita.engine.engine import Engine
from partita.errors import ConfigurationError
from partita.remote.async_backend import AsyncRemoteBackend
from partita.remote.sync_backend import RemoteBackend


def test_memory_and_file_are_engines(tmp_path: Path) -> None:
    for address in ("memory:", str(tmp_path / "notes.db")):
        with open_backend(address) as backend:
            assert isinstance(backend, Engine)
            assert backend.call(ListTables()).table_names == []


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
    with open_backend(address) as backend:
        assert isinstance(backend, RemoteBackend)
        assert backend.endpoint == endpoint


def test_event_loop_has_its_own_backends() -> None:
    async def kinds() -> list[type]:
        found = []
        for address in ("memory:", "http://127.0.0.1:8000", "dynamodb://eu-west-1"):
            backend = await open_backend_async(address)
            found.append(type(backend))
            await backend.close()
        return found

    assert asyncio.run(kinds()) == [AsyncEngine, AsyncRemoteBackend, AsyncRemoteBackend]


@pytest.mark.parametrize("address", ["", "s3://bucket", "dynamo://eu-west-1"])
def test_address_that_is_none_is_explained(address: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        open_backend(address)
    assert str(refused.value) == (
        f"address: {address!r} is none; write memory:, the path of a database file, http://HOST:PORT, https://HOST "
        "or dynamodb://REGION"
    )


def test_engine_is_not_opened_at_an_address_over_http() -> None:
    with pytest.raises(ConfigurationError, match="is none; write memory:"):
        open_engine("http://127.0.0.1:8000")


def test_durability_that_is_none_is_explained() -> None:
    with pytest.raises(ConfigurationError, match="durability: 'forever' is neither 'power' nor 'process'"):
        open_engine("memory:", durability="forever")  # type: ignore[arg-type]


notes = Table("notes", pk="id")


class Note(Entity, table=notes, key=("NOTE#{note_id}",)):
    note_id: str
    text: str


@pattern
def note(note_id: str) -> Item[Note]: ...


def test_an_address_and_a_design_give_a_store(tmp_path: Path) -> None:
    with connect(str(tmp_path / "notes.db"), notes) as db:
        assert db.create_tables() == []
        db.create(Note(note_id="1", text="kept"))
    with connect(str(tmp_path / "notes.db"), notes) as db:
        assert db.one(note("1")).text == "kept"


def test_the_same_on_an_event_loop() -> None:
    async def run() -> str:
        async with await connect_async("memory:", notes) as db:
            await db.create_tables()
            await db.create(Note(note_id="1", text="awaited"))
            found = await db.get(note("1"))
            return found.text if found else "nothing"

    assert asyncio.run(run()) == "awaited"
