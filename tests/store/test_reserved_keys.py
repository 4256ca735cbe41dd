"""Keys that begin with `UNIQUE#` belong to guards: no item of a table with unique values has one."""

from typing import Annotated

import pytest

from partita import Entity, Item, NotFound, NotUnique, ReservedKey, Store, Table, Unique, pattern
from tests.store.declared import opened, stored

people = Table("things", pk="person_id")
GUARD = "UNIQUE#Person#email#x"


class Person(Entity, table=people):
    person_id: str
    email: Annotated[str | None, Unique()] = None


@pattern
def person(person_id: str) -> Item[Person]: ...


@pytest.fixture
def db() -> Store:
    store = opened(people)
    store.create(Person(person_id="a", email="x"))
    return store


def test_guard_is_not_deleted_as_an_item(db: Store) -> None:
    before = stored(db)
    assert db.delete(person(GUARD)) is None
    assert stored(db) == before
    with pytest.raises(NotUnique):
        db.create(Person(person_id="b", email="x"))


def test_guard_is_not_overwritten_by_an_item(db: Store) -> None:
    said = r"^Person\.person_id: keys that begin with 'UNIQUE#' are reserved for the guards of unique values$"
    for write in (db.create, db.put):
        with pytest.raises(ReservedKey, match=said):
            write(Person(person_id=GUARD))


def test_guard_is_not_changed_as_an_item(db: Store) -> None:
    with pytest.raises(NotFound), db.change(person(GUARD)) as draft:
        draft.email = "y"


def test_guard_is_not_read_as_an_item(db: Store) -> None:
    assert db(person(GUARD)) is None


def test_key_is_free_in_a_table_without_unique_values() -> None:
    notes = Table("things", pk="name")

    class Note(Entity, table=notes):
        name: str

    store = opened(notes)
    store.create(Note(name=GUARD))
    assert stored(store) == [{"name": GUARD}]
