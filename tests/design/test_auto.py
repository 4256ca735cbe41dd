"""AUTO: the value of an attribute that the store sets, until it does."""

import copy
import pickle
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest

from partita import AUTO, CreatedAt, Entity, Store, Table, UpdatedAt, Version, connect, get, prove
from partita.design.json_codec import encoded
from partita.design.json_schema import json_schemas
from partita.dynamodb.requests import PutItem
from partita.errors import InvalidValue, VersionConflict

notes = Table("notes", pk="PK")
NOW = datetime(2025, 1, 1, tzinfo=UTC)


class Note(Entity, table=notes, key="NOTE#{note_id}"):
    note_id: str
    text: str = ""
    seen_at: datetime = AUTO
    created_at: Annotated[datetime, CreatedAt()] = AUTO
    updated_at: Annotated[datetime, UpdatedAt()] = AUTO
    version: Annotated[int, Version()] = AUTO


design = prove("notes", notes)


@pytest.fixture
def db() -> Any:
    with Store(connect("memory:"), design, clock=lambda: NOW) as store:
        store.create_tables()
        yield store


def test_entity_shows_auto_until_it_is_stored(db: Store) -> None:
    note = Note(note_id="1", seen_at=NOW)
    assert "created_at=AUTO, updated_at=AUTO, version=AUTO" in repr(note)
    stored = db.create(note)
    assert (stored.created_at, stored.updated_at, stored.version) == (NOW, NOW, 1)
    assert db.one(get(Note, "1")) == stored


def test_auto_is_one_object_however_it_is_copied() -> None:
    assert copy.copy(AUTO) is copy.deepcopy(AUTO) is pickle.loads(pickle.dumps(AUTO)) is AUTO  # noqa: S301
    assert not isinstance(AUTO, datetime)


def test_attribute_that_stays_auto_is_not_stored(db: Store) -> None:
    db.create(Note(note_id="1"))
    assert db.one(get(Note, "1")).seen_at is AUTO
    db.put(Note(note_id="1", text="changed"))
    assert db.one(get(Note, "1")).seen_at is AUTO


def test_item_of_other_code_is_read_with_auto(db: Store) -> None:
    db.backend.call(PutItem(table_name="notes", item={"PK": {"S": "NOTE#1"}, "note_id": {"S": "1"}}))
    note = db.one(get(Note, "1"))
    assert note.created_at is note.updated_at is AUTO
    assert msgspec.json.decode(encoded(note))["created_at"] is None


def test_item_without_a_version_is_replaced_once(db: Store) -> None:
    db.backend.call(PutItem(table_name="notes", item={"PK": {"S": "NOTE#1"}, "note_id": {"S": "1"}}))
    note = db.one(get(Note, "1"))
    assert note.version is AUTO
    note.text = "changed"
    db.replace(note)
    assert db.one(get(Note, "1")).version == 1
    with pytest.raises(VersionConflict):
        db.replace(note)


def test_auto_is_the_value_of_no_other_attribute(db: Store) -> None:
    with pytest.raises(InvalidValue, match=r"^Note.text: expected `str`, got `Auto`$"):
        db.create(Note(note_id="1", text=AUTO))


def test_auto_is_not_in_the_json_schema() -> None:
    schema = json_schemas([Note], "#/{name}").components["Note"]
    assert schema["properties"]["created_at"] == {"type": "string", "format": "date-time"}
    assert schema["required"] == ["note_id"]
