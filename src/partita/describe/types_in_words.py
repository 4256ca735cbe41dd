"""What an attribute may hold, as a design document says it: its type in DynamoDB, its values and their bounds."""

import enum
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec

from partita.design.codec_factory import codec_of, unwrapped_type
from partita.design.naming import snake_case
from partita.design.open_enum import OpenEnum

_TYPES = {"S": "String", "N": "Number", "B": "Binary", "BOOL": "Boolean"}
_FORMS = {
    int: "whole",
    Decimal: "decimal",
    datetime: "time in UTC, ISO 8601",
    date: "date, YYYY-MM-DD",
    UUID: "UUID",
}
_LONG = 10_000  # from here on digits are easier to read in threes


def type_in_words(hint: Any) -> str:
    """The type on disk.

    >>> type_in_words(list[str]), type_in_words(dict[str, Any] | None), type_in_words(frozenset[int])
    ('List of String', 'Map, open', 'Number set')
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
        return f"Map of {_inside(inner[1])}" if inner and inner[1] is not Any else "Map, open"
    return "anything" if kind is Any else _TYPES[codec_of(kind, "", snake_case)[0].tag]


def _inside(hint: Any) -> str:
    kind = unwrapped_type(hint)[0]
    return _link(kind) if is_struct(kind) else type_in_words(hint)


def _link(struct: Any) -> str:
    return f"[`{struct.__name__}`](#{struct.__name__.lower()})"


def values_in_words(hint: Any) -> str:
    """The values, or nothing where any of the type will do.

    >>> values_in_words(Annotated[list[Annotated[str, msgspec.Meta(max_length=40)]], msgspec.Meta(max_length=10)])
    'at most 10, each at most 40 characters'
    >>> values_in_words(Literal["a", "b"]), values_in_words(Annotated[int | None, msgspec.Meta(ge=1, le=200)])
    ('`a`, `b`', 'whole, 1 to 200')
    """
    kind, metas = unwrapped_type(hint)[0], bounds_of(hint)
    told = [_known_values(kind), _range(metas), _length(kind, metas), *(_described(each) for each in metas)]
    inner = [] if get_origin(kind) is Literal else [each for each in get_args(kind) if each not in (str, Any, ...)]
    told += [f"each {each}" for each in map(values_in_words, inner[:1]) if each]
    return ", ".join(each for each in told if each)


def bounds_of(hint: Any) -> list[msgspec.Meta]:
    """The bounds of a type, inside its `| None` too."""
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
    """The structs that a value may hold, those inside them too, each once."""
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
        listed = ", ".join(f"`{each.value}`" for each in kind)
        return f"{listed}; others are read too" if issubclass(kind, OpenEnum) else listed
    if get_origin(kind) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(kind))
    return _FORMS.get(kind, "")


def _range(metas: list[msgspec.Meta]) -> str:
    low = _first(metas, "ge")
    high = _first(metas, "le")
    above, below, step = (_first(metas, each) for each in ("gt", "lt", "multiple_of"))
    told = [_between(low, high, ""), "" if above is None else f"above {_number(above)}"]
    told += ["" if below is None else f"below {_number(below)}", "" if step is None else f"a multiple of {step}"]
    return ", ".join(each for each in told if each)


def _length(kind: Any, metas: list[msgspec.Meta]) -> str:
    of = " characters" if unwrapped_type(kind)[0] is str else ""
    pattern = _first(metas, "pattern")
    told = [_between(_first(metas, "min_length"), _first(metas, "max_length"), of)]
    return ", ".join(each for each in (*told, f"`{pattern}`" if pattern else "") if each)


def _between(low: Any, high: Any, of: str) -> str:
    if low is None and high is None:
        return ""
    if high is None:
        return f"at least {_number(low)}{of}"
    return f"{_number(low)} to {_number(high)}{of}" if low is not None else f"at most {_number(high)}{of}"


def _described(meta: msgspec.Meta) -> str:
    unit = (meta.extra or {}).get("unit")
    return ", ".join(each for each in (meta.description, f"in {unit}" if unit else "") if each)


def _first(metas: list[msgspec.Meta], name: str) -> Any:
    return next((held for each in metas if (held := getattr(each, name)) is not None), None)


def _number(value: Any) -> str:
    return f"{value:,}" if abs(value) >= _LONG else str(value)
