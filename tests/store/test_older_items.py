"""An item from before its attributes were declared is written as if it had their defaults."""

from collections.abc import Callable
from decimal import Decimal
from itertools import chain, combinations
from typing import Annotated, Any, Literal

import msgspec
import pytest

from partita import (
    CountOf,
    Entity,
    F,
    Index,
    Item,
    Keys,
    Limit,
    PartitaError,
    References,
    Store,
    SumOf,
    Table,
    Transitions,
    Unique,
    Version,
    connect,
    pattern,
    prove,
)
from partita.dynamodb.requests import PutItem, Scan

table = Table("older", "PK", "SK", indexes=(Index("ByState", "GSI1PK", "GSI1SK"),))
State = Literal["open", "shut"]


class Shelf(Entity, table=table, key=("SHELF#{shelf}", "SHELF")):
    shelf: str
    most: int = 2
    heaviest: Decimal = Decimal("2.5")
    things: Annotated[int, CountOf(lambda: Thing)] = 0
    weight: Annotated[Decimal, SumOf(lambda: Thing, "weight")] = Decimal(0)
    used: int = 1
    level: Annotated[int, msgspec.Meta(le=3)] = 2
    state: Annotated[State, Transitions({"open": ["shut"], "shut": []}, start=["open"])] = "open"
    tags: set[str] = msgspec.field(default_factory=set)
    names: list[str] = msgspec.field(default_factory=list)
    version: Annotated[int, Version()] = 1

    room = Limit(F.things <= F.most)
    strength = Limit(F.weight <= F.heaviest)
    seats = Limit(F.used <= F.most)
    by_state = Keys("ByState", "{state}", "{shelf}", when=F.used <= 2)


class Thing(Entity, table=table, key=("SHELF#{shelf}", "THING#{name}")):
    shelf: Annotated[str, References(lambda: Shelf)]
    name: str
    weight: Decimal = Decimal(1)
    label: Annotated[str | None, Unique()] = None


@pattern
def a_shelf(shelf: str) -> Item[Shelf]: ...


@pattern
def a_thing(shelf: str, name: str) -> Item[Thing]: ...


design = prove("older", table)
MAY_LACK = ["most", "heaviest", "things", "weight", "used", "level", "state", "version"]
SUBSETS = list(chain([MAY_LACK], combinations(MAY_LACK, 1), combinations(MAY_LACK, 2)))


def create_things(*weights: str) -> Callable[[Store], Any]:
    def write(db: Store) -> None:
        with db.transaction() as transaction:
            for at, weight in enumerate(weights):
                transaction.create(Thing(shelf="s", name=str(at), weight=Decimal(weight)))

    return write


def edit(**steps: Any) -> Callable[[Store], Any]:
    def write(db: Store) -> None:
        with db.change(a_shelf("s")) as draft:
            for name, step in steps.items():
                setattr(draft, name, getattr(draft, name) + step if isinstance(step, int) else step)

    return write


def edit_with_version(db: Store) -> None:
    with db.change(a_shelf("s"), version=1) as draft:
        draft.names = ["x"]


def raise_bound_and_create(db: Store) -> None:
    with db.transaction() as transaction:
        draft = transaction.change(a_shelf("s"))
        draft.most += 1
        for at in range(3):
            transaction.create(Thing(shelf="s", name=str(at), weight=Decimal("0.5")))


def replace(db: Store) -> None:
    shelf = db.one(a_shelf("s"))
    shelf.used += 1
    db.replace(shelf)


WRITES: dict[str, Callable[[Store], Any]] = {
    "one thing": create_things("1"),
    "two things": create_things("1", "1"),
    "three things": create_things("0.1", "0.1", "0.1"),
    "a heavy thing": create_things("3"),
    "used + 1": edit(used=1),
    "used + 2": edit(used=2),
    "most - 5": edit(most=-5),
    "level + 1": edit(level=1),
    "level + 2": edit(level=2),
    "shut": edit(state="shut"),
    "open": edit(state="open"),
    "version": edit_with_version,
    "bound and things": raise_bound_and_create,
    "replace": replace,
    "update": lambda db: db.update(a_shelf("s"), lambda shelf: setattr(shelf, "used", shelf.used + 1)),
    "delete": lambda db: db.delete(a_shelf("s")),
    "thing and deletion": lambda db: (create_things("1")(db), db.delete(a_thing("s", "0"))),
}


def outcome(write: Callable[[Store], Any], lacks: tuple[str, ...] | list[str]) -> tuple[str, list[str]]:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, design)
        db.create_tables()
        db.create(Shelf(shelf="s"))
        (raw,) = list(backend.call(Scan(table_name="older")).items or ())
        item = {name: value for name, value in msgspec.json.decode(raw).items() if name not in lacks}
        backend.call(PutItem(table_name="older", item=item))
        try:
            write(db)
            error = ""
        except PartitaError as raised:
            error = f"{type(raised).__name__}: {raised}"
        return error, sorted(map(repr, db.scan(Shelf, Thing)))


@pytest.mark.parametrize("write", WRITES)
def test_item_without_attributes_is_written_as_one_with_their_defaults(write: str) -> None:
    whole = outcome(WRITES[write], ())
    differing = {lacks: found for each in SUBSETS if (found := outcome(WRITES[write], lacks := tuple(each))) != whole}
    assert not differing, whole


def test_limit_of_an_item_without_its_bound_is_the_default() -> None:
    assert outcome(WRITES["one thing"], ["most"])[0] == ""
    assert outcome(WRITES["two things"], ["most"])[0] == ""
    assert outcome(WRITES["three things"], ["most"])[0].startswith("LimitReached")
