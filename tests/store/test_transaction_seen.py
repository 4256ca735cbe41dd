"""A transaction does not read a seen entity again, and detects that it has changed."""

from collections.abc import Iterator

import pytest

from partita import F, NotFound, Store, connect
from tests.store.clocks import Clock
from tests.store.kitchen_sink_design import (
    Artist,
    State,
    Work,
    artist,
    design,
    shown_by_importance,
    work,
)


@pytest.fixture
def db() -> Iterator[Store]:
    clock = Clock()
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, design, clock=clock, sleep=lambda _: None)
        store.create_tables()
        store.create(Artist(artist_id="ann", country="PT", handle="ann"))
        store.create(
            Work(work_id="w", artist_id="ann", title="", state=State.PUBLISHED, published_at=clock(), steps=["one"])
        )
        yield store


def test_change_of_a_seen_entity_moves_its_keys_in_one_request(db: Store) -> None:
    seen = db.one(work("w"))
    with db.measure() as used, db.transaction() as transaction:
        transaction.change(work("w"), seen=seen).state = State.LOST
    assert used.requests == 1
    assert list(db(shown_by_importance(State.PUBLISHED))) == []
    assert db.one(work("w")).steps == ["one"]


def test_seen_entity_that_has_changed_is_read_again(db: Store) -> None:
    seen = db.one(work("w"))
    with db.change(work("w")) as draft:
        draft.price += 7
    with db.transaction() as transaction:
        transaction.change(work("w"), seen=seen).price += 1
    assert db.one(work("w")).price == 8


def test_later_changes_to_the_seen_entity_are_ignored(db: Store) -> None:
    seen = db.one(work("w"))
    with db.transaction() as transaction:
        draft = transaction.change(work("w"), when=F.price == seen.price, seen=seen)
        seen.price += 5
        draft.price += 1
    assert db.one(work("w")).price == 1


def test_moved_item_keeps_attributes_that_were_not_seen(db: Store) -> None:
    seen = db.one(work("w"))
    with db.transaction() as transaction:
        transaction.change(work("w"), seen=seen).work_id = "w2"
    assert db(work("w")) is None
    assert db.one(work("w2")).steps == ["one"]
    assert db.one(artist("ann")).work_count == 1


def test_seen_entity_that_was_deleted_is_not_found(db: Store) -> None:
    seen = db.one(work("w"))
    db.delete(work("w"))
    with pytest.raises(NotFound), db.transaction() as transaction:
        transaction.change(work("w"), seen=seen).price += 1
    assert db(work("w")) is None
