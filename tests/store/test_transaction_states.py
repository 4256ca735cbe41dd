"""A transaction is judged by the states before and after it: checks by the one, references and limits by the other."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import pytest

from partita import (
    AlreadyExists,
    ConditionFailed,
    CountOf,
    Entity,
    Expires,
    F,
    Get,
    Item,
    Limit,
    LimitReached,
    NotUnique,
    Owns,
    ReferenceMissing,
    References,
    StillReferenced,
    Store,
    SumOf,
    Transaction,
    Unique,
    get,
    pattern,
)
from partita.errors import PartitaError
from tests.store.declared import opened, stored, table

things = table()


class Room(Entity, table=things, key=("ROOM#{room_id}", "ROOM")):
    room_id: str
    seats: int = 2
    code: Annotated[str | None, Unique()] = None
    guests: Annotated[int, CountOf(lambda: Guest)] = 0
    weight: Annotated[int, SumOf(lambda: Guest, "weight")] = 0

    full = Limit(F.guests <= F.seats)
    heavy = Limit(F.weight <= 100)


class Guest(Entity, table=things, key=("GUEST#{guest_id}", "GUEST")):
    guest_id: str
    room_id: str
    weight: int = 10


class Key(Entity, table=things, key=("KEY#{key_id}", "KEY")):
    key_id: str
    room_id: Annotated[str, References(lambda: Room)]
    number: int = 0


@pattern
def room(room_id: str) -> Item[Room]: ...
@pattern
def guest(guest_id: str) -> Item[Guest]: ...
@pattern
def a_key(key_id: str) -> Item[Key]: ...


@pytest.fixture
def db() -> Store:
    store = opened(things)
    store.create(Room(room_id="r"))
    return store


Write = Callable[[Transaction], object]


def create(*entities: Entity) -> list[Write]:
    return [lambda together, each=each: together.create(each) for each in entities]  # type: ignore[misc]


def delete(*gets: Get[Any]) -> list[Write]:
    return [lambda together, each=each: together.delete(each) for each in gets]  # type: ignore[misc]


def rejected(db: Store, error: type[PartitaError], writes: list[Write]) -> None:
    """The transaction of these writes is rejected, and nothing of it is stored."""

    def together() -> None:
        with db.transaction() as transaction:
            for write in writes:
                write(transaction)

    before = stored(db)
    with pytest.raises(error):
        together()
    assert stored(db) == before


def test_transaction_cannot_delete_what_it_refers_to(db: Store) -> None:
    child = Key(key_id="k", room_id="r")
    rejected(db, ReferenceMissing, [*delete(room("r")), *create(child)])
    rejected(db, ReferenceMissing, [*create(child), *delete(room("r"))])


def test_transaction_creates_what_it_refers_to(db: Store) -> None:
    with db.transaction() as together:
        together.create(Key(key_id="k", room_id="new"))
        together.create(Room(room_id="new"))
    assert db.one(a_key("k")).room_id == "new"


def test_reference_to_what_is_deleted_and_created_again_holds(db: Store) -> None:
    with db.transaction() as together:
        together.delete(room("r"))
        together.create(Room(room_id="r", seats=9))
        together.create(Key(key_id="k", room_id="r"))
    assert db.one(room("r")).seats == 9


def test_check_sees_the_state_before_the_transaction(db: Store) -> None:
    db.create(Key(key_id="k", room_id="r", number=1))
    rejected(db, ConditionFailed, [lambda together: together.check(a_key("k"), F.number == 7), _number_seven])
    with db.transaction() as together:
        together.check(a_key("k"), F.number == 1)
        _number_seven(together)
    assert db.one(a_key("k")).number == 7


def _number_seven(together: Transaction) -> None:
    together.change(a_key("k")).number = 7


def test_check_of_an_item_that_is_put_sees_the_one_before() -> None:
    notes = table()

    class Note(Entity, table=notes, key=("NOTE#{note_id}", "NOTE")):
        note_id: str
        number: int = 0

    @pattern
    def note(note_id: str) -> Item[Note]: ...

    db = opened(notes)
    db.create(Note(note_id="n", number=1))
    check: list[Write] = [lambda together: together.check(note("n"), F.number == 7)]
    rejected(db, ConditionFailed, [*check, lambda together: together.put(Note(note_id="n", number=7))])


def test_limit_holds_for_the_sum_of_all_increments(db: Store) -> None:
    rejected(db, LimitReached, create(*(Guest(guest_id=each, room_id="r") for each in "abc")))
    with db.transaction() as together:
        for each in "ab":
            together.create(Guest(guest_id=each, room_id="r"))
    assert db.one(room("r")).guests == 2


def test_limit_holds_for_what_is_left_after_increments_and_decrements(db: Store) -> None:
    for each in "ab":
        db.create(Guest(guest_id=each, room_id="r"))
    with db.transaction() as together:
        together.delete(guest("a"))
        together.create(Guest(guest_id="c", room_id="r"))
    assert (db.one(room("r")).guests, db.one(room("r")).weight) == (2, 20)


def test_constant_limit_holds_for_the_sum_of_all_amounts(db: Store) -> None:
    rejected(db, LimitReached, create(*(Guest(guest_id=each, room_id="r", weight=51) for each in "ab")))
    with db.transaction() as together:
        for each in "ab":
            together.create(Guest(guest_id=each, room_id="r", weight=50))
    assert db.one(room("r")).weight == 100


def test_unique_value_is_freed_and_taken_in_one_transaction(db: Store) -> None:
    db.create(Room(room_id="one", code="x"))
    with db.transaction() as together:
        together.delete(room("one"))
        together.create(Room(room_id="two", code="x"))
    with pytest.raises(NotUnique):
        db.create(Room(room_id="three", code="x"))


def test_two_creations_of_one_unique_value_are_rejected(db: Store) -> None:
    rejected(db, NotUnique, create(*(Room(room_id=each, code="x") for each in "ab")))


def test_parent_that_counts_children_cannot_be_deleted_and_created_to_count_from_zero(db: Store) -> None:
    for each in "ab":
        db.create(Guest(guest_id=each, room_id="r"))
    with pytest.raises(StillReferenced, match=r"^Room r still counts Guest items in 'guests'; "):
        db.delete(room("r"))
    rejected(db, StillReferenced, [*delete(room("r")), *create(Room(room_id="r"))])
    rejected(db, StillReferenced, delete(room("r"), guest("a")))
    with db.transaction() as together:
        together.delete(guest("a"))
        together.delete(guest("b"))
        together.delete(room("r"))
    assert stored(db) == []


def test_children_move_to_another_parent_in_the_transaction_that_deletes_theirs(db: Store) -> None:
    db.create(Guest(guest_id="a", room_id="r"))
    with db.transaction() as together:
        together.create(Room(room_id="s"))
        together.change(guest("a")).room_id = "s"
        together.delete(room("r"))
    assert db(room("r")) is None
    assert db.one(room("s")).guests == 1


@pytest.mark.parametrize("parent_first", [True, False])
def test_item_that_exists_is_reported_before_the_limit_that_it_would_exceed(db: Store, parent_first: bool) -> None:
    """Also where the transaction writes the parent itself, in any order."""
    db.create(Room(room_id="small", seats=1))
    db.create(Guest(guest_id="ann", room_id="small"))

    def create_again() -> None:
        with db.transaction() as t:
            if parent_first:
                t.change(room("small")).code = "A1"
            t.create(Guest(guest_id="ann", room_id="small"))
            if not parent_first:
                t.change(room("small")).code = "A1"

    with pytest.raises(AlreadyExists):
        create_again()


albums = table(ttl="ttl")


class Album(Entity, table=albums, key=("ALBUM#{album_id}", "ALBUM")):
    album_id: str
    until: datetime | None = None
    photos: Annotated[int, CountOf(lambda: Photo)] = 0

    kept = Expires("until")
    pictures = Owns(lambda: Photo)


class Photo(Entity, table=albums, key=("ALBUM#{album_id}", "PHOTO#{number:3}")):
    album_id: str
    number: int


@pattern
def album(album_id: str) -> Item[Album]: ...


def test_all_items_of_a_transaction_may_have_one_parent() -> None:
    """The condition on the parent is sent once, since an expression has at most 4 KB."""
    db = opened(albums)
    db.create(Album(album_id="a"))
    with db.transaction() as together:
        for number in range(99):
            together.create(Photo(album_id="a", number=number))
    assert db.one(album("a")).photos == 99
    with db.transaction() as together:
        for number in range(99):
            together.delete(Photo(album_id="a", number=number) if number % 2 else get(Photo, "a", number))
    assert db.one(album("a")).photos == 0
