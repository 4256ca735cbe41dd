"""Entities and views as types of pydantic models, and of FastAPI's requests and responses.

pydantic asks a class for its schema through `__get_pydantic_core_schema__`, and `Entity` and `View` return the one from
here. msgspec validates and encodes, so the JSON is that of our REST API, with the names of the table.

- A value is validated member by member: one ValidationError reports every wrong member with its place.
- Each class is a named schema, as are the structs and enums in it: `#/components/schemas/Order` in OpenAPI.
- An entity is cut down to the view that is declared, as FastAPI's response models promise.

Only pydantic leads here, so `partita` itself never imports it.
"""

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import msgspec
from pydantic_core import core_schema, to_jsonable_python

from partita.design.json_codec import encoded
from partita.design.json_schema import Schema, json_schemas
from partita.design.markers import AUTO, auto
from partita.design.pydantic_validation import is_struct, validated

_REF = "#/$defs/{name}"


def pydantic_schema(cls: type[msgspec.Struct]) -> core_schema.CoreSchema:
    """The core schema of an entity or a view."""

    def validate(value: Any) -> Any:
        return value if isinstance(value, cls) else validated(cls, value)

    validate.__name__ = cls.__name__  # pydantic takes it for titles, and for the members of a union in error locations

    def serialize(value: Any, info: core_schema.SerializationInfo) -> Any:
        return serialized(cls, value, info)

    return core_schema.no_info_plain_validator_function(
        validate,
        ref=_reference(cls),
        metadata=_json_schema_metadata(cls),
        serialization=core_schema.plain_serializer_function_ser_schema(serialize, info_arg=True, when_used="json"),
    )


# Serialization


def serialized(cls: type[msgspec.Struct], value: Any, info: core_schema.SerializationInfo) -> Any:
    """The JSON of an instance, as Python values; of a subclass, the members of `cls` alone."""
    if not isinstance(value, cls):
        raise TypeError(f"{type(value).__name__} is not a {cls.__name__}")
    if type(value) is not cls:
        value = cls(**{field: getattr(value, field) for field in cls.__struct_fields__})
    plain = _plain(encoded(value))
    for field, name in _automatic_members(cls):
        if getattr(value, field) is AUTO:
            del plain[name]
    if info.exclude_none:
        _drop_none(value, plain)
    include: Any = info.include
    exclude: Any = info.exclude
    return plain if include is None and exclude is None else to_jsonable_python(plain, include=include, exclude=exclude)


@cache
def _automatic_members(cls: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """The fields that may be AUTO, each with its name in JSON."""
    fields = msgspec.structs.fields(cls)
    return tuple((each.name, each.encode_name) for each in fields if each.default_factory is auto)


def _number(text: str) -> float | str:
    """A float prints as a JSON number; where it would lose digits, the text that a Decimal is read from as well."""
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else text


_plain = msgspec.json.Decoder(float_hook=_number).decode


def _drop_none(value: Any, plain: Any) -> None:
    """Removes the members of structs that are None, at any depth."""
    if isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            member = getattr(value, field.name)
            if member is None:
                plain.pop(field.encode_name, None)  # a nested struct may leave out defaults itself
            elif field.encode_name in plain:
                _drop_none(member, plain[field.encode_name])
    elif isinstance(value, dict):
        for name, each in value.items():
            _drop_none(each, plain.get(name))
    elif isinstance(value, list | tuple):
        for each, inner in zip(value, plain, strict=True):
            _drop_none(each, inner)


# JSON Schema


def _reference(cls: type[Any]) -> str:
    """pydantic makes the name of the schema from it, a longer one where two classes have the same."""
    return f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"


def _json_schema_metadata(cls: type[Any]) -> dict[str, Any]:
    return {"pydantic_js_functions": [lambda _, handler: _json_schema(cls, handler)]}


def _json_schema(cls: type[Any], handler: Callable[[Any], Schema]) -> Schema:
    _, components, names = json_schemas([cls], _REF)
    classes = {_REF.format(name=name): each for each, name in names.items()}
    plain = _plain(encoded(components[names[cls]]))  # a default may be a Decimal
    found: Schema = _with_references(plain, lambda ref: _nested(classes[ref], handler))
    return {**found, "additionalProperties": False} if is_struct(cls) else found


def _nested(cls: type[Any], handler: Callable[[Any], Schema]) -> Schema:
    """A reference to the named schema of a struct or enum inside; pydantic calls back for its description."""
    inner = core_schema.any_schema(ref=_reference(cls), metadata=_json_schema_metadata(cls))
    reference: Schema = handler(core_schema.list_schema(inner))["items"]  # given `inner` itself, it is not named
    return reference


def _with_references(schema: Any, reference: Callable[[str], Schema]) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            others = {name: value for name, value in schema.items() if name != "$ref"}
            return {**others, **reference(schema["$ref"])}
        return {name: _with_references(value, reference) for name, value in schema.items()}
    return [_with_references(each, reference) for each in schema] if isinstance(schema, list) else schema
