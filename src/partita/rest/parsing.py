"""From a path, a query string and a body to typed arguments; errors name the field."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from msgspec import inspect

from partita.design.json_codec import open_decimal
from partita.design.open_enum import OpenEnum
from partita.errors import Fault, Step
from partita.rest.problems import Problem
from partita.rest.routes import Parameter, Route
from partita.rest.strict_json import half_surrogate, structure_of
from partita.rest.unknown_members import unknown_members
from partita.rest.validation_messages import described
from partita.validation import fault_in, json_fault

MOST_PARAMETERS = 20


@cache
def decoder_of(kind: Any) -> Callable[[bytes], Any]:
    """A function that decodes a body as a value of this type."""
    decode = msgspec.json.Decoder(kind, float_hook=open_decimal).decode
    chosen = list(choices(kind))
    check = unknown_members(kind)

    def decoded(body: bytes) -> Any:
        try:
            value = decode(body)
        except msgspec.ValidationError as error:
            raise _invalid_body(kind, error) from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise half_surrogate(body) or Problem(400, "malformed", f"the body {json_fault(body, error)}") from None
        structure = structure_of(body)
        if check is not None:
            check(structure, "")
        for attribute, name, _ in chosen:
            check_known(name, getattr(value, attribute))
        return value

    return decoded


def _invalid_body(kind: Any, error: msgspec.ValidationError) -> Problem:
    path, fault = fault_in(error)
    fault = with_values(kind, path, fault)
    field, detail = described(path, fault, str(fault), whole="the body")
    return Problem(422, "invalid", detail, field)


def choices(kind: Any) -> Iterator[tuple[str, str, type[OpenEnum]]]:
    """(attribute, member, enum) of a body's open enums. A request may only have values that they declare."""
    described = inspect.type_info(kind)
    if isinstance(described, inspect.StructType):
        for field in described.fields:
            inner = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
            for each in inner:
                if isinstance(each, inspect.EnumType) and issubclass(each.cls, OpenEnum):
                    yield field.name, field.encode_name, each.cls


def with_values(kind: Any, path: Sequence[Step], fault: Fault) -> Fault:
    """The fault of an unknown value, with the values that are known at this place of the type."""
    if fault.kind != "choice":
        return fault
    found = inspect.type_info(kind)
    for step in path:
        found = _inner(found, step)
    values = [str(value) for each in _alternatives(found) for value in _known_values(each)]
    return fault._replace(expected=", ".join(values))


def _inner(kind: inspect.Type, step: Step) -> inspect.Type:
    """The type of a member, an element or a value of a map."""
    for each in _alternatives(kind):
        match each:
            case inspect.StructType():
                return next((field.type for field in each.fields if field.encode_name == step), inspect.AnyType())
            case inspect.ListType():
                return each.item_type
            case inspect.DictType():
                return each.value_type
    return inspect.AnyType()


def _alternatives(kind: inspect.Type) -> Iterator[inspect.Type]:
    """The types of a union, or the one type."""
    match kind:
        case inspect.Metadata():
            yield from _alternatives(kind.type)
        case inspect.UnionType():
            for each in kind.types:
                yield from _alternatives(each)
        case _:
            yield kind


def _known_values(kind: inspect.Type) -> Sequence[Any]:
    if isinstance(kind, inspect.LiteralType):
        return kind.values
    return [each.value for each in kind.cls] if isinstance(kind, inspect.EnumType) else ()


def check_known(name: str, value: Any) -> None:
    """Rejects a value of an open enum that the design does not declare."""
    if isinstance(value, OpenEnum) and value not in list(type(value)):
        known = ", ".join(each.value for each in type(value))
        raise Problem(422, "invalid", f"{value.value!r} is not one of {known}", name)


def path_arguments(route: Route, values: list[str]) -> dict[str, Any]:
    """The values of a path's placeholders, in order."""
    return {
        each.name: converted(each, _unquoted(each.sent_name, value))
        for each, value in zip(route.in_path, values, strict=True)
    }


def query_arguments(route: Route, query: bytes) -> dict[str, Any]:
    """The values of the query string; an unknown name is an error."""
    given: dict[str, str] = {}
    if query:
        try:
            pairs = parse_qsl(
                query.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_PARAMETERS, errors="strict"
            )
        except ValueError:
            raise Problem(400, "malformed", "the query string cannot be read") from None
        known = [each.sent_name for each in route.in_query]
        for name, value in pairs:
            if name not in known:
                allowed = f"the parameters are {', '.join(known)}" if known else "this operation has no parameters"
                raise Problem(400, "malformed", f"unknown query parameter {name!r}; {allowed}", name)
            if name in given:
                raise Problem(400, "malformed", f"the parameter {name!r} is given twice", name)
            given[name] = value
    return {each.name: _query_argument(each, given) for each in route.in_query}


def _query_argument(parameter: Parameter, given: dict[str, str]) -> Any:
    if parameter.sent_name in given:
        return converted(parameter, given[parameter.sent_name])
    if parameter.required:
        raise Problem(422, "invalid", f"the parameter {parameter.sent_name!r} is missing", parameter.sent_name)
    return parameter.default


def converted(parameter: Parameter, text: str) -> Any:
    """Text as the parameter's type."""
    try:
        value = msgspec.convert(text, parameter.type, strict=False)
    except msgspec.ValidationError as error:
        _, fault = fault_in(error)
        fault = with_values(parameter.type, (), fault)
        _, detail = described((parameter.sent_name,), _without_null(fault), str(fault))
        raise Problem(422, "invalid", detail, parameter.sent_name) from None
    check_known(parameter.sent_name, value)
    return value


def _without_null(fault: Fault) -> Fault:
    """The fault without "or null", which cannot be written in an address."""
    return fault._replace(expected=fault.expected.removesuffix(" | null"))


def _unquoted(name: str, value: str) -> str:
    try:
        return unquote(value.encode("latin-1").decode() if not value.isascii() else value, errors="strict")
    except UnicodeDecodeError:
        raise Problem(400, "malformed", "the path is not UTF-8", name) from None
