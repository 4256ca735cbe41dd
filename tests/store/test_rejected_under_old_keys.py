"""A rejected write leaves an item under its old key, and an old key that is another's today is not taken for it.

Other code stored texts as they are: `a$Sb` is then the old key of that text, and today's key of `a#b`.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import msgspec
import pytest

from partita import (
    AlreadyExists,
    ConditionFailed,
    CountOf,
    Entity,
    F,
    InvalidTransition,
    Item,
    Items,
    Limit,
    LimitReached,
    NotFound,
    NotUnique,
    PartitaError,
    ReferenceMissing,
    References,
    StillReferenced,
    Store,
    Table,
    Transaction,
    Transitions,
    Unique,
    Version,
    VersionConflict,
    connect,
    get,
    pattern,
    prove,
)
from partita.dynamodb import requests as wire

library = Table("library", pk="PK", sk="SK")


class Shelf(Entity, table=library, key=("SHELF#{shelf}", "SHELF"), old_keys=[("SHELF#{shelf:plain}", "SHELF")]):
    shelf: str
    books: Annotated[int, CountOf(lambda: Book)] = 0


class Book(Entity, table=library, key=("BOOK#{title}", "BOOK"), old_keys=[("BOOK#{title:plain}", "BOOK")]):
    title: str
    shelf: str | None = None
    code: Annotated[str | None, Unique()] = None
    pages: int = 0
    state: Annotated[str, Transitions({"new": ["lent"], "lent": []})] = "new"
    writer: Annotated[str | None, References(lambda: Shelf, via={"shelf": "writer"})] = None
    version: Annotated[int, Version()] = 0

    few = Limit(F.pages <= 10)


class Note(Entity, table=library, key=("NOTE#{title}", "NOTE"), old_keys=[("NOTE#{title:plain}", "NOTE")]):
    title: str
    pages: int = 0


@pattern
def a_book(title: str) -> Item[Book]: ...
@pattern
def notes(title: str) -> Items[Note]: ...


design = prove("library", library)
OLD, TODAY = "a$Sb", "a#b"
Raw = dict[str, Any]


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", design) as opened:
        opened.create_tables()
        yield opened


def rows(db: Store) -> list[Raw]:
    found = db.backend.call(wire.Scan(table_name="library")).items or ()
    return sorted((msgspec.json.decode(raw) for raw in found), key=str)


def put_old(db: Store, entity: type[Any], title: str, **attributes: Any) -> None:
    """Stores an item as other code does, under its old key, with the guard of its code."""
    word = entity.__name__.upper()
    key: Raw = {"PK": {"S": f"{word}#{title}"}, "SK": {"S": word}}
    name = "shelf" if entity is Shelf else "title"
    given = {each: {"N": str(value)} if type(value) is int else {"S": value} for each, value in attributes.items()}
    db.backend.call(wire.PutItem(table_name="library", item=key | {name: {"S": title}} | given))
    if "code" in attributes:
        guard: Raw = {"PK": {"S": f"UNIQUE#Book#code#{attributes['code']}"}, "SK": {"S": "UNIQUE"}}
        db.backend.call(wire.PutItem(table_name="library", item=guard | {"guardOf": {"M": key}}))


def changed(**values: Any) -> Callable[[Any], None]:
    def edit(draft: Any) -> None:
        for name, value in values.items():
            setattr(draft, name, value)

    return edit


def change(db: Store, call: Any, edit: Callable[[Any], None], **options: Any) -> None:
    with db.change(call, **options) as draft:
        edit(draft)


def together(db: Store, act: Callable[[Transaction], Any]) -> None:
    with db.transaction() as transaction:
        act(transaction)


BOOK = a_book("x#y")
REJECTED: dict[str, tuple[type[PartitaError], Callable[[Store], Any]]] = {
    "version": (VersionConflict, lambda db: change(db, BOOK, changed(pages=2), version=7)),
    "limit": (LimitReached, lambda db: change(db, BOOK, changed(pages=11))),
    "condition": (ConditionFailed, lambda db: change(db, BOOK, changed(pages=2), when=F.pages == 9)),
    "condition without edits": (ConditionFailed, lambda db: change(db, BOOK, lambda _: None, when=F.pages == 9)),
    "transition": (InvalidTransition, lambda db: change(db, BOOK, changed(state="old"))),
    "unique value": (NotUnique, lambda db: change(db, BOOK, changed(code="taken"))),
    "reference": (ReferenceMissing, lambda db: change(db, BOOK, changed(writer="nobody"))),
    "parent": (ReferenceMissing, lambda db: change(db, BOOK, changed(shelf="nowhere"))),
    "taken key": (AlreadyExists, lambda db: change(db, BOOK, changed(title="other"))),
    "update": (LimitReached, lambda db: db.update(BOOK, changed(pages=11))),
    "replace": (VersionConflict, lambda db: db.replace(Book(title="x#y", version=7))),
    "put": (NotUnique, lambda db: db.put(Book(title="x#y", code="taken", version=3))),
    "put with a limit": (LimitReached, lambda db: db.put(Book(title="x#y", pages=11))),
    "create": (AlreadyExists, lambda db: db.create(Book(title="x#y"))),
    "delete": (ConditionFailed, lambda db: db.delete(BOOK, when=F.pages == 9)),
    "delete of a parent": (StillReferenced, lambda db: db.delete(get(Shelf, "left$"))),
    "transaction": (VersionConflict, lambda db: together(db, lambda t: changed(pages=2)(t.change(BOOK, version=7)))),
    "check": (ConditionFailed, lambda db: together(db, lambda t: t.check(BOOK, F.pages == 9))),
    "deletion in a transaction": (
        ConditionFailed,
        lambda db: together(db, lambda t: t.delete(BOOK, when=F.pages == 9)),
    ),
}


def with_old_rows(db: Store) -> Store:
    put_old(db, Shelf, "left$", books=1)
    db.create(Shelf(shelf="right"))
    put_old(db, Book, "x#y", pages=1, code="mine", version=3, shelf="right", state="new")
    db.create(Book(title="other", code="taken"))
    return db


@pytest.mark.parametrize("name", REJECTED)
def test_rejected_write_leaves_the_item_under_its_old_key(db: Store, name: str) -> None:
    error, act = REJECTED[name]
    before = rows(with_old_rows(db))
    with pytest.raises(error):
        act(db)
    assert rows(db) == before


def test_change_under_an_old_key_is_one_transaction(db: Store) -> None:
    with_old_rows(db)
    change(db, BOOK, changed(code="new", pages=2, state="lent"), version=3, when=F.pages == 1)
    assert db.one(BOOK) == Book(title="x#y", shelf="right", code="new", pages=2, state="lent", version=4)
    assert db.find_by_unique(Book, "code", "new") == db.one(BOOK)
    assert db.find_by_unique(Book, "code", "mine") is None
    kept = sorted(str(each["PK"]["S"]) for each in rows(db) if "SHELF" not in each["PK"]["S"])
    assert kept == ["BOOK#other", "BOOK#x$Sy", "UNIQUE#Book#code#new", "UNIQUE#Book#code#taken"]


def creation(kind: type[Any]) -> Any:
    return kind(title=TODAY)


WRITES: dict[str, Callable[[Store, type[Any]], Any]] = {
    "create": lambda db, kind: db.create(creation(kind)),
    "put": lambda db, kind: db.put(creation(kind)),
    "replace": lambda db, kind: db.replace(kind(title=TODAY, **({"version": 1} if kind is Book else {}))),
    "delete": lambda db, kind: db.delete(get(kind, TODAY)),
    "delete when": lambda db, kind: db.delete(get(kind, TODAY), when=F.pages == 7),
    "delete with a check": lambda db, kind: db.delete(get(kind, TODAY), check=lambda _: None),
    "change": lambda db, kind: change(db, get(kind, TODAY), changed(pages=8)),
    "creating change": lambda db, kind: change(db, get(kind, TODAY), changed(pages=8), create=True),
    "update": lambda db, kind: db.update(get(kind, TODAY), changed(pages=8)),
    "new key": lambda db, kind: change(db, get(kind, "zz"), changed(title=TODAY)),
    "put_many": lambda db, kind: db.put_many([creation(kind)]),
    "delete_many": lambda db, kind: db.delete_many([get(kind, TODAY)]),
    "adopt": lambda db, kind: db.adopt(),
    "t.create": lambda db, kind: together(db, lambda t: t.create(creation(kind))),
    "t.put": lambda db, kind: together(db, lambda t: t.put(creation(kind))),
    "t.change": lambda db, kind: together(db, lambda t: changed(pages=8)(t.change(get(kind, TODAY)))),
    "t.delete": lambda db, kind: together(db, lambda t: t.delete(get(kind, TODAY))),
    "t.check": lambda db, kind: together(db, lambda t: t.check(get(kind, TODAY), F.pages == 7)),
}


def outcome(db: Store, kind: type[Any], name: str) -> tuple[str, Any]:
    db.create(kind(title="zz"))
    try:
        WRITES[name](db, kind)
    except PartitaError as raised:
        return type(raised).__name__, db(get(kind, TODAY))
    return "", db(get(kind, TODAY))


@pytest.mark.parametrize("kind", [Book, Note])
@pytest.mark.parametrize("name", WRITES)
def test_old_key_of_another_text_is_as_if_it_were_not_there(db: Store, kind: type[Any], name: str) -> None:
    with connect("memory:", design) as without:
        without.create_tables()
        expected = outcome(without, kind, name)
    put_old(db, kind, OLD, pages=7)
    put_old(db, kind, "a$TSb", pages=9)  # the old key of a text that is today's key of the other
    assert outcome(db, kind, name) == expected
    assert [db.one(get(kind, title)).pages for title in (OLD, "a$TSb")] == [7, 9]
    db.adopt()
    assert [db.one(get(kind, title)).pages for title in (OLD, "a$TSb")] == [7, 9]
    assert sum(row["PK"]["S"].startswith(f"{kind.__name__.upper()}#a") for row in rows(db)) == 2 + (
        expected[1] is not None
    )


@pytest.mark.parametrize("name", ["count", "reference"])
def test_old_key_of_another_text_is_no_parent(db: Store, name: str) -> None:
    put_old(db, Shelf, OLD)
    wrong = Book(title="b", shelf=TODAY) if name == "count" else Book(title="b", writer=TODAY)
    with pytest.raises(ReferenceMissing):
        db.create(wrong)
    db.create(Book(title="b", shelf=OLD))
    assert db.one(get(Shelf, OLD)).books == 1
    with pytest.raises(NotFound):
        change(db, get(Shelf, TODAY), lambda _: None, when=F.books == 0)
