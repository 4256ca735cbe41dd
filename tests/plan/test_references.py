"""An attribute that names another item has a type whose every value can be found there, or the design is rejected."""

import enum
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest

from partita import (
    CountOf,
    DesignError,
    Entity,
    OpenEnum,
    Owns,
    References,
    Store,
    SumOf,
    Table,
    connect,
    get,
    prove,
)
from partita.design.entities import EntityMeta


class Color(enum.StrEnum):
    RED = "red"


class Shade(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


class Plain(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    ONE = 1


class Tier(OpenEnum):
    RED = "red"


AT = datetime(2025, 1, 1, 12, tzinfo=UTC)
KINDS: dict[str, tuple[Any, str, Any]] = {  # the type, its part in a key, and a value
    "text": (str, "{x}", "red"),
    "sharded text": (str, "{x:shard(8)}#{x}", "red"),
    "literal": (Literal["red"], "{x}", "red"),
    "enum of text": (Color, "{x}", Color.RED),
    "another enum of text": (Shade, "{x}", Shade.RED),
    "plain enum": (Plain, "{x}", Plain.RED),
    "open enum": (Tier, "{x}", Tier.RED),
    "whole": (int, "{x:4}", 1),
    "exact": (Decimal, "{x:4.2}", Decimal(1)),
    "enum of numbers": (Level, "{x:ranked}", Level.ONE),
    "flag": (bool, "{x}", True),
    "time": (datetime, "{x}", AT),
    "day of a time": (datetime, "{x:day}#{x}", AT),
    "date": (date, "{x}", date(2025, 1, 1)),
    "uuid": (UUID, "{x}", UUID(int=1)),
}
LISTED = ("literal", "enum of text", "another enum of text", "plain enum", "open enum")
WIDER = {  # what else may name a part of this type
    "text": ("sharded text", *LISTED),
    "sharded text": ("text", *LISTED),
    "literal": ("enum of text", "plain enum"),
    "whole": ("enum of numbers",),
    "exact": ("whole", "enum of numbers"),
    "time": ("day of a time",),
    "day of a time": ("time",),
}


def declared(name: str, annotations: dict[str, Any], table: Table, key: tuple[str, str], **body: Any) -> Any:
    names = {"__annotations__": annotations, "__module__": __name__, **body}
    return EntityMeta(name, (Entity,), names, table=table, key=key)


def parent_and_child(relation: str, parent: str, child: str) -> tuple[Any, Any, Table]:
    table = Table("things", pk="PK", sk="SK")
    of_parent, of_child = KINDS[parent], KINDS[child]
    found: list[Any] = []
    attributes: dict[str, Any] = {"x": of_parent[0]}
    body: dict[str, Any] = {}
    if relation == "count":
        attributes["n"] = Annotated[int, CountOf(lambda: found[0], via={"x": "r"})]
        body["n"] = 0
    if relation == "owner":
        body["children"] = Owns(lambda: found[0], via={"r": "x"})
    first = declared("Parent", attributes, table, ("PARENT#" + of_parent[1], "P"), **body)
    r = Annotated[of_child[0], References(lambda: first)] if relation == "reference" else of_child[0]
    key = ("CHILD#" + of_child[1].replace("x", "r"), "C#{c}") if relation == "owner" else ("CHILD#{c}", "C")
    found.append(declared("Child", {"c": str, "r": r}, table, key))
    return first, found[0], table


def check_at_work(relation: str, parent: str, child: str) -> None:
    """A child is stored beside its parent, which knows of it."""
    first, second, table = parent_and_child(relation, parent, child)
    store: Store = connect("memory:", prove("things", table))
    store.create_tables()
    value, own = KINDS[child][2], KINDS[parent][2]
    store.create(first(x=own))
    store.create(second(c="1", r=value))
    if relation == "count":
        counted: Any = store.get(get(first, own))
        assert counted.n == 1
    if relation == "owner":
        store.delete(get(first, own))
        assert store.get(get(second, value, "1")) is None


@pytest.mark.parametrize("relation", ["reference", "count", "owner"])
@pytest.mark.parametrize("parent", KINDS)
def test_an_attribute_names_what_its_every_value_can_name(relation: str, parent: str) -> None:
    for child in KINDS:
        named, naming = (parent, child) if relation != "owner" else (child, parent)  # an owner fills the child's key
        if naming == named or naming in WIDER.get(named, ()):
            check_at_work(relation, parent, child)
        else:
            with pytest.raises(DesignError, match="which it names, is"):
                prove("things", parent_and_child(relation, parent, child)[2])


def shelf_and_book(book: dict[str, Any], **shelf: Any) -> str:
    """Why the design is rejected."""
    table = Table("things", pk="PK", sk="SK")
    annotations = {"shelf": str, "room": str, **shelf.pop("annotations", {})}
    first = declared("Shelf", annotations, table, ("ROOM#{room}", "SHELF#{shelf}"), **shelf)
    EXAMPLES["Shelf"] = first
    EXAMPLES["Book"] = declared("Book", {"book": str, "room": str, **book}, table, ("ROOM#{room}", "BOOK#{book}"))
    with pytest.raises(DesignError) as rejected:
        prove("things", table)
    return str(rejected.value)


EXAMPLES: dict[str, Any] = {}


def a_book() -> Any:
    return EXAMPLES["Book"]


def a_shelf() -> Any:
    return EXAMPLES["Shelf"]


def test_the_error_says_which_type_to_write() -> None:
    assert shelf_and_book({"at": Annotated[int, References(a_shelf, via={"shelf": "at"})]}) == (
        "Book.at: it is int, but Shelf.shelf, which it names, is str; write at: str in Book, or "
        "via={'shelf': <attribute of Book>}"
    )


@pytest.mark.parametrize(
    ("book", "shelf", "error"),
    [
        (
            {"shelf": str},
            {"annotations": {"n": Annotated[int, CountOf(a_book, via={"shelve": "at"})]}, "n": 0},
            "Shelf.n: via names 'shelve', which is not a part of the key of Shelf; the parts are room, shelf",
        ),
        (
            {"shelf": str},
            {"annotations": {"n": Annotated[int, CountOf(a_book, via=["shelf"])]}, "n": 0},  # type: ignore[arg-type]
            "Shelf.n: via is ['shelf'], which is not a dict; write via={<part of the key>: <attribute>}",
        ),
        (
            {"shelf": str},
            {"books": Owns(a_book, via={"at": "shelf"})},
            "Shelf: via names 'at', which is not a part of the key of Book; the parts are room, book",
        ),
        (
            {"shelf": str, "at": Annotated[str, References(a_shelf)]},
            {},
            (
                "Book.at: it does not name Shelf: 'room' names 'room', 'shelf' names 'shelf'; write "
                "via={'room': 'at'}, or remove References"
            ),
        ),
        (
            {"shelf": str},
            {"annotations": {"n": Annotated[int, SumOf("Book", "pages")]}, "n": 0},  # type: ignore[arg-type]
            "Shelf.n: 'Book' is not an entity class; write lambda: Order",
        ),
        (
            {"shelf": str},
            {"annotations": {"n": Annotated[int, CountOf(lambda: EXAMPLES["Books"])]}, "n": 0},
            (
                "Shelf.n: the function that names an entity raised KeyError: 'Books'; write lambda: Order, of a class "
                "that the module declares"
            ),
        ),
    ],
)
def test_a_marker_that_names_nothing_is_rejected(book: dict[str, Any], shelf: dict[str, Any], error: str) -> None:
    assert shelf_and_book(book, **shelf) == error


def test_several_owned_entities_are_a_tuple() -> None:
    listed: Callable[[], Any] = lambda: [a_book()]  # noqa: E731
    assert "is not an entity class; write lambda: Order" in shelf_and_book({"shelf": str}, books=Owns(listed))
