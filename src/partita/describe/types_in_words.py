"""The type of an attribute in words, for the page of a design: its type in DynamoDB, its values and their bounds."""

import enum
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from partita.describe.markdown import code
from partita.describe.vocabulary import (
    DATE,
    DECIMAL,
    TIME,
    UUID_TEXT,
    WHOLE_NUMBER,
    bounds,
    joined,
    one_of,
    strict_bounds,
)
from partita.design.codec_factory import codec_of, unwrapped_type
from partita.design.naming import snake_case
from partita.design.open_enum import OpenEnum
from partita.validation import pattern_words

_TYPES = {"S": "String", "N": "Number", "B": "Binary", "BOOL": "Boolean"}
_KINDS = {int: WHOLE_NUMBER, Decimal: DECIMAL, datetime: f"{TIME}, in UTC", date: DATE, UUID: UUID_TEXT}


def type_in_words(hint: Any) -> str:
    """The type on disk.

    >>> type_in_words(list[str]), type_in_words(dict[str, Any] | None), type_in_words(frozenset[int])
    ('List of String', 'Map', 'Number set')
    """
    kind = unwrapped_type(hint)[0]
    origin, inner = get_origin(kind), get_args(kind)
    if is_struct(kind):
        return f"Map {_link(kind)}"
    if origin in (list, tuple):
        return f"List of {_inside(inner[0])}"
    if origin in (set, frozenset):
        return f"{type_in_words(inner[0])} set"
    if kind is dict or origin is dict:
        return f"Map of {_inside(inner[1])}" if inner and inner[1] is not Any else "Map"
    return "any type" if kind is Any else _TYPES[codec_of(kind, "", snake_case)[0].tag]


def _inside(hint: Any) -> str:
    kind = unwrapped_type(hint)[0]
    return _link(kind) if is_struct(kind) else type_in_words(hint)


def _link(struct: Any) -> str:
    return f"[`{struct.__name__}`](#{struct.__name__.lower()})"


def values_in_words(hint: Any) -> str:
    """The values that are allowed, or nothing where every value of the type is.

    >>> values_in_words(Annotated[list[Annotated[str, msgspec.Meta(max_length=40)]], msgspec.Meta(max_length=10)])
    'at most 10 elements, each at most 40 characters'
    >>> values_in_words(Literal["a", "b"]), values_in_words(Annotated[int | None, msgspec.Meta(ge=1, le=200)])
    ('one of `a`, `b`', 'whole number, 1 to 200')
    """
    kind, metas = unwrapped_type(hint)[0], bounds_of(hint)
    words = [_known_values(kind), _range(metas), _length(kind, metas), *map(_description, metas)]
    inner = [] if get_origin(kind) is Literal else [each for each in get_args(kind) if each not in (str, Any, ...)]
    return joined(*words, *(f"each {each}" for each in map(values_in_words, inner[:1]) if each))


def bounds_of(hint: Any) -> list[msgspec.Meta]:
    """The bounds of a type, also inside `| None`."""
    found: list[msgspec.Meta] = []
    for each in _layers(hint):
        found += [marker for marker in get_args(each)[1:] if isinstance(marker, msgspec.Meta)]
    return found


def _layers(hint: Any) -> Iterator[Any]:
    if get_origin(hint) is Annotated:
        yield hint
        yield from _layers(get_args(hint)[0])
    elif hasattr(hint, "__supertype__"):
        yield from _layers(hint.__supertype__)
    elif type(None) in get_args(hint):
        for each in get_args(hint):
            yield from _layers(each)


def structs_in(hint: Any) -> Iterator[type[msgspec.Struct]]:
    """The structs that a value may contain, at any depth, each once."""
    seen: dict[Any, None] = {}
    _collect(hint, seen)
    yield from seen


def _collect(hint: Any, seen: dict[Any, None]) -> None:
    kind = unwrapped_type(hint)[0]
    if is_struct(kind):
        if kind not in seen:
            seen[kind] = None
            for each in get_type_hints(kind, include_extras=True).values():
                _collect(each, seen)
    elif get_origin(kind) is not Literal:
        for each in get_args(kind):
            _collect(each, seen)


def is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _known_values(kind: Any) -> str:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return one_of((code(each.value) for each in kind), others=issubclass(kind, OpenEnum))
    if get_origin(kind) is Literal:
        return one_of(map(code, get_args(kind)))
    return _KINDS.get(kind, "")


def _range(metas: list[msgspec.Meta]) -> str:
    low, high, above, below, step = (_first(metas, each) for each in ("ge", "le", "gt", "lt", "multiple_of"))
    return joined(bounds(low, high), strict_bounds(above, below, step))


def _length(kind: Any, metas: list[msgspec.Meta]) -> str:
    unit = "characters" if kind is str else "bytes" if kind is bytes else "elements"
    pattern = _first(metas, "pattern")
    length = bounds(_first(metas, "min_length"), _first(metas, "max_length"), unit)
    return joined(length, (pattern_words(pattern) or f"matching {code(pattern)}") if pattern else "")


def _description(meta: msgspec.Meta) -> str:
    unit = (meta.extra or {}).get("unit")
    return joined(meta.description or "", f"in {unit}" if unit else "")


def _first(metas: list[msgspec.Meta], name: str) -> Any:
    return next((value for each in metas if (value := getattr(each, name)) is not None), None)
