"""A transaction may put entities without invariants, whether they exist or not."""

from collections.abc import Iterator

import pytest

from partita import ConditionFailed, F, InvalidValue, Store, connect
from tests.store.clocks import Clock
from tests.store.kitchen_sink_design import Artist, Note, Work, artist, design, note


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, design, clock=Clock(), sleep=lambda _: None)
        store.create_tables()
        store.create(Artist(artist_id="ann", country="PT", handle="ann"))
        yield store


def test_put_creates_and_replaces_within_a_transaction(db: Store) -> None:
    for text in ("first", "second"):
        with db.transaction() as transaction:
            transaction.put(Note(artist_id="ann", number=1, text=text))
            transaction.change(artist("ann")).room += 1
        assert db.one(note("ann", 1)).text == text
    assert db.one(artist("ann")).room == 102


def test_put_is_not_applied_when_the_transaction_fails(db: Store) -> None:
    def both() -> None:
        with db.transaction() as transaction:
            transaction.put(Note(artist_id="ann", number=1, text="never"))
            transaction.check(artist("ann"), F.room == 7)

    with pytest.raises(ConditionFailed):
        both()
    assert db(note("ann", 1)) is None


def test_entity_with_invariants_cannot_be_put(db: Store) -> None:
    with pytest.raises(InvalidValue, match="Work: a put cannot keep its invariants"), db.transaction() as transaction:
        transaction.put(Work(work_id="w", artist_id="ann", title=""))
