"""Entities and views as types of pydantic models, and of FastAPI's requests and responses.

pydantic asks a class for its schema through `__get_pydantic_core_schema__`, and `Entity` and `View` return the one from
here. msgspec validates and encodes, so the JSON is that of our REST API, with the names of the table.

- A value is validated member by member: one ValidationError reports every wrong member with its place.
- Each class is a named schema, as are the structs and enums in it: `#/components/schemas/Order` in OpenAPI.
- An entity is cut down to the view that is declared, as FastAPI's response models promise.

Only pydantic leads here, so `partita` itself never imports it.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from pydantic_core import PydanticCustomError, ValidationError, core_schema, to_jsonable_python

from partita.design.codec_factory import unwrapped_type
from partita.design.json_codec import encoded, open_decimal
from partita.design.json_schema import Schema, json_schemas
from partita.design.markers import AUTO, auto
from partita.design.open_enum import OpenEnum
from partita.validation import fault_in

Location = tuple[int | str, ...]

_LISTS = (list, set, frozenset, tuple)
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


# Validation


class MemberError(NamedTuple):
    """What is wrong with one member of a value, in pydantic's terms."""

    kind: str
    message: str
    location: Location
    value: Any


Raw = bytes | msgspec.Raw
Check = Callable[[Raw, Location], Iterator[MemberError]]  # of a JSON value and its place


def validated(cls: type[msgspec.Struct], value: Any) -> Any:
    """The value as an instance of the class; raises a ValidationError that lists every wrong member."""
    decoder, check = _validator(cls)
    try:
        body = encoded(value)
        errors = list(check(body, ()))
    except (TypeError, ValueError, RecursionError) as error:  # it cannot be written as JSON
        errors = [MemberError("value_error", str(error), (), value)]
    if errors:
        raise ValidationError.from_exception_data(cls.__name__, [_line_error(each) for each in errors])
    return decoder.decode(body)


def _line_error(error: MemberError) -> Any:
    kind: Any = error.kind
    return {"type": PydanticCustomError(kind, error.message), "loc": error.location, "input": error.value}


@cache
def _validator(cls: type[msgspec.Struct]) -> tuple[msgspec.json.Decoder[Any], Check]:
    return _decoder(cls), _check(cls)


def _decoder(annotation: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(annotation, float_hook=open_decimal)


def _check(annotation: Any) -> Check:
    """What is wrong in a value of this type: in its members or items, or else with the value itself."""
    decoder, check_inside = _decoder(annotation), _check_inside(unwrapped_type(annotation)[0])

    def check(raw: Raw, location: Location) -> Iterator[MemberError]:
        inside = list(check_inside(raw, location)) if check_inside is not None else []
        yield from inside or _own_errors(decoder, raw, location)

    return check


def _own_errors(decoder: msgspec.json.Decoder[Any], raw: Raw, location: Location) -> Iterator[MemberError]:
    try:
        decoded = decoder.decode(raw)
    except msgspec.ValidationError as error:
        _, fault = fault_in(error)
        yield MemberError("value_error", str(fault), location, msgspec.json.decode(raw))
        return
    if isinstance(decoded, OpenEnum) and decoded not in list(type(decoded)):
        known = ", ".join(each.value for each in type(decoded))
        yield MemberError("enum", f"Input should be one of {known}", location, decoded.value)
    elif isinstance(decoded, datetime) and decoded.tzinfo is None:
        yield MemberError("timezone_aware", "Input should have timezone info", location, msgspec.json.decode(raw))


def _check_inside(kind: Any) -> Check | None:
    """The check of what a struct, list or map contains; None for other types."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if _is_struct(kind):
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
                yield MemberError("missing", "Field required", (*location, name), msgspec.json.decode(raw))
        for name, unknown in members.items():
            value = msgspec.json.decode(unknown)
            yield MemberError("extra_forbidden", "Extra inputs are not permitted", (*location, name), value)

    return check_members


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


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
                del plain[field.encode_name]
            elif member is not AUTO:
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
    return {**found, "additionalProperties": False} if _is_struct(cls) else found


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
