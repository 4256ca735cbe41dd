"""Texts in old keys that other code has written composed or decomposed, each by itself: all are one text in a read."""

import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from itertools import product
from typing import Annotated, Literal

import msgspec
import pytest

from partita import (
    AlreadyExists,
    DesignError,
    Entity,
    F,
    InKey,
    Item,
    Items,
    Owns,
    Store,
    Table,
    connect,
    fan_out,
    get,
    pattern,
    prove,
    query,
)
from partita.design.key_parts import FORMS
from partita.dynamodb.requests import PutItem, Scan

shelves = Table("shelves", pk="PK", sk="SK")


class Book(
    Entity, table=shelves, key=("SHELF#{shelf}", "BOOK#{title}"), old_keys=[("OLD#{shelf:plain}", "{title:plain}")]
):
    shelf: str
    title: str
    pages: int = 0
    note: str | None = None


class Language(StrEnum):
    KOREAN = "한국어"
    FRENCH = "français"


class Page(
    Entity,
    table=shelves,
    key=("PAGES#{shelf}", "PAGE#{language}#{title}"),
    old_keys=[("P#{shelf:plain}", "{language:plain}#{title:plain}")],
):
    shelf: Annotated[str, InKey()]
    language: Annotated[Language, InKey()]
    title: str


class Library(Entity, table=shelves, key=("LIBRARY#{name}", "LIBRARY")):
    name: str
    owns = Owns(lambda: Room, via={"library": "name"})


class Room(
    Entity, table=shelves, key=("LIBRARY#{library}", "ROOM#{room}"), old_keys=[("L#{library:plain}", "{room:plain}")]
):
    library: str
    room: str


@pattern
def page(shelf: str, language: Language, title: str) -> Item[Page]: ...
@pattern
def pages(shelf: str, language: Language) -> Items[Page]: ...
@pattern
def library(name: str) -> Item[Library]: ...
@pattern
def book(shelf: str, title: str) -> Item[Book]: ...
@pattern
def books(shelf: str) -> Items[Book]: ...
@pattern
def of_shelves(shelves: Sequence[str]) -> Items[Book]:
    return query(Book, fan_out(shelves, 3))


@pattern
def noted(shelf: str, note: str) -> Items[Book]:
    return query(Book, shelf).where(F.note == note)


design = prove("shelves", shelves)
Form = Literal["NFC", "NFD"]
Forms = tuple[Form, Form]
CASES: list[tuple[Forms, Forms]] = list(product(product(FORMS, FORMS), product(FORMS, FORMS)))


def text(form: Form, value: str) -> str:
    return unicodedata.normalize(form, value)


def empty_store() -> Store:
    db = Store(connect("memory:", maintain=False), design)
    db.create_tables()
    return db


def put_row(db: Store, pk: str, sk: str, **attributes: str) -> None:
    item = {name: {"S": value} for name, value in {"PK": pk, "SK": sk, **attributes}.items()}
    db.backend.call(PutItem(table_name="shelves", item=item))


def store_with_old_row(forms: Forms) -> Store:
    db = empty_store()
    shelf, title = text(forms[0], "é"), text(forms[1], "한국")
    put_row(db, f"OLD#{shelf}", title, shelf=shelf, title=title)
    return db


def stored_keys(db: Store) -> list[str]:
    items = db.backend.call(Scan(table_name="shelves")).items or ()
    return [msgspec.json.decode(each)["PK"]["S"] for each in items]


@pytest.mark.parametrize(("stored", "asked"), CASES)
def test_old_row_is_found_by_every_form_of_its_text(stored: Forms, asked: Forms) -> None:
    db = store_with_old_row(stored)
    shelf, title = text(asked[0], "é"), text(asked[1], "한국")
    assert db.one(book(shelf, title)).pages == 0
    assert len(list(db(books(shelf)))) == 1
    assert len(list(db(of_shelves([shelf, "b"])))) == 1
    assert len(list(db(of_shelves([text("NFC", "é"), text("NFD", "é")])))) == 1
    assert len(list(db(query(Book, shelf)))) == 1  # a constant of the read
    assert len(list(db(query(Book, fan_out([shelf, "b"], 3))))) == 1
    assert len(db.get_many([book(shelf, title)])) == 1


