"""Invariants where several rules meet: limits and their bounds, guards of earlier items, conditions on nothing."""

import enum
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

import msgspec
import pytest

from partita import (
    ConditionFailed,
    CountOf,
    DesignError,
    Entity,
    F,
    InvalidValue,
    Item,
    Limit,
    LimitReached,
    NotFound,
    Store,
    Table,
    Unique,
    Version,
    VersionConflict,
    connect,
    pattern,
    prove,
)

table = Table("corners", pk="PK", sk="SK")


class Box(Entity, table=table, key=("BOX#{box_id}", "BOX")):
    box_id: str
    most: int = 3
    held: Annotated[int, CountOf(lambda: Thing)] = 0
    version: Annotated[int, Version()] = 0
    room = Limit(F.held <= F.most)


class Total(Entity, table=table, key=("TOTAL", "TOTAL")):
    things: Annotated[int, CountOf(lambda: Thing)] = 0


class Thing(Entity, table=table, key=("BOX#{box_id}", "THING#{name}")):
    box_id: str
    name: str
    price: Annotated[Decimal, Unique(keep_after_delete=True)]
    step: Annotated[int, msgspec.Meta(multiple_of=5)] = 0
    groups: dict[str, set[str]] = msgspec.field(default_factory=dict)


@pattern
def box(box_id: str) -> Item[Box]: ...


@pattern
def total() -> Item[Total]: ...


@pattern
def thing(box_id: str, name: str) -> Item[Thing]: ...


design = prove("corners", table)


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, design)
        store.create_tables()
        store.create(Total())
        store.create(Box(box_id="b"))
        for number in (1, 2):
            store.create(Thing(box_id="b", name=str(number), price=Decimal(number)))
        yield store


def add_with_step_of_the_bound(db: Store, by: int) -> None:
    with db.transaction() as together:
        together.change(box("b")).most += by
        together.create(Thing(box_id="b", name="new", price=Decimal(9)))


def test_limit_holds_for_the_bound_after_its_step(db: Store) -> None:
    with pytest.raises(LimitReached):
        add_with_step_of_the_bound(db, -1)
    add_with_step_of_the_bound(db, 0)
    with pytest.raises(LimitReached):
        db.create(Thing(box_id="b", name="more", price=Decimal(10)))


def test_bound_that_grows_in_the_transaction_makes_room(db: Store) -> None:
    db.create(Thing(box_id="b", name="3", price=Decimal(3)))
    add_with_step_of_the_bound(db, 1)
    assert (db.one(box("b")).held, db.one(box("b")).most) == (4, 4)


def test_counter_may_be_in_an_item_without_key_parts(db: Store) -> None:
    assert db.one(total()).things == 2


def test_kept_value_is_not_found_on_a_later_item_with_the_same_key(db: Store) -> None:
    db.delete(thing("b", "1"))
    db.create(Thing(box_id="b", name="1", price=Decimal(7)))
    assert db.find_by_unique(Thing, "price", Decimal(1)) is None
    assert db.find_by_unique(Thing, "price", Decimal("7.0")) == db.one(thing("b", "1"))


@pytest.mark.parametrize("zero", [Decimal("0.00"), Decimal("-0"), Decimal("0E+5")])
def test_zero_is_found_however_it_is_written(db: Store, zero: Decimal) -> None:
    made = db.create(Thing(box_id="b", name="free", price=Decimal(0)))
    assert db.find_by_unique(Thing, "price", zero) == made


def test_condition_of_a_deletion_is_false_for_a_missing_item(db: Store) -> None:
    with pytest.raises(ConditionFailed):
        db.delete(thing("b", "none"), when=F.step == 0)

    def both() -> None:
        with db.transaction() as together:
            together.delete(thing("b", "none"), when=F.step == 0)
            together.delete(thing("b", "1"))

    with pytest.raises(ConditionFailed):
        both()
    assert db(thing("b", "1")) is not None


def test_change_without_edits_checks_what_it_requires(db: Store) -> None:
    with pytest.raises(ConditionFailed), db.change(box("b"), when=F.most == 1):
        pass
    with pytest.raises(VersionConflict), db.change(box("b"), version=9):
        pass
    with pytest.raises(NotFound), db.change(box("none"), when=F.most.is_absent()):
        pass


def test_step_keeps_a_multiple(db: Store) -> None:
    with db.change(thing("b", "1")) as draft:
        draft.step += 10
    with pytest.raises(InvalidValue, match="must be a multiple of 5"), db.change(thing("b", "1")) as draft:
        draft.step += 3
    assert db.one(thing("b", "1")).step == 10


def test_empty_set_inside_a_dict_is_rejected_and_not_lost(db: Store) -> None:
    with pytest.raises(InvalidValue, match="an empty set cannot be stored inside a list or dict"):
        db.create(Thing(box_id="b", name="e", price=Decimal(5), groups={"a": set()}))
    assert db(thing("b", "e")) is None


def test_enum_that_a_key_could_not_give_back_is_rejected() -> None:
    class Mood(enum.StrEnum):
        GOOD = "e\u0301"

    other = Table("moods", pk="PK", sk="SK")
    with pytest.raises(DesignError, match="is not in the composed form"):

        class Day(Entity, table=other, key=("DAY", "{mood}")):
            mood: Mood
