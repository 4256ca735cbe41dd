"""Items of other code with another ISO form of a time in their keys are listed, changed and deleted."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest

from partita import CountOf, Entity, Item, Items, NotFound, Owns, Store, Table, pattern, prove
from partita.dynamodb.requests import PutItem, Scan
from tests.store.clocks import Clock
from tests.store.conftest import fresh

AT = datetime(2025, 1, 1, 9, tzinfo=UTC)
logbook = Table("logbook", pk="PK", sk="SK")


class Ship(Entity, table=logbook, key=("SHIP#{ship}", "SHIP")):
    ship: str
    watches: Annotated[int, CountOf(lambda: Watch)] = 0

    log = Owns(lambda: (Entry, Watch))


class Entry(Entity, table=logbook, key=("SHIP#{ship}", "ENTRY#{at}#{number}")):
    ship: str
    at: datetime
    number: str
    text: str = ""


class Watch(Entity, table=logbook, key=("SHIP#{ship}", "WATCH#{at}")):
    ship: str
    at: datetime


@pattern
def entry(ship: str, at: datetime, number: str) -> Item[Entry]: ...
@pattern
def ship(ship: str) -> Item[Ship]: ...
@pattern
def entries(ship: str) -> Items[Entry]: ...


design = prove("logbook", logbook)


@pytest.fixture(params=["2025-01-01T09:00:00Z", "2025-01-01T09:00:00.000Z", "2025-01-01T09:00:00+00:00"])
def db(request: pytest.FixtureRequest, backend: Any, clock: Clock) -> Store:
    store = fresh(backend, design, clock)
    row = {"PK": "SHIP#s", "SK": f"ENTRY#{request.param}#1", "ship": "s", "at": request.param, "number": "1"}
    store.backend.call(PutItem(table_name="logbook", item={name: {"S": value} for name, value in row.items()}))
    return store


def keys(db: Store) -> list[str]:
    return [msgspec.json.decode(item)["SK"]["S"] for item in db.backend.call(Scan(table_name="logbook")).items or ()]


def test_item_with_a_foreign_timestamp_is_listed(db: Store) -> None:
    assert [each.at for each in db(entries("s"))] == [AT]


def test_item_with_a_foreign_timestamp_is_changed_under_its_new_key(db: Store) -> None:
    with db.change(entry("s", AT, "1")) as draft:
        draft.text = "Calm."
    assert keys(db) == ["ENTRY#2025-01-01T09:00:00.000000Z#1"]
    assert db.one(entry("s", AT, "1")).text == "Calm."


def test_item_with_a_foreign_timestamp_is_deleted(db: Store) -> None:
    (found,) = db(entries("s"))
    assert db.delete(found) is not None
    assert keys(db) == []
    assert db.delete(found) is None


def test_item_under_neither_key_is_not_found(db: Store) -> None:
    with pytest.raises(NotFound), db.change(entry("s", AT, "2")) as draft:
        draft.text = "Calm."


def test_item_with_a_foreign_timestamp_is_deleted_with_its_owner(db: Store) -> None:
    (found,) = [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name="logbook")).items or ()]
    watch = {"PK": found["PK"], "SK": {"S": f"WATCH#{found['at']['S']}"}, "ship": {"S": "s"}, "at": found["at"]}
    db.backend.call(PutItem(table_name="logbook", item=watch))
    db.create(Ship(ship="s"))
    assert db.delete(ship("s")) is not None
    assert keys(db) == []