@pytest.mark.parametrize(("stored", "asked"), CASES)
def test_old_row_is_never_doubled_by_another_form_of_its_text(stored: Forms, asked: Forms) -> None:
    db = store_with_old_row(stored)
    entity = Book(shelf=text(asked[0], "é"), title=text(asked[1], "한국"), pages=3)
    with pytest.raises(AlreadyExists):
        db.create(entity)
    db.put(entity)
    assert stored_keys(db) == ["SHELF#é"]
    db = store_with_old_row(stored)
    with db.change(book(entity.shelf, entity.title)) as draft:
        draft.pages = 4
    assert stored_keys(db) == ["SHELF#é"]
    db.delete(get(Book, entity.shelf, entity.title))
    assert stored_keys(db) == []
    db = store_with_old_row(stored)
    db.delete(book(entity.shelf, entity.title))
    assert stored_keys(db) == []


@pytest.mark.parametrize(("stored", "asked"), CASES)
def test_old_row_of_an_enum_is_found_in_every_form(stored: Forms, asked: Forms) -> None:
    db = empty_store()
    put_row(db, f"P#{text(stored[0], 'é')}", f"{text(stored[1], '한국어')}#{text(stored[0], 'ö')}", title="ö")
    found = [Page(shelf="é", language=Language.KOREAN, title="ö")]
    assert [db.one(page(text(asked[0], "é"), Language.KOREAN, text(asked[1], "ö")))] == found
    assert list(db(pages(text(asked[0], "é"), Language.KOREAN))) == found
    assert list(db(pages(text(asked[0], "é"), Language.FRENCH))) == []


@pytest.mark.parametrize("asked", FORMS)
def test_filter_of_old_rows_compares_attributes_as_they_are(asked: Form) -> None:
    db = empty_store()
    put_row(db, "OLD#a", "b", shelf="a", title="b", note=text("NFC", "é"))
    db.put(Book(shelf="a", title="c", note=text("NFC", "é")))
    assert len(list(db(noted("a", text(asked, "é"))))) == (2 if asked == "NFC" else 0)


@pytest.mark.parametrize(("stored", "asked"), list(product(FORMS, FORMS)))
def test_owned_row_is_deleted_in_every_form_of_its_old_key(stored: Form, asked: Form) -> None:
    db = empty_store()
    db.put(Library(name=text("NFC", "é")))
    name = text(stored, "é")
    put_row(db, f"L#{name}", "r1", library=name, room="r1")
    db.delete(library(text(asked, "é")))
    assert stored_keys(db) == []


def test_explanation_counts_the_lookups_of_old_texts() -> None:
    db = empty_store()
    shown = db.explain(book("a", "b"))
    assert (
        "a second GetItem under the old key (OLD#{shelf:plain}, {title:plain}), where no item has the new one; "
        in shown
    )
    assert "up to 4 for texts that are not ASCII" in shown
    shown = db.explain(books("a"))
    assert "for arguments that are not ASCII by up to 2 queries, until db.adopt() moved it" in shown


def test_old_key_of_too_many_texts_is_rejected() -> None:
    many = Table("many", pk="PK", sk="SK")

    class Many(
        Entity,
        table=many,
        key=("A#{a}#{b}#{c}", "A#{d}#{e}#{f}#{g}"),
        old_keys=[("{a:plain}#{b:plain}#{c:plain}", "{d:plain}#{e:plain}#{f:plain}#{g:plain}")],
    ):
        a: str
        b: str
        c: str
        d: str
        e: str
        f: str
        g: str

    with pytest.raises(DesignError, match=r"has 7 texts.*under 128 keys; declare at most 6 texts"):
        prove("many", many)
