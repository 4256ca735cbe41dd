"""Drafts: an edit is applied, or rejected with the name of its attribute; none is lost."""

from collections.abc import Callable
from decimal import Decimal
from operator import add
from typing import Annotated, Any

import msgspec
import pytest

from partita import Entity, InvalidValue, Item, Store, Table, connect, pattern, prove
from partita.design.key_parts import EXACT


class Address(msgspec.Struct):
    street: str
    number: int = 0


people = Table("people", pk="PK", sk="SK")


class Person(Entity, table=people, key=("PERSON#{name}", "PERSON")):
    name: str
    address: Address | None = None
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    tags: set[str] = msgspec.field(default_factory=set)
    lines: list[str] = msgspec.field(default_factory=list)
    pairs: tuple[int, ...] = ()
    points: Annotated[int, msgspec.Meta(ge=0)] = 0
    price: Decimal = Decimal(0)
    weight: float = 0.0


@pattern
def person(name: str) -> Item[Person]: ...


design = prove("people", people)


@pytest.fixture
def db() -> Store:
    store = Store(connect("memory:"), design)
    store.create_tables()
    store.create(Person(name="ann", address=Address("Old Lane"), tags={"x"}, points=3))
    return store


def _street(draft: Any) -> None:
    draft.address.street = "New Road"


def _no_street(draft: Any) -> None:
    del draft.address.street


def _setting(draft: Any) -> None:
    draft.settings["theme"] = "dark"


def _no_setting(draft: Any) -> None:
    del draft.settings["theme"]


@pytest.mark.parametrize(
    ("edit", "name"),
    [(_street, "address"), (_no_street, "address"), (_setting, "settings"), (_no_setting, "settings")],
)
def test_member_of_an_unread_attribute_cannot_be_set(db: Store, edit: Callable[[Any], None], name: str) -> None:
    with db.change(person("ann")) as draft, pytest.raises(InvalidValue) as refusal:
        edit(draft)
    assert str(refusal.value) == (
        f"Person.{name}: a change cannot set what is inside; assign the whole (draft.{name} = ...), "
        "or use db.update(...)"
    )


def test_assigned_value_can_be_changed_and_is_validated(db: Store) -> None:
    with db.change(person("ann")) as draft:
        draft.address = Address("New Road")
        draft.address.number = 7
    assert db.one(person("ann")).address == Address("New Road", 7)

    def misuse() -> None:
        with db.change(person("ann")) as draft:
            draft.address = Address("New Road")
            draft.address.street = 5  # type: ignore[assignment]

    with pytest.raises(InvalidValue, match=r"^Person.address.street: expected `str`, got `int`$"):
        misuse()


STEPS: dict[str, Callable[[Any], Any]] = {
    "points: expected `int`, got `float`": lambda draft: draft.points + 1.5,
    "points: expected `int`, got `str`": lambda draft: draft.points - "a",
    "points: expected `int`, got `bool`": lambda draft: draft.points + True,
    "points: expected `int`, got `null`": lambda draft: draft.points + None,
    "points: |= cannot be applied to its type": lambda draft: draft.points | {1},
    "weight: nan is not a number that DynamoDB stores": lambda draft: draft.weight + float("nan"),
    "tags[0]: expected `str`, got `int`": lambda draft: draft.tags | {1},
    "tags: expected `array`, got `str`": lambda draft: draft.tags | "xy",
    "tags: += cannot be applied to its type": lambda draft: draft.tags + {"y"},
    "lines[0]: expected `str`, got `int`": lambda draft: add(draft.lines, [1]),
    "lines: -= cannot be applied to its type": lambda draft: draft.lines - ["a"],
    "pairs[0]: expected `int`, got `str`": lambda draft: add(draft.pairs, ("a",)),
    "address: |= cannot be applied to its type": lambda draft: draft.address | {"a"},
}


@pytest.mark.parametrize("said", STEPS)
def test_step_must_fit_the_type_of_its_attribute(db: Store, said: str) -> None:
    with db.change(person("ann")) as draft, pytest.raises(InvalidValue) as refusal:
        STEPS[said](draft)
    assert str(refusal.value) == f"Person.{said}"


@pytest.mark.parametrize(
    "look",
    [
        lambda draft: 1 + draft.points,
        lambda draft: -draft.points,
        lambda draft: draft.points // 2,
        lambda draft: draft.tags & {"x"},
        lambda draft: setattr(draft, "points", draft.weight),
    ],
)
def test_draft_cannot_be_read(db: Store, look: Callable[[Any], Any]) -> None:
    with db.change(person("ann")) as draft, pytest.raises(InvalidValue, match="a change does not read"):
        look(draft)


def test_valid_steps_are_applied(db: Store) -> None:
    long = Decimal("1.23456789012345678901234567890123456")
    with db.change(person("ann")) as draft:
        draft.points -= 1
        draft.points -= 1
        draft.tags |= {"y"}
        draft.lines += ["a"]
        draft.lines += ["b"]
        draft.pairs += (1, 2)
        draft.price -= long
        draft.price -= 1
        draft.weight += 2
    found = db.one(person("ann"))
    assert (found.points, found.tags, found.lines, found.pairs) == (1, {"x", "y"}, ["a", "b"], (1, 2))
    assert (found.price, found.weight) == (EXACT.subtract(Decimal(-1), long), 2.0)
