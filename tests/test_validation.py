"""msgspec's messages, each provoked as Partita meets it: another msgspec with other words fails here."""

import enum
import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from partita import InvalidValue, convert
from partita.errors import Fault, Step
from partita.validation import describe_pattern, fault_in, json_fault


class Colour(enum.Enum):
    RED = "red"


class Rank(enum.IntEnum):
    FIRST = 1


class Size(msgspec.Struct, forbid_unknown_fields=True):
    high: int


class Square(msgspec.Struct, tag="square"):
    side: int = 1


class Circle(msgspec.Struct, tag="circle"):
    radius: int = 1


class Thing(msgspec.Struct):
    sizes: dict[str, list[Size]] = {}
    names: dict[Annotated[str, Meta(max_length=2)], int] = {}
    shape: Square | Circle | None = None
    pair: tuple[int, int] = (1, 1)


class Picky(msgspec.Struct):
    price: int

    def __post_init__(self) -> None:
        raise ValueError("The price is too high")


def _length(kind: str, operator: str, limit: str) -> Fault:
    return Fault("length", kind, operator=operator, limit=limit)


def _bound(kind: str, operator: str, limit: str) -> Fault:
    return Fault("bound", kind, operator=operator, limit=limit)


FAULTS: list[tuple[Any, Any, tuple[Step, ...], Fault]] = [
    # types
    ("a", int, (), Fault("type", "int", "str")),
    ("a", int | None, (), Fault("type", "int | null", "str")),
    (None, int, (), Fault("type", "int", "null")),
    ({}, list[int], (), Fault("type", "array", "object")),
    ([], dict[str, int], (), Fault("type", "object", "array")),
    ([1, "a"], list[int], (1,), Fault("type", "int", "str")),
    # objects
    ({}, Size, ("high",), Fault("missing")),
    ({"high": 1, "low": 2}, Size, ("low",), Fault("unknown")),
    ({"sizes": {"a": [{}]}}, Thing, ("sizes", ..., 0, "high"), Fault("missing")),
    ({"names": {"abc": 1}}, Thing, ("names", ...), _length("str", "<=", "2")),
    ({"shape": {"type": "star"}}, Thing, ("shape", "type"), Fault("choice", got="'star'")),
    ({"shape": {}}, Thing, ("shape", "type"), Fault("missing")),
    # lengths
    ("ab", Annotated[str, Meta(max_length=1)], (), _length("str", "<=", "1")),
    ("", Annotated[str, Meta(min_length=1)], (), _length("str", ">=", "1")),
    ([1], Annotated[list[int], Meta(min_length=2)], (), _length("array", ">=", "2")),
    ({"a": 1}, Annotated[dict[str, int], Meta(max_length=0)], (), _length("object", "<=", "0")),
    ("", Annotated[bytes, Meta(min_length=1)], (), _length("bytes", ">=", "1")),
    ({"pair": [1]}, Thing, ("pair",), _length("array", "==", "2")),
    # bounds
    (1, Annotated[int, Meta(ge=2)], (), _bound("int", ">=", "2")),
    (3, Annotated[int, Meta(le=2)], (), _bound("int", "<=", "2")),
    (1.5, Annotated[float, Meta(gt=2)], (), _bound("float", ">", "2.0")),
    (2.5, Annotated[float, Meta(lt=2)], (), _bound("float", "<", "2.0")),
    (3, Annotated[int, Meta(multiple_of=2)], (), Fault("multiple", limit="2")),
    (10**400, float, (), Fault("range")),
    # text of a form
    ("b", Annotated[str, Meta(pattern="^a$")], (), Fault("pattern", limit="'^a$'")),
    ("b", Annotated[str, Meta(pattern=describe_pattern("^a$|^A$", "must be an a"))], (), Fault("rule", "must be an a")),
    ("soon", datetime, (), Fault("format", "RFC3339 encoded datetime")),
    ("soon", date, (), Fault("format", "RFC3339 encoded date")),
    ("soon", time, (), Fault("format", "RFC3339 encoded time")),
    ("soon", timedelta, (), Fault("format", "ISO8601 duration")),
    ("P1Y", timedelta, (), Fault("format", "ISO8601 duration")),
    ("P9999999999D", timedelta, (), Fault("range")),
    ("soon", uuid.UUID, (), Fault("format", "UUID")),
    ("soon", Decimal, (), Fault("format", "decimal string")),
    ("!", bytes, (), Fault("format", "base64 encoded string")),
    ("2025-01-01T00:00:00", Annotated[datetime, Meta(tz=True)], (), Fault("time zone", "a")),
    ("2025-01-01T00:00:00Z", Annotated[datetime, Meta(tz=False)], (), Fault("time zone", "no")),
    # choices
    ("blue", Colour, (), Fault("choice", got="'blue'")),
    (7, Rank, (), Fault("choice", got="7")),
    ("c", Literal["a", "b"], (), Fault("choice", got="'c'")),
    # words of others
    ({"price": 1}, Picky, (), Fault("other", got="the price is too high")),
    ([{"price": 1}], list[Picky], (0,), Fault("other", got="the price is too high")),
]


@pytest.mark.parametrize(("value", "kind", "path", "fault"), FAULTS, ids=lambda each: str(each)[:30])
@pytest.mark.parametrize("by", ["convert", "decode"])
def test_message_of_msgspec_is_read_as_facts(
    by: str, value: Any, kind: Any, path: tuple[Step, ...], fault: Fault
) -> None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(value, kind) if by == "convert" else msgspec.json.decode(msgspec.json.encode(value), type=kind)
    assert fault_in(error.value) == (path, fault)


def test_every_fault_has_words() -> None:
    kinds = {each[3].kind for each in FAULTS} | {"null"}
    assert all(str(Fault(kind, "x", "x", ">=", "1")) for kind in kinds)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b" ", "is missing; send JSON"),
        (b'{"a"', "is not JSON: it ends too early, after 4 bytes"),
        (b'{"a" 1}', "is not JSON: expected ':' (byte 5)"),
        (b"{]}", "is not JSON: object keys must be strings (byte 1)"),
        (b"[NaN]", "is not JSON: invalid character (byte 1)"),
        (b"[01]", "is not JSON: invalid number (byte 2)"),
        (b'"\\x"', "is not JSON: invalid escape character in string (byte 3)"),
        (b"1x", "is not JSON: trailing characters (byte 2)"),
        (b'"\xc3"', "is not UTF-8"),
        (b'"\\ud800"', "is not Unicode text: it holds half of a surrogate pair"),
        (b'"\\udc00"', "is not Unicode text: it holds half of a surrogate pair"),
        (b"[" * 100_000, "is nested too deeply"),
    ],
)
def test_body_that_is_not_json_is_explained(body: bytes, words: str) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeError, RecursionError)) as error:
        msgspec.json.decode(body)
    assert json_fault(body, error.value) == words


def test_convert_names_the_place_in_the_entity() -> None:
    with pytest.raises(InvalidValue) as error:
        convert({"sizes": {"a": [{"high": "x"}]}}, Thing, "Check", "attributes")
    assert str(error.value) == "Check.attributes.sizes[...][0].high: expected `int`, got `str`"
    assert error.value.path == ("attributes", "sizes", ..., 0, "high")
    assert error.value.fault == Fault("type", "int", "str")


def test_convert_takes_what_json_holds() -> None:
    assert convert({"pair": [1, 2]}, Thing, "Check") == Thing(pair=(1, 2))
    assert convert("12.50", Decimal, "Check", "price") == Decimal("12.50")
