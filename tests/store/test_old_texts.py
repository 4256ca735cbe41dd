"""Texts in old keys that other code has written composed or decomposed: both are the same text in every read."""

import unicodedata
from collections.abc import Sequence
from itertools import product

import msgspec
import pytest

from partita import AlreadyExists, Entity, Item, Items, Store, Table, connect, fan_out, get, pattern, prove, query
from partita.dynamodb.requests import PutItem, Scan
from partita.plan.normal_forms import Form

shelves = Table("shelves", pk="PK", sk="SK")


class Book(
    Entity, table=shelves, key=("SHELF#{shelf}", "BOOK#{title}"), old_keys=[("OLD#{shelf:plain}", "{title:plain}")]
):
    shelf: str
    title: str
    pages: int = 0


@pattern
def book(shelf: str, title: str) -> Item[Book]: ...
@pattern
def books(shelf: str) -> Items[Book]: ...
@pattern
def of_shelves(shelves: Sequence[str]) -> Items[Book]:
    return query(Book, fan_out(shelves, 3))


design = prove("shelves", shelves)
FORMS: tuple[Form, ...] = ("NFC", "NFD")


def text(form: Form, value: str) -> str:
    return unicodedata.normalize(form, value)


def store_with_old_row(form: Form) -> Store:
    backend = connect("memory:", maintain=False)
    db = Store(backend, design)
    db.create_tables()
    shelf, title = text(form, "é"), text(form, "한국")
    item = {"PK": {"S": f"OLD#{shelf}"}, "SK": {"S": title}, "shelf": {"S": shelf}, "title": {"S": title}}
    backend.call(PutItem(table_name="shelves", item=item))
    return db


def stored_keys(db: Store) -> list[str]:
    items = db.backend.call(Scan(table_name="shelves")).items or ()
    return [msgspec.json.decode(each)["PK"]["S"] for each in items]


@pytest.mark.parametrize(("stored", "asked"), list(product(FORMS, FORMS)))
def test_old_row_is_found_by_every_form_of_its_text(stored: Form, asked: Form) -> None:
    db = store_with_old_row(stored)
    shelf, title = text(asked, "é"), text(asked, "한국")
    assert db.one(book(shelf, title)).pages == 0
    assert len(list(db(books(shelf)))) == 1
    assert len(list(db(of_shelves([shelf, "b"])))) == 1
    assert len(list(db(of_shelves([text("NFC", "é"), text("NFD", "é")])))) == 1
    assert len(list(db(query(Book, shelf)))) == 1  # a constant of the read
    assert len(list(db(query(Book, fan_out([shelf, "b"], 3))))) == 1
    assert len(db.get_many([book(shelf, title)])) == 1


@pytest.mark.parametrize(("stored", "asked"), list(product(FORMS, FORMS)))
def test_old_row_is_never_doubled_by_another_form_of_its_text(stored: Form, asked: Form) -> None:
    db = store_with_old_row(stored)
    entity = Book(shelf=text(asked, "é"), title=text(asked, "한국"), pages=3)
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
