"""Every order in which another writer's writes fall between the requests of one: counters and unique values stay right.

A backend runs the other's writes just before chosen requests, so that no interleaving is left to chance.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AlreadyExists,
    CountOf,
    Entity,
    Item,
    NotFound,
    NotUnique,
    ReferenceMissing,
    References,
    StillReferenced,
    Store,
    SumOf,
    Table,
    Unique,
    connect,
    pattern,
    prove,
)
from partita.dynamodb.requests import Scan

table = Table("shelf", pk="PK", sk="SK")
CONFLICTS = (AlreadyExists, NotFound, NotUnique, ReferenceMissing, StillReferenced)


class Owner(Entity, table=table, key=("OWNER#{name}", "OWNER")):
    name: str
    books: Annotated[int, CountOf(lambda: Book, via={"name": "owner"})] = 0
    worth: Annotated[Decimal, SumOf(lambda: Book, "price", via={"name": "owner"})] = Decimal(0)


class Book(Entity, table=table, key=("BOOK#{number:3}", "BOOK")):
    number: int
    owner: Annotated[str, References(lambda: Owner)]
    label: Annotated[str, Unique()]
    price: Decimal = Decimal(1)


@pattern
def owner(name: str) -> Item[Owner]: ...


@pattern
def book(number: int) -> Item[Book]: ...


design = prove("shelf", table)

Write = Callable[[Store], object]


def _move_to(name: str) -> Write:
    def move(db: Store) -> None:
        with db.change(book(1)) as draft:
            draft.owner = name

    return move


def _relabel(db: Store) -> None:
    with db.change(book(1)) as draft:
        draft.label = "b"


def _both(db: Store) -> None:
    with db.transaction() as together:
        together.delete(book(1))
        together.create(Book(number=2, owner="ann", label="a"))


WRITES: dict[str, Write] = {
    "nothing": lambda db: None,
    "delete": lambda db: db.delete(book(1)),
    "create for bob": lambda db: db.create(Book(number=1, owner="bob", label="a")),
    "put for ann": lambda db: db.put(Book(number=1, owner="ann", label="c", price=Decimal(3))),
    "move to ann": _move_to("ann"),
    "relabel": _relabel,
    "take its label": lambda db: db.create(Book(number=3, owner="ann", label="a")),
    "delete both": lambda db: (db.delete(book(1)), db.delete(owner("bob"))),
    "replace": _both,
}
UNDER_TEST = [name for name in WRITES if name != "nothing"]


class Interleaved:
    """A backend that runs the next of another writer's writes before each request."""

    def __init__(self, other: Store, writes: Iterable[Write]) -> None:
        self.other = other
        self.writes = list(writes)

    def call(self, request: Any, /) -> Any:
        if self.writes:
            _attempt(self.writes.pop(0), self.other)
        return self.other.backend.call(request)


def _attempt(write: Write, db: Store) -> None:
    with contextlib.suppress(*CONFLICTS):
        write(db)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNDER_TEST)
def test_counters_and_unique_values_are_right_after_every_interleaving(name: str) -> None:
    for others in itertools.product(WRITES.values(), repeat=3):
        with connect("memory:", maintain=False) as backend:
            plain = Store(backend, design)
            plain.create_tables()
            plain.create(Owner(name="ann"))
            plain.create(Owner(name="bob"))
            plain.create(Book(number=1, owner="bob", label="a"))
            _attempt(WRITES[name], Store(Interleaved(plain, others), design, sleep=lambda _: None))
            _check(plain)


def _check(db: Store) -> None:
    items = [msgspec.json.decode(raw) for raw in db.backend.call(Scan(table_name="shelf")).items or ()]
    books = [db.one(book(int(item["number"]["N"]))) for item in items if "label" in item]
    for item in items:
        if item["PK"]["S"].startswith("OWNER#"):
            mine = [each for each in books if each.owner == item["name"]["S"]]
            found = db.one(owner(item["name"]["S"]))
            assert (found.books, found.worth) == (len(mine), sum((each.price for each in mine), Decimal(0)))
    guards = sorted(item["PK"]["S"].rpartition("#")[2] for item in items if item["PK"]["S"].startswith("UNIQUE"))
    assert guards == sorted(each.label for each in books)
