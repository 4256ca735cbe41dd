"""Batches: any number of entities; if one is invalid, none is sent."""

import pytest

from partita import Entity, InvalidValue, Item, SentRequest, Store, Table, connect, pattern

shelf = Table("shelf", pk="PK")


class Book(Entity, table=shelf, key="BOOK#{isbn}"):
    isbn: str
    title: str = ""


@pattern
def book(isbn: str) -> Item[Book]: ...


@pytest.fixture
def sent() -> list[SentRequest]:
    return []


@pytest.fixture
def db(sent: list[SentRequest]) -> Store:
    opened = Store(connect("memory:", maintain=False), shelf, on_call=[sent.append])
    opened.create_tables()
    sent.clear()
    return opened


def test_batch_of_any_length_takes_as_few_requests_as_possible(db: Store, sent: list[SentRequest]) -> None:
    db.put_many([Book(isbn=str(number), title=f"título {number}") for number in range(60)])
    assert [call.operation for call in sent] == ["BatchWriteItem"] * 3
    assert [db.one(book(str(number))).title for number in (0, 59)] == ["título 0", "título 59"]


def test_invalid_entity_keeps_the_whole_batch_back(db: Store, sent: list[SentRequest]) -> None:
    with pytest.raises(InvalidValue, match="empty text cannot be part of a key"):
        db.put_many([*(Book(isbn=str(number)) for number in range(60)), Book(isbn="")])
    assert sent == []


def test_invalid_text_keeps_the_whole_batch_back(db: Store, sent: list[SentRequest]) -> None:
    with pytest.raises(InvalidValue, match=r"^Book.title: it contains a lone surrogate and is not valid Unicode$"):
        db.put_many([Book(isbn="0"), Book(isbn="1", title="\ud800")])
    assert sent == []


def test_entity_that_is_in_a_batch_twice_is_named(db: Store, sent: list[SentRequest]) -> None:
    with pytest.raises(InvalidValue, match=r"^Book: Book 1 is in the batch twice; put it once$"):
        db.put_many([Book(isbn="1"), Book(isbn="2"), Book(isbn="1", title="other")])
    assert sent == []


def test_item_may_be_deleted_twice_in_one_batch(db: Store, sent: list[SentRequest]) -> None:
    db.create(Book(isbn="1"))
    db.delete_many([book("1"), book("2"), book("1")])
    assert db(book("1")) is None
    assert [call.operation for call in sent] == ["PutItem", "BatchWriteItem", "GetItem"]
