"""Items of other code that have a value in a key only are read with it."""

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

from partita import Entity, Index, Item, Items, Keys, Ordered, Store, StoredItemInvalid, Table, connect, pattern, prove
from partita.dynamodb.requests import PutItem

AT = datetime(2025, 1, 1, tzinfo=UTC)

table = Table("shelves", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Book(Entity, table=table, key=("SHELF#{shelf}", "BOOK#{book_id}")):
    shelf: str
    book_id: str
    writer: str
    place: Annotated[int, Ordered(0, 999)]
    bought_at: datetime | None = None
    title: str = ""

    by_writer = Keys("GSI1", "WRITER#{writer}", "PLACE#{place}#{bought_at}")


@pattern
def book(shelf: str, book_id: str) -> Item[Book]: ...
@pattern(Book.by_writer)
def books_of_writer(writer: str) -> Items[Book]: ...


design = prove("shelves", table)
KEYS = {"PK": "SHELF#a", "SK": "BOOK#1"}
WRITER = {"GSI1PK": "WRITER#Ana", "GSI1SK": "PLACE#7#2025-01-01T00:00:00Z"}


@pytest.fixture
def db() -> Any:
    with connect("memory:", design, maintain=False) as store:
        store.create_tables()
        yield store


def put(db: Store, **attributes: str) -> None:
    item = {name: {"S": value} for name, value in attributes.items()}
    db.backend.call(PutItem(table_name=table.name, item=item))


def test_an_item_of_keys_is_read_with_the_values_of_its_keys(db: Store) -> None:
    put(db, **KEYS, **WRITER)
    wanted = Book(shelf="a", book_id="1", writer="Ana", place=7, bought_at=AT)
    assert db(book("a", "1")) == wanted
    assert list(db(books_of_writer("Ana"))) == [wanted]
    assert list(db.scan(Book)) == [wanted]


def test_an_attribute_goes_before_the_value_in_a_key(db: Store) -> None:
    put(db, **KEYS, **WRITER, writer="Bia", title="T")
    found = db.one(book("a", "1"))
    assert (found.writer, found.place, found.title) == ("Bia", 7, "T")


def test_adoption_writes_the_values_as_attributes(db: Store) -> None:
    put(db, **KEYS, **WRITER)
    assert (db.adopt().rewritten, db.adopt().rewritten) == (1, 0)
    assert db.one(book("a", "1")).place == 7


@pytest.mark.parametrize(
    "more", [{}, {"GSI1PK": "WRITER#Ana"}, {**WRITER, "GSI1SK": "PLACE#x#2025-01-01T00:00:00Z"}, {"writer": "Ana"}]
)
def test_an_item_without_a_required_value_cannot_be_read(db: Store, more: dict[str, str]) -> None:
    put(db, **KEYS, **more)
    with pytest.raises(StoredItemInvalid, match="is missing"):
        db(book("a", "1"))
