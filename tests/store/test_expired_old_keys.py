"""Items under current and old keys, some of which have expired: an expired one counts as none for every operation."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AlreadyExists,
    ConditionFailed,
    Entity,
    Expires,
    F,
    Index,
    Item,
    Items,
    Keys,
    PartitaError,
    Store,
    Table,
    Unique,
    View,
    connect,
    pattern,
    prove,
    query,
)
from partita.dynamodb.requests import PutItem, Scan
from tests.store.clocks import Clock

NOW = Clock().now
table = Table(
    "passes",
    "PK",
    "SK",
    ttl="ttl",
    indexes=(Index("ByColor", "GSI1PK", "GSI1SK"), Index("Short", "GSI2PK", "GSI2SK", project=("text", "ttl"))),
)
OLD = [("PASS#{owner:plain}", "PASS-{number:plain}"), ("P-{owner:plain}", "{number:plain}")]


class Short(View):
    text: str
    short = Keys("Short", "SHORT#{color}", "{number:4}")


class Pass(Short, Entity, table=table, key=("PASS#{owner}", "PASS#{number:4}"), old_keys=OLD):
    owner: str
    number: int
    color: str = "red"
    until: datetime | None = None
    by_color = Keys("ByColor", "COLOR#{color}", "{number:4}")
    end = Expires("until")


class Named(
    Entity, table=table, key=("NAMED#{owner}", "NAMED#{number:4}"), old_keys=[("N-{owner:plain}", "{number:plain}")]
):
    owner: str
    number: int
    color: str = "red"
    text: str = ""
    nick: Annotated[str | None, Unique()] = None
    until: datetime | None = None
    end = Expires("until")


@pattern
def a_pass(owner: str, number: int) -> Item[Pass]: ...
@pattern
def a_named(owner: str, number: int) -> Item[Named]: ...
@pattern
def passes(owner: str) -> Items[Pass]: ...
@pattern
def by_color(color: str) -> Items[Pass]:
    return Pass.by_color.query(color)


@pattern
def shorts(color: str) -> Items[Short]:
    return Short.short.query(color)


@pattern
def from_three(owner: str) -> Items[Pass]:
    return query(Pass, owner).since(3).smallest_first("number")


design = prove("passes", table)
KEYS: dict[type[Any], list[tuple[str, str]]] = {
    Pass: [("PASS#ann", "PASS#0007"), ("PASS#ann", "PASS-7"), ("P-ann", "7")],
    Named: [("NAMED#ann", "NAMED#0007"), ("N-ann", "7")],
}
GETS: dict[type[Any], Any] = {Pass: a_pass, Named: a_named}
States = tuple[str, ...]


def opened(entity: type[Any], states: States) -> Store:
    db = Store(connect("memory:", maintain=False), design, clock=lambda: NOW, sleep=lambda _: None)
    db.create_tables()
    for place, ((pk, sk), state) in enumerate(zip(KEYS[entity], states, strict=True)):
        if state == "none":
            continue
        until = NOW + timedelta(days=-1 if state == "expired" else 1)
        item = {"PK": {"S": pk}, "SK": {"S": sk}, "owner": {"S": "ann"}, "number": {"N": "7"}, "color": {"S": "red"}}
        item |= {"text": {"S": str(place)}, "until": {"S": until.isoformat().replace("+00:00", "Z")}}
        item |= {"ttl": {"N": str(int(until.timestamp()))}}
        if entity is Pass:
            item |= {"GSI1PK": {"S": "COLOR#red"}, "GSI1SK": {"S": "0007"}}
            item |= {"GSI2PK": {"S": "SHORT#red"}, "GSI2SK": {"S": "0007"}}
        db.backend.call(PutItem(table_name="passes", item=item))
    return db


def raw(db: Store) -> list[Any]:
    return sorted(db.backend.call(Scan(table_name="passes")).items or (), key=bytes)


def change(db: Store, call: Any, **options: Any) -> None:
    with db.change(call, **options) as draft:
        draft.text = "new"


def together(act: Callable[[Any, Any], Any]) -> Callable[[Store, Any, Any], None]:
    def write(db: Store, call: Any, entity: Any) -> None:
        with db.transaction() as transaction:
            act(transaction, call)

    return write


def made(entity: type[Any]) -> Any:
    return entity(owner="ann", number=7, text="new", until=NOW + timedelta(days=2))


TRUE, FALSE = F.color == "red", F.color == "blue"
WRITES: dict[str, Callable[[Store, Any, Any], Any]] = {
    "nothing": lambda db, call, entity: None,
    "create": lambda db, call, entity: db.create(made(entity)),
    "put": lambda db, call, entity: db.put(made(entity)),
    "replace": lambda db, call, entity: db.replace(made(entity)),
    "change": lambda db, call, entity: change(db, call),
    "change when true": lambda db, call, entity: change(db, call, when=TRUE),
    "change when false": lambda db, call, entity: change(db, call, when=FALSE),
    "creating change": lambda db, call, entity: change(db, call, create=True),
    "update": lambda db, call, entity: db.update(call, lambda each: setattr(each, "text", "new")),
    "delete": lambda db, call, entity: db.delete(call),
    "delete when true": lambda db, call, entity: db.delete(call, when=TRUE),
    "delete when false": lambda db, call, entity: db.delete(call, when=FALSE),
    "delete when none": lambda db, call, entity: db.delete(call, when=F.color.is_absent()),
    "delete with a check": lambda db, call, entity: db.delete(call, check=lambda each: None),
    "key": lambda db, call, entity: db.update(call, lambda each: setattr(each, "number", 8)),
    "transaction: change": together(lambda t, call: setattr(t.change(call), "text", "new")),
    "transaction: change when false": together(lambda t, call: setattr(t.change(call, when=FALSE), "text", "new")),
    "transaction: creating change": together(lambda t, call: setattr(t.change(call, create=True), "text", "new")),
    "transaction: delete": together(lambda t, call: t.delete(call)),
    "transaction: delete when false": together(lambda t, call: t.delete(call, when=FALSE)),
    "transaction: check": together(lambda t, call: t.check(call, TRUE)),
    "transaction: check false": together(lambda t, call: t.check(call, FALSE)),
    "adopt": lambda db, call, entity: db.adopt().refused and None,
}


def visible(db: Store, entity: type[Any]) -> dict[str, Any]:
    call = GETS[entity]("ann", 7)
    seen: dict[str, Any] = {
        "get": db.get(call),
        "get_many": db.get_many([call, GETS[entity]("ann", 8)]),
        "transact_get": db.transact_get(call),
        "scan": list(db.scan(entity)),
        "scan where": list(db.scan(entity, where=F.color == "red")),
    }
    if entity is Pass:
        every = {"list": passes("ann"), "index": by_color("red"), "view": shorts("red"), "range": from_three("ann")}
        seen |= {name: list(db(each)) for name, each in every.items()}
        seen |= {f"{name} in pages": in_pages(db, each) for name, each in every.items()}
    return {name: repr(each) for name, each in seen.items()}


def in_pages(db: Store, call: Any) -> list[Any]:
    found, page = [], db(call).page(1)
    found += page.items
    while page.cursor is not None:
        page = db(call).page(1, page.cursor)
        found += page.items
    return found


def outcome(write: str, entity: type[Any], states: States) -> tuple[Any, ...]:
    db = opened(entity, states)
    before = raw(db)
    try:
        answer = repr(WRITES[write](db, GETS[entity]("ann", 7), entity))
    except PartitaError as error:
        answer = f"{type(error).__name__}: {error}"
        if isinstance(error, ConditionFailed | AlreadyExists):
            assert raw(db) == before, states
    return answer, visible(db, entity)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("entity", KEYS)
def test_expired_item_under_any_key_counts_as_none(entity: type[Any], write: str) -> None:
    for states in product(["none", "live", "expired"], repeat=len(KEYS[entity])):
        if "expired" in states:
            without = tuple("none" if state == "expired" else state for state in states)
            assert outcome(write, entity, states) == outcome(write, entity, without), states


@pytest.mark.parametrize("states", list(product(["none", "live"], repeat=3)))
def test_item_under_several_keys_is_listed_once_by_every_read(states: States) -> None:
    db = opened(Pass, states)
    seen = visible(db, Pass)
    first = str(states.index("live")) if "live" in states else None
    assert [each.text for each in in_pages(db, shorts("red"))] == ([] if first is None else [first])
    assert len({seen[name] for name in ("scan", "list", "index", "range")}) == 1
    assert seen["scan"] == repr([] if first is None else [db.get(a_pass("ann", 7))])


def test_deleted_item_that_has_expired_leaves_no_guard() -> None:
    clock = Clock()
    db = Store(connect("memory:", maintain=False, clock=clock), design, clock=clock)
    db.create_tables()
    db.create(Named(owner="ann", number=7, nick="a", until=clock.now + timedelta(minutes=1)))
    clock.passes(minutes=2)
    assert db.delete(a_named("ann", 7)) is None
    assert [msgspec.json.decode(each) for each in raw(db)] == []


def test_value_of_an_expired_item_stays_with_its_new_holder() -> None:
    clock = Clock()
    db = Store(connect("memory:", maintain=False, clock=clock), design, clock=clock)
    db.create_tables()
    db.create(Named(owner="ann", number=7, nick="a", until=clock.now + timedelta(minutes=1)))
    clock.passes(minutes=2)
    bob = db.create(Named(owner="bob", number=7, nick="a"))
    db.delete(a_named("ann", 7))
    assert db.find_by_unique(Named, "nick", "a") == bob
