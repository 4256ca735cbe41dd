"""Faults of a value as pydantic's own errors, with its types and messages."""

import enum
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from pydantic import TypeAdapter, ValidationError

from partita import Entity, OpenEnum, Table

table = Table("things", "PK")


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Mood(OpenEnum):
    CALM = "calm"
    WILD = "wild"


class Inner(msgspec.Struct):
    fives: Annotated[int, msgspec.Meta(multiple_of=5)] = 5


class Thing(Entity, table=table, key="THING#{text}"):
    text: Annotated[str, msgspec.Meta(min_length=2, max_length=3, pattern="^a")]
    quoted: Annotated[str, msgspec.Meta(pattern="^it's")] = "it's"
    whole: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    real: float = 1.0
    flag: bool = True
    data: bytes = b""
    price: Decimal = Decimal(1)
    at: datetime | None = None
    day: date | None = None
    uid: UUID | None = None
    numbers: Annotated[list[int], msgspec.Meta(max_length=2)] = msgspec.field(default_factory=list)
    names: set[str] = msgspec.field(default_factory=set)
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    inner: Inner | None = None
    size: Size = Size.SMALL
    mood: Mood = Mood.CALM
    letter: Literal["a", "b"] = "a"


things = TypeAdapter(Thing)


@pytest.mark.parametrize(
    ("members", "kind", "message"),
    [
        ({"text": 5}, "string_type", "Input should be a valid string"),
        ({"text": "a"}, "string_too_short", "String should have at least 2 characters"),
        ({"text": "aaaa"}, "string_too_long", "String should have at most 3 characters"),
        ({"text": "bb"}, "string_pattern_mismatch", "String should match pattern '^a'"),
        ({"quoted": "b"}, "string_pattern_mismatch", """String should match pattern '^it's'"""),
        ({"whole": "1"}, "int_type", "Input should be a valid integer"),
        ({"whole": 0}, "greater_than_equal", "Input should be greater than or equal to 1"),
        ({"whole": 10}, "less_than_equal", "Input should be less than or equal to 9"),
        ({"real": "1"}, "float_type", "Input should be a valid number"),
        ({"flag": 1}, "bool_type", "Input should be a valid boolean"),
        ({"data": 1}, "bytes_type", "Input should be a valid bytes"),
        ({"data": "!"}, "value_error", "expected base64 encoded string"),
        ({"price": []}, "decimal_type", "Decimal input should be an integer, float, string or Decimal object"),
        ({"price": "dear"}, "decimal_parsing", "Input should be a valid decimal"),
        ({"at": 5}, "datetime_type", "Input should be a valid datetime"),
        ({"at": "soon"}, "datetime_parsing", "Input should be a valid datetime, RFC 3339 is expected"),
        ({"at": "2025-01-01T00:00:00"}, "timezone_aware", "Input should have timezone info"),
        ({"day": 5}, "date_type", "Input should be a valid date"),
        ({"uid": 5}, "uuid_type", "UUID input should be a string, bytes or UUID object"),
        ({"uid": "x"}, "uuid_parsing", "Input should be a valid UUID, 32 hexadecimal digits are expected"),
        ({"numbers": 5}, "list_type", "Input should be a valid list"),
        ({"numbers": [1, 2, 3]}, "too_long", "List should have at most 2 items after validation, not 3"),
        ({"names": 5}, "set_type", "Input should be a valid set"),
        ({"counts": []}, "dict_type", "Input should be a valid dictionary"),
        ({"inner": 5}, "model_type", "Input should be a valid dictionary or instance of Inner"),
        ({"inner": {"fives": 3}}, "multiple_of", "Input should be a multiple of 5"),
        ({"inner": {"sixes": 6}}, "extra_forbidden", "Extra inputs are not permitted"),
        ({"size": "huge"}, "enum", "Input should be 'small' or 'large'"),
        ({"size": 5}, "enum", "Input should be 'small' or 'large'"),
        ({"mood": "odd"}, "enum", "Input should be 'calm' or 'wild'"),
        ({"letter": "c"}, "literal_error", "Input should be 'a' or 'b'"),
    ],
)
def test_fault_has_pydantics_type_and_message(members: dict[str, Any], kind: str, message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        things.validate_python({"text": "abc"} | members)
    (error,) = raised.value.errors(include_url=False)
    assert (error["type"], error["msg"]) == (kind, message)


def test_missing_member_is_reported_as_such() -> None:
    with pytest.raises(ValidationError) as raised:
        things.validate_python({})
    assert raised.value.errors(include_url=False) == [
        {"type": "missing", "loc": ("text",), "msg": "Field required", "input": {}}
    ]
