"""The JSON Schema of structs and entities: msgspec's, with additions for Partita's own types.

- A time is text in the format `date-time`, and a decimal is a number.
- An open enum may have other values than the known ones.
- A default that the attribute's own bounds forbid is not a value that a client may send.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from partita.design.open_enum import OpenEnum

Schema = dict[str, Any]

_BOUNDS = ("minLength", "pattern", "default")


class JsonSchemas(NamedTuple):
    """The schema of each type asked for, the components that they refer to, and the component of each class."""

    schemas: list[Schema]
    components: Schema
    names: dict[type[Any], str]


def json_schemas(kinds: Sequence[Any], ref_template: str) -> JsonSchemas:
    """The schemas of these types; they refer to components by `ref_template`, as in `#/components/{name}`."""
    types = list(types_in(kinds))
    classes = [kind.cls for kind in types if isinstance(kind, inspect.StructType | inspect.EnumType)]
    found, components = msgspec.json.schema_components([*kinds, *classes], ref_template=ref_template)
    schemas, references = list(found[: len(kinds)]), found[len(kinds) :]
    names = {cls: each["$ref"].rpartition("/")[2] for cls, each in zip(classes, references, strict=True)}
    for kind in types:
        if isinstance(kind, inspect.StructType):
            members = components[names[kind.cls]]["properties"]
            members |= {field.encode_name: _member(members[field.encode_name], field) for field in kind.fields}
        elif isinstance(kind, inspect.EnumType) and issubclass(kind.cls, OpenEnum):
            components[names[kind.cls]] = _open_enum(kind.cls)
        elif isinstance(kind, inspect.EnumType):
            components[names[kind.cls]]["enum"] = [each.value for each in kind.cls]  # in the declared order
    _decimals_as_numbers([*schemas, components])
    return JsonSchemas(schemas, components, names)


def types_in(kinds: Iterable[Any]) -> Iterator[inspect.Type]:
    """Every type that these are made of, each struct and enum once."""
    seen: set[Any] = set()
    waiting = list(inspect.multi_type_info(kinds))
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, inspect.StructType | inspect.EnumType):
            if kind.cls in seen:
                continue
            seen.add(kind.cls)
        yield kind
        waiting.extend(_inner_types(kind))


def _inner_types(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    match kind:
        case inspect.StructType():
            return tuple(field.type for field in kind.fields)
        case inspect.UnionType():
            return kind.types
        case inspect.Metadata():
            return (kind.type,)
        case inspect.CollectionType():
            return (kind.item_type,)
        case inspect.TupleType():
            return kind.item_types
        case inspect.DictType():
            return (kind.value_type,)
    return ()


def _member(schema: Schema, field: inspect.Field) -> Schema:
    if any(isinstance(each, inspect.DateTimeType) for each in (field.type, *_inner_types(field.type))):
        _set_time_format(schema)
    if isinstance(field.type, inspect.StrType) and field.default == "" and _rejects_empty(field.type):
        return {name: schema[name] for name in schema if name not in _BOUNDS}
    return schema


def _set_time_format(schema: Schema) -> None:
    for each in schema.get("anyOf", [schema]):
        text = each.get("items", each)
        if text.get("type") == "string":
            text["format"] = "date-time"


def _rejects_empty(kind: inspect.StrType) -> bool:
    return bool(kind.min_length) or (kind.pattern is not None and re.search(kind.pattern, "") is None)


def _decimals_as_numbers(schema: Any) -> None:
    """msgspec describes a decimal as text; it is sent as a number."""
    if isinstance(schema, dict):
        decimals = [each for each in schema.get("anyOf", [schema]) if each.get("format") == "decimal"]
        for each in decimals:
            del each["format"]
            each["type"] = "number"
        if decimals and isinstance(schema.get("default"), str):
            schema["default"] = Decimal(schema["default"])
    for each in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _decimals_as_numbers(each)


def _open_enum(enum: type[OpenEnum]) -> Schema:
    known = [each.value for each in enum]
    described = {"description": "Readers must be ready for other values.", "examples": known}
    return {"title": enum.__name__, **described, "anyOf": [{"type": "string", "enum": known}, {"type": "string"}]}
