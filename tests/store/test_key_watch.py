"""Items under keys that the design does not write are reported in the log, once for each entity, without their keys."""

import logging
from datetime import UTC, datetime

import pytest

from partita import Entity, Items, Store, Table, collection, connect, pattern, prove
from partita.dynamodb.requests import PutItem
from partita.store.key_watch import PAGES

logs = Table("logs", pk="PK", sk="SK")


class Line(Entity, table=logs, key=("LOG#{name}", "AT#{at}#{line_id}")):
    name: str
    at: datetime
    line_id: str = "1"


class Mark(Entity, table=logs, key=("LOG#{name}", "MARK#{at}"), old_keys=[("LOG#{name:plain}", "MARK#{at:plain}")]):
    name: str
    at: datetime


@pattern
def lines(name: str) -> Items[Line]: ...
@pattern
def marks(name: str) -> Items[Mark]: ...
@pattern
def everything(name: str) -> Items[Line | Mark]:
    return collection(Line, Mark)(name)


AT = datetime(2025, 1, 1, tzinfo=UTC)
OURS, FOREIGN = "2025-01-01T00:00:00.000000Z", "2025-01-01T00:00:00Z"
SAID = "Line: an item is stored under another key than the design writes"


@pytest.fixture
def db(caplog: pytest.LogCaptureFixture) -> Store:
    caplog.set_level(logging.WARNING, "partita")
    store = Store(connect("memory:", maintain=False), prove("logs", logs))
    store.create_tables()
    return store


def put(db: Store, partition: str, sort: str, name: str) -> None:
    item = {"PK": partition, "SK": sort, "name": name, "at": FOREIGN, "line_id": "1"}
    db.backend.call(PutItem(table_name="logs", item={each: {"S": value} for each, value in item.items()}))


@pytest.mark.parametrize(
    ("partition", "sort", "name"),
    [
        ("LOG#a", f"AT#{FOREIGN}#1", "a"),
        ("LOG#a", "AT#2025-01-01T00:00:00.000Z#1", "a"),
        ("LOG#$", f"AT#{OURS}#1", "$"),
    ],
)
def test_other_key_is_reported_once(
    db: Store, caplog: pytest.LogCaptureFixture, partition: str, sort: str, name: str
) -> None:
    put(db, partition, sort, name)
    for _ in range(3):
        assert len(list(db.scan(Line))) + len(list(db(lines("a")))) > 0
    assert [record.getMessage().startswith(SAID) for record in caplog.records] == [True]
    assert "2025" not in caplog.text


def test_page_of_a_query_is_looked_at(db: Store, caplog: pytest.LogCaptureFixture) -> None:
    put(db, "LOG#a", f"AT#{FOREIGN}#1", "a")
    assert [each.at for each in db(everything("a"))] == [AT]
    assert SAID in caplog.text


def test_keys_of_the_design_and_declared_old_keys_are_silent(db: Store, caplog: pytest.LogCaptureFixture) -> None:
    db.create(Line(name="a#b$", at=AT))
    put(db, "LOG#a", f"MARK#{FOREIGN}", "a")
    assert len(list(db(lines("a#b$")))) == len(list(db(marks("a")))) == 1
    assert len(list(db.scan(Line, Mark))) == 2
    assert caplog.text == ""


def test_so_many_pages_are_looked_at(db: Store, caplog: pytest.LogCaptureFixture) -> None:
    db.create(Line(name="a", at=AT))
    for _ in range(PAGES):
        db(lines("a")).page(1)
    put(db, "LOG#b", f"AT#{FOREIGN}#1", "b")
    assert len(list(db(lines("b")))) == 1
    assert caplog.text == "", "a list costs no more than before"
    assert len(list(db.scan(Line))) == 2
    assert SAID in caplog.text
