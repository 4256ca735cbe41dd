"""Validation for pydantic: msgspec checks a value member by member, and every fault is one of pydantic's errors.

The value is encoded as JSON and decoded by the same rules as a request of our REST API: unknown members are rejected at
any depth, an open enum has to be one of its known values, and a time needs a time zone.
"""

import ast
import enum
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from pydantic_core import PydanticCustomError, ValidationError

from partita.design.codec_factory import unwrapped_type
from partita.design.json_codec import encoded, open_decimal
from partita.design.open_enum import OpenEnum
from partita.errors import Fault
from partita.validation import fault_in

Raw = bytes | msgspec.Raw
Location = tuple[int | str, ...]
Check = Callable[[Raw, Location], Iterator["MemberError"]]  # of a JSON value and its place

_LISTS = (list, set, frozenset, tuple)


class MemberError(NamedTuple):
    """The errors of one member of a value; `kind` is its type without None."""

    fault: Fault
    kind: Any
    location: Location
    value: Any


def validated(cls: type[msgspec.Struct], value: Any) -> Any:
    """The value as an instance of the class; raises a ValidationError that lists every wrong member."""
    decoder, check = _validator(cls)
    try:
        body = encoded(value)
        errors = list(check(body, ()))
    except (TypeError, ValueError, RecursionError) as error:  # it cannot be written as JSON
        errors = [MemberError(Fault("other", got=str(error)), cls, (), value)]
    if errors:
        raise ValidationError.from_exception_data(cls.__name__, [_line_error(each) for each in errors])
    return decoder.decode(body)


@cache
def _validator(cls: type[msgspec.Struct]) -> tuple[msgspec.json.Decoder[Any], Check]:
    return _decoder(cls), _check(cls)


