"""Dependent items: moved keys, expired parents, limits on sums, guards of old keys."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest

from partita import (
    CountOf,
    Entity,
    Expires,
    F,
    InvalidValue,
    Item,
    Limit,
    LimitReached,
    NotUnique,
    ReferenceMissing,
    References,
    Store,
    SumOf,
    Table,
    Unique,
    pattern,
    prove,
)
from partita.dynamodb.requests import PutItem
from tests.store.clocks import Clock
from tests.store.conftest import fresh

harbour = Table("harbour", pk="PK", sk="SK", ttl="ttl")


class Berth(Entity, table=harbour, key=("BERTH#{berth_id}", "BERTH#{side}")):
    berth_id: str
    side: str
    name: Annotated[str, Unique()]
    boats: Annotated[int, CountOf(lambda: Boat)] = 0
    length: Annotated[Decimal, SumOf(lambda: Boat, "length")] = Decimal(0)

    room = Limit(F.length <= 10)


class Boat(Entity, table=harbour, key=("BOAT#{boat_id}", "BOAT")):
    boat_id: str
    berth_id: str
    side: str
    length: Decimal


class Pass(Entity, table=harbour, key=("PASS#{pass_id}", "PASS#{number:+4}"), old_keys=[("PASS#{pass_id}", "PASS")]):
    pass_id: str
    number: int = 0
    holder: Annotated[str, Unique()]
    until: datetime

    kept = Expires("until")


class Entry(Entity, table=harbour, key=("ENTRY#{entry_id}", "ENTRY")):
    entry_id: str
    pass_id: Annotated[str, References(lambda: Pass, via={"pass_id": "pass_id", "number": "number"})]
    number: int = 0


@pattern
def berth(berth_id: str, side: str) -> Item[Berth]: ...
@pattern
def a_pass(pass_id: str, number: int) -> Item[Pass]: ...
@pattern
def boat(boat_id: str) -> Item[Boat]: ...


design = prove("harbour", harbour)


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    store = fresh(backend, design, clock)
    store.create(Berth(berth_id="b", side="n", name="First"))
    return store


def moor(db: Store, boat_id: str, length: str) -> None:
    db.create(Boat(boat_id=boat_id, berth_id="b", side="n", length=Decimal(length)))


def test_moved_entity_takes_its_guards_along(db: Store) -> None:
    with db.change(berth("b", "n")) as draft:
        draft.side = "s"
    assert db.find_by_unique(Berth, "name", "First") == db.one(berth("b", "s"))
    with pytest.raises(NotUnique):
        db.create(Berth(berth_id="c", side="n", name="First"))


def test_entity_with_counted_children_cannot_change_its_key(db: Store) -> None:
    moor(db, "1", "3")
    with (
        pytest.raises(InvalidValue, match=r"^Berth: side cannot change: its Boat items would keep the old value$"),
        db.change(berth("b", "n")) as draft,
    ):
        draft.side = "s"
    db.delete(boat("1"))
    with db.change(berth("b", "n")) as draft:
        draft.side = "s"
    assert db.one(berth("b", "s")).boats == 0


def test_limit_on_a_sum_is_exact_to_the_last_decimal(db: Store) -> None:
    moor(db, "1", "9.5")
    with pytest.raises(LimitReached):
        moor(db, "2", "0.6")
    moor(db, "3", "0.5")
    assert db.one(berth("b", "n")).length == 10


def test_reference_to_an_expired_item_is_rejected(db: Store, clock: Clock) -> None:
    db.create(Pass(pass_id="p", holder="ann", until=clock.now + timedelta(hours=1)))
    db.create(Entry(entry_id="1", pass_id="p"))
    clock.passes(hours=2)
    with pytest.raises(ReferenceMissing):
        db.create(Entry(entry_id="2", pass_id="p"))


def old_pass(db: Store, until: str) -> None:
    """An item and its guard as an earlier version of the design stored them."""
    key = {"PK": {"S": "PASS#p"}, "SK": {"S": "PASS"}}
    item = {**key, "pass_id": {"S": "p"}, "number": {"N": "0"}, "holder": {"S": "ann"}, "until": {"S": until}}
    guard: dict[str, dict[str, Any]] = {
        "PK": {"S": "UNIQUE#Pass#holder#ann"},
        "SK": {"S": "UNIQUE"},
        "guardOf": {"M": key},
    }
    rows: list[dict[str, dict[str, Any]]] = [item, guard]
    for each in rows:
        db.backend.call(PutItem(table_name="harbour", item=each))


def test_guard_follows_its_item_from_an_old_key(db: Store) -> None:
    old_pass(db, "2099-01-01T00:00:00.000000Z")
    assert db.adopt().refused == []
    assert db.find_by_unique(Pass, "holder", "ann") == db.one(a_pass("p", 0))
    assert db.adopt().guards_created == 0
    assert db.delete(a_pass("p", 0)) is not None
    assert db.find_by_unique(Pass, "holder", "ann") is None


def test_item_under_an_old_key_is_deleted_with_its_guard(db: Store) -> None:
    old_pass(db, "2099-01-01T00:00:00.000000Z")
    assert db.delete(a_pass("p", 0)) is not None
    assert db.find_by_unique(Pass, "holder", "ann") is None


def test_adoption_leaves_expired_items_alone(db: Store, clock: Clock) -> None:
    db.create(Pass(pass_id="p", holder="ann", until=clock.now + timedelta(hours=1)))
    clock.passes(hours=2)
    db.create(Pass(pass_id="q", holder="ann", until=clock.now + timedelta(hours=1)))
    done = db.adopt()
    assert (done.refused, done.rewritten, done.guards_created) == ([], 0, 0)
