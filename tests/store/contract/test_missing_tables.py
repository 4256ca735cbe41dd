"""A read or write on a table that does not exist names the table, and what creates it."""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import pytest

from partita import (
    Entity,
    Index,
    Item,
    Items,
    Keys,
    References,
    Store,
    Table,
    TableNotFound,
    Unique,
    connect_async,
    pattern,
    prove,
)
from partita.dynamodb.exceptions import ResourceNotFoundException
from partita.dynamodb.requests import DeleteTable

RUN = uuid.uuid4().hex[:8]  # the peers keep their tables for the whole session
missing = Table(f"missing-{RUN}", pk="PK", sk="SK", indexes=(Index("ByName", "NamePK", "NameSK"),))
present = Table(f"present-{RUN}", pk="PK", sk="SK")


class Book(Entity, table=missing, key=("BOOK#{book_id}", "BOOK")):
    book_id: str
    title: str = "Untitled"
    named = Keys("ByName", "TITLE#{title}", "{book_id}")


class Reader(Entity, table=missing, key=("READER#{reader_id}", "READER")):
    reader_id: str
    email: Annotated[str | None, Unique()] = None


class Loan(Entity, table=present, key=("LOAN#{loan_id}", "LOAN")):
    loan_id: str
    book_id: Annotated[str, References(lambda: Book)]


class Note(Entity, table=present, key=("NOTE#{note_id}", "NOTE")):
    note_id: str


@pattern
def book(book_id: str) -> Item[Book]: ...
@pattern
def reader(reader_id: str) -> Item[Reader]: ...
@pattern(Book.named)
def titled(title: str) -> Items[Book]: ...
@pattern
def note(note_id: str) -> Item[Note]: ...


design = prove("library", missing, present)


def change(db: Store) -> None:
    with db.change(book("b")) as draft:
        draft.title = "t"


def transact(db: Store) -> None:
    with db.transaction() as transaction:
        transaction.put(Note(note_id="n"))
        transaction.put(Book(book_id="b"))


USES: dict[str, Callable[[Store], Any]] = {
    "get": lambda db: db(book("b")),
    "query": lambda db: db(titled("t")).first(1),
    "get_many of one table": lambda db: db.get_many([book("a"), book("b")]),
    "get_many of two tables": lambda db: db.get_many([note("n"), book("b")]),
    "scan": lambda db: list(db.scan(Book)),
    "create": lambda db: db.create(Book(book_id="b")),
    "create with a guard": lambda db: db.create(Reader(reader_id="r", email="a@b")),
    "create that refers to it": lambda db: db.create(Loan(loan_id="l", book_id="b")),
    "put": lambda db: db.put(Book(book_id="b")),
    "put_many of two tables": lambda db: db.put_many([Note(note_id="n"), Book(book_id="b")]),
    "change": change,
    "update": lambda db: db.update(book("b"), lambda found: None),
    "delete": lambda db: db.delete(book("b")),
    "delete what has a guard": lambda db: db.delete(reader("r")),
    "transaction on two tables": transact,
    "adopt": lambda db: db.adopt(),
}


@pytest.fixture
def library(backend: Any) -> Store:
    """Only one of the two tables exists."""
    with suppress(ResourceNotFoundException):
        backend.call(DeleteTable(table_name=missing.name))
    Store(backend, Table(present.name, pk="PK", sk="SK")).create_tables()
    return Store(backend, design, sleep=lambda _: None)


@pytest.mark.parametrize("use", USES)
def test_missing_table_is_named(library: Store, use: str) -> None:
    with pytest.raises(TableNotFound) as error:
        USES[use](library)
    assert error.value.table == missing.name
    assert str(error.value).endswith("create the tables of the design with db.create_tables()")
    assert isinstance(error.value.__cause__, ResourceNotFoundException)


def test_missing_table_is_a_difference_from_the_design(library: Store) -> None:
    assert [each.sentence for each in library.differences()] == [f"table {missing.name} is missing"]


def test_async_store_names_the_missing_table() -> None:
    async def use() -> None:
        async with await connect_async("memory:", design) as db:
            await db.create(Book(book_id="b"))

    with pytest.raises(TableNotFound, match=f"^table '{missing.name}' does not exist"):
        asyncio.run(use())


def test_after_create_tables_it_works(library: Store) -> None:
    library.create_tables()
    library.create(Loan(loan_id="l", book_id=library.create(Book(book_id="b")).book_id))
    assert library.one(book("b")).book_id == "b"