def _decoder(annotation: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(annotation, float_hook=open_decimal)


def is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


# Checks, one for each type


def _check(annotation: Any) -> Check:
    """The errors in a value of this type: of its members or items, or else of the value itself."""
    decoder, kind = _decoder(annotation), unwrapped_type(annotation)[0]
    check_inside = _check_inside(kind)

    def check(raw: Raw, location: Location) -> Iterator[MemberError]:
        inside = list(check_inside(raw, location)) if check_inside is not None else []
        yield from inside
        fault = None if inside else _fault(decoder, raw)
        if fault is not None:
            yield MemberError(fault, kind, location, msgspec.json.decode(raw))

    return check


def _fault(decoder: msgspec.json.Decoder[Any], raw: Raw) -> Fault | None:
    try:
        decoded = decoder.decode(raw)
    except msgspec.ValidationError as error:
        return fault_in(error)[1]
    if isinstance(decoded, OpenEnum) and decoded not in list(type(decoded)):
        return Fault("choice", got=repr(decoded.value))
    return Fault("time zone", "a") if isinstance(decoded, datetime) and decoded.tzinfo is None else None


def _check_inside(kind: Any) -> Check | None:
    """The check of the contents of a struct, list or map; None for other types."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if is_struct(kind):
        return _check_members(kind)
    if origin is dict and inner:
        return _check_each(_check(inner[1]), b"{", lambda raw: _members(raw).items())
    if origin in _LISTS and inner:
        return _check_each(_check(inner[0]), b"[", lambda raw: enumerate(_items(raw)))
    return None


def _check_each(check: Check, opening: bytes, split: Callable[[Raw], Iterable[tuple[int | str, Raw]]]) -> Check:
    def check_each(raw: Raw, location: Location) -> Iterator[MemberError]:
        if bytes(raw)[:1] == opening:
            for place, each in split(raw):
                yield from check(each, (*location, place))

    return check_each


def _check_members(struct: type[msgspec.Struct]) -> Check:
    hints, fields = get_type_hints(struct, include_extras=True), msgspec.structs.fields(struct)
    checks = {field.encode_name: (_check(hints[field.name]), field.required) for field in fields}

    def check_members(raw: Raw, location: Location) -> Iterator[MemberError]:
        if bytes(raw)[:1] != b"{":
            return
        members = _members(raw)
        for name, (check, required) in checks.items():
            if name in members:
                yield from check(members.pop(name), (*location, name))
            elif required:
                yield MemberError(Fault("missing"), None, (*location, name), msgspec.json.decode(raw))
        for name, unknown in members.items():
            yield MemberError(Fault("unknown"), None, (*location, name), msgspec.json.decode(unknown))

    return check_members


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


# Errors

_WRONG_TYPE = {
    int: "int_type",
    float: "float_type",
    bool: "bool_type",
    str: "string_type",
    bytes: "bytes_type",
    Decimal: "decimal_type",
    datetime: "datetime_type",
    date: "date_type",
    UUID: "uuid_type",
    list: "list_type",
    tuple: "tuple_type",
    set: "set_type",
    frozenset: "frozen_set_type",
    dict: "dict_type",
}
_WRONG_FORMAT: dict[Any, tuple[str, dict[str, Any]]] = {
    Decimal: ("decimal_parsing", {}),
    datetime: ("datetime_parsing", {"error": "RFC 3339 is expected"}),
    date: ("date_parsing", {"error": "RFC 3339 is expected"}),
    UUID: ("uuid_parsing", {"error": "32 hexadecimal digits are expected"}),
}
_BOUNDS = {
    ">=": ("greater_than_equal", "ge"),
    ">": ("greater_than", "gt"),
    "<=": ("less_than_equal", "le"),
    "<": ("less_than", "lt"),
}


def _line_error(error: MemberError) -> Any:
    """The error as pydantic has it: with its own type and message where it has one for the fault."""
    kind, context = _known_error(error)
    described = PydanticCustomError("value_error", str(error.fault)) if kind == "value_error" else kind
    line = {"type": described, "loc": error.location, "input": error.value}
    return {**line, "ctx": context} if context else line


def _known_error(error: MemberError) -> tuple[str, dict[str, Any]]:
    """pydantic's type for the fault, and what its message contains; `value_error` where it has no better one."""
    fault, origin = error.fault, get_origin(error.kind) or error.kind
    match fault.kind:
        case "missing":
            return "missing", {}
        case "unknown":
            return "extra_forbidden", {}
        case "time zone":
            return ("timezone_aware" if fault.expected == "a" else "timezone_naive"), {}
        case "pattern":
            return "string_pattern_mismatch", {"pattern": ast.literal_eval(fault.limit)}
        case "multiple":
            return "multiple_of", {"multiple_of": msgspec.json.decode(fault.limit)}
        case "bound":
            name, limit = _BOUNDS[fault.operator]
            return name, {limit: msgspec.json.decode(fault.limit)}
        case "length" if fault.operator in ("<=", ">="):
            return _length_error(error)
        case "format" if origin in _WRONG_FORMAT:
            return _WRONG_FORMAT[origin]
    if fault.kind in ("type", "choice") and (known := _values(error.kind)):
        return ("literal_error" if origin is Literal else "enum"), {"expected": known}
    if fault.kind == "type" and is_struct(origin):
        return "model_type", {"class_name": origin.__name__}
    return (_WRONG_TYPE.get(origin, "value_error") if fault.kind == "type" else "value_error"), {}


def _length_error(error: MemberError) -> tuple[str, dict[str, Any]]:
    is_short, limit = error.fault.operator == ">=", int(error.fault.limit)
    bound = {"min_length" if is_short else "max_length": limit}
    if isinstance(error.value, str):
        return ("string_too_short" if is_short else "string_too_long"), bound
    name = (get_origin(error.kind) or error.kind).__name__.capitalize()
    sized = {"field_type": name, "actual_length": len(error.value), **bound}
    return ("too_short" if is_short else "too_long"), sized


def _values(kind: Any) -> str:
    """The values of an enum or a literal; empty for other types."""
    known = get_args(kind) if get_origin(kind) is Literal else ()
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        known = tuple(each.value for each in kind)
    *others, last = map(repr, known) if known else [""]
    return f"{', '.join(others)} or {last}" if others else last
