"""Old keys with `:plain` parts hold the text that other code writes of a value, whatever its type is."""

import enum
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import msgspec
import pytest

from partita import AlreadyExists, DesignError, Entity, OpenEnum, Table, get, query
from partita.design.entities import EntityMeta
from partita.dynamodb.requests import PutItem, Scan
from tests.store.declared import opened, stored, table


class Color(str, enum.Enum):
    RED = "red"


class Plain(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    ONE = 1
    TWO = 2


class Tier(OpenEnum):
    FREE = "free"


KINDS: dict[str, tuple[Any, str, Any, str]] = {  # the type, its part of today, a value, and its plain text
    "text": (str, "{x}", "red", "red"),
    "literal": (Literal["red", "blue"], "{x}", "red", "red"),
    "enum of text": (Color, "{x}", Color.RED, "red"),
    "plain enum": (Plain, "{x}", Plain.RED, "red"),
    "open enum": (Tier, "{x}", Tier.FREE, "free"),
    "unknown text of an open enum": (Tier, "{x}", Tier("gold"), "gold"),
    "enum of numbers": (Level, "{x:ranked}", Level.TWO, "2"),
    "whole": (int, "{x:4}", 12, "12"),
    "exact": (Decimal, "{x:4.2}", Decimal("1.5"), "1.5"),
    "flag": (bool, "{x}", False, "False"),
    "time": (datetime, "{x:desc}", datetime(2025, 1, 1, tzinfo=UTC), "2025-01-01T00:00:00.000000Z"),
    "date": (date, "{x:desc}", date(2025, 1, 1), "2025-01-01"),
    "uuid": (UUID, "{x}", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
}


def declared(kind: Any, part: str, table: Table) -> Any:
    names = {"__annotations__": {"p": str, "x": kind, "n": int}, "__module__": __name__, "n": 0}
    old = [("P#{p}", "OLD#{x:plain}")]
    return EntityMeta("Thing", (Entity,), names, table=table, key=("P#{p}", "NEW#" + part), old_keys=old)


@pytest.mark.parametrize("kind", KINDS)
def test_item_under_its_plain_text_is_found_and_replaced(kind: str) -> None:
    type_, part, value, text = KINDS[kind]
    things = table()
    thing = declared(type_, part, things)
    with opened(things) as db:
        db.create(thing(p="a", x=value, n=7))
        item = msgspec.json.decode((db.backend.call(Scan(table_name="things")).items or [])[0])
        db.delete(get(thing, "a", value))
        db.backend.call(PutItem(table_name="things", item=item | {"SK": {"S": f"OLD#{text}"}}))

        assert [each.n for each in db(query(thing, "a"))] == [7]
        with pytest.raises(AlreadyExists):
            db.create(thing(p="a", x=value))
        db.put(thing(p="a", x=value, n=8))
        assert len(stored(db)) == 1
        found: Any = db.get(get(thing, "a", value))
        assert found.n == 8


def test_a_value_without_a_text_of_its_own_cannot_be_plain() -> None:
    with pytest.raises(DesignError, match=r"\{x:plain\} is not a form of bytes"):
        declared(bytes, "{p}", table())
