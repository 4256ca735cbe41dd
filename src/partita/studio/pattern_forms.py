"""The signature of a pattern as a form: fields for its parameters, and their texts as typed arguments."""

import inspect
import types
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from partita.describe.schema_in_words import schema_in_words
from partita.design.codec_factory import unwrapped_type
from partita.design.json_codec import open_decimal
from partita.design.json_schema import json_schemas
from partita.design.key_slots import slots_of
from partita.design.open_enum import OpenEnum
from partita.design.patterns import Pattern
from partita.design.reads import Argument, FanOut
from partita.design.search_terms import search_values
from partita.errors import InvalidValue
from partita.validation import fault_in

SEVERAL = (list, tuple, set, frozenset, Sequence)


class PatternField(msgspec.Struct, frozen=True):
    """A parameter as a field of a form: the values that it takes in words, and the text that it has."""

    name: str
    about: str
    value: str
    required: bool
    choices: list[str]
    is_open: bool
    """Whether other values than the choices are allowed."""
    is_json: bool
    """Whether its text is JSON: a list."""


def fields_of(pattern: Pattern[Any, Any], given: Mapping[str, str]) -> list[PatternField]:
    """The fields of a pattern's form, with the texts that are given."""
    return [_field(pattern, each, given.get(each.name, "")) for each in pattern.arguments]


def _field(pattern: Pattern[Any, Any], argument: Argument, text: str) -> PatternField:
    default = pattern.signature.parameters[argument.name].default
    kind = unwrapped_type(argument.type)[0]
    required = default is inspect.Parameter.empty and not _is_optional(argument.type)
    is_open = isinstance(kind, type) and issubclass(kind, OpenEnum)
    about = _in_words(argument.type)
    return PatternField(argument.name, about, text, required, _choices(kind), is_open, is_several(kind))


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def is_several(kind: Any) -> bool:
    """Whether a type is a list, set or map."""
    return get_origin(kind) in (*SEVERAL, dict) or kind in (list, tuple, dict)


def _choices(kind: Any) -> list[str]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(each.value) for each in kind]
    if get_origin(kind) is Literal:
        return [str(each) for each in get_args(kind)]
    return ["true", "false"] if kind is bool else []


def _in_words(hint: Any) -> str:
    holder = msgspec.defstruct("Argument", [("value", hint)])
    try:
        _, components, names = json_schemas([holder], "#/{name}")
    except TypeError:  # a type of its own that JSON Schema does not describe
        return str(hint)
    return schema_in_words(components[names[holder]]["properties"]["value"], components)


def arguments_of(pattern: Pattern[Any, Any], given: Mapping[str, str]) -> tuple[Any, ...]:
    """The arguments of a call, from texts; InvalidValue names the parameter that is missing or wrong."""
    return tuple(_argument(pattern, each, given.get(each.name, "")) for each in pattern.arguments)


def _argument(pattern: Pattern[Any, Any], argument: Argument, text: str) -> Any:
    field = _field(pattern, argument, text)
    if not text and not field.required:
        default = pattern.signature.parameters[argument.name].default
        return None if default is inspect.Parameter.empty else default
    if not text:
        raise InvalidValue(pattern.name, "a value is required", argument.name)
    try:
        if field.is_json:
            return msgspec.json.Decoder(argument.type, strict=False, float_hook=open_decimal).decode(text)
        return msgspec.convert(text, argument.type, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidValue(pattern.name, str(fault_in(error)[1]), argument.name) from None
    except (msgspec.DecodeError, RecursionError):
        raise InvalidValue(pattern.name, 'write a list in JSON, such as ["a", "b"]', argument.name) from None


def fields_by_argument(pattern: Pattern[Any, Any]) -> dict[str, str]:
    """The attribute of the entity that each parameter is compared with."""
    read = pattern.read
    filled = slots_of(pattern.name, read) if read.search is None else search_values(read)
    found: dict[str, str] = {}
    for slot, value in filled:
        inner = value.values if isinstance(value, FanOut) else value
        if isinstance(inner, Argument):
            found.setdefault(inner.name, slot.field)
    return found


def text_of(value: Any, hint: Any) -> str:
    """A plain value of an entity as the text of a field for an argument of a type; a time as its day for a date."""
    kind = unwrapped_type(hint)[0]
    if value is None:
        return ""
    if kind is date and isinstance(value, str):
        return value.partition("T")[0]
    if is_several(kind):
        return msgspec.json.encode(value if isinstance(value, list) else [value]).decode()
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
