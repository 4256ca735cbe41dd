"""An item that is too large for DynamoDB is rejected with its largest attribute, and nothing is written."""

import pytest

from partita import InvalidValue, Store
from partita.dynamodb import limits
from tests.store.kitchen_sink_design import Artist, Note, Work, artist, note, work

LONG = "x" * limits.ITEM_BYTES


def test_new_item_that_is_too_large_names_its_largest_attribute(db: Store) -> None:
    with pytest.raises(InvalidValue, match=r"Note.text: it makes the item larger than the 400 KB"):
        db.create(Note(artist_id="a", number=1, text=LONG))
    assert db(note("a", 1)) is None


def test_change_that_is_too_large_names_the_written_attribute(db: Store) -> None:
    db.create(Note(artist_id="a", number=1, text="short"))
    with pytest.raises(InvalidValue, match=r"Note.text"), db.change(note("a", 1)) as draft:
        draft.text = LONG
    assert db.one(note("a", 1)).text == "short"


def test_transaction_with_an_item_that_is_too_large_names_the_attribute(db: Store) -> None:
    db.create(Artist(artist_id="a", country="KR", handle="ah"))
    with pytest.raises(InvalidValue, match=r"Work.lines"):
        db.create(Work(work_id="w", artist_id="a", title="t", lines=[LONG]))
    assert db(work("w")) is None
    assert db.one(artist("a"), consistent=True).work_count == 0


def test_transaction_that_grows_an_item_too_large_names_the_attribute(db: Store) -> None:
    db.create(Note(artist_id="a", number=1, text="short"))

    def write_both() -> None:
        with db.transaction() as transaction:
            transaction.change(note("a", 1)).text = LONG
            transaction.create(Note(artist_id="a", number=2, text="short"))

    with pytest.raises(InvalidValue, match=r"Note.text"):
        write_both()
    assert db(note("a", 2)) is None
