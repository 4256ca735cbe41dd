"""The OpenAPI 3.1 description of an API, with examples, made from its routes."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import inspect

from partita.design.open_enum import OpenEnum
from partita.rest.api import Api
from partita.rest.examples import Schema, example
from partita.rest.parsing import choices
from partita.rest.problems import TITLES
from partita.rest.routes import Parameter, Route
from partita.rest.unknown_members import structs_in

_REF = "#/components/schemas/{name}"
_STATUS_DESCRIPTIONS = {
    304: "It is as you have it",
    400: TITLES["malformed"],
    401: TITLES["unauthorized"],
    403: TITLES["forbidden"],
    404: TITLES["not-found"],
    408: "The body did not arrive in time",
    409: TITLES["conflict"],
    412: TITLES["precondition-failed"],
    413: TITLES["too-large"],
    415: TITLES["unsupported-media-type"],
    422: TITLES["invalid"],
    503: TITLES["busy"],
}
_BOUNDS = ("minLength", "pattern", "default")
_TAG = {"description": "What `If-None-Match` and `If-Match` are given", "schema": {"type": "string"}}
_LOCATION = {"description": "Where it is", "schema": {"type": "string"}}
_CONDITIONS = {
    "If-Match": "Refuse with 412 unless it is still as it was when it had this ETag.",
    "If-None-Match": "Answer with 304 if it still has this ETag.",
}


def openapi(api: Api[Any]) -> dict[str, Any]:
    """The description as JSON-like Python."""
    kinds = [kind for route in api.routes for kind in (route.body, route.result) if kind is not None]
    kinds += [parameter.type for route in api.routes for parameter in (*route.in_path, *route.in_query)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    of = dict(zip(map(_identity, kinds), schemas, strict=True))
    for name, field in _time_members(kinds):
        if name in components:
            _set_time_format(components[name]["properties"][field])
    for name, field in _members_with_invalid_default(kinds):
        bounded = components[name]["properties"][field]
        components[name]["properties"][field] = {each: bounded[each] for each in bounded if each not in _BOUNDS}
    _decimals_as_numbers([*schemas, components])
    _describe_open_enums(api, kinds, components)
    for each in (found for route in api.routes if route.body is not None for found in structs_in(route.body)):
        components[each.__name__]["additionalProperties"] = False
    components["Problem"] = _PROBLEM
    paths: dict[str, Any] = {}
    for route in api.routes:
        paths.setdefault(f"/api/{api.name}{route.path}", {})[route.method.lower()] = _operation(route, of, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": api.title, "version": "1", "description": api.about},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }


def _describe_open_enums(api: Api[Any], kinds: list[Any], components: Schema) -> None:
    """A reply may hold a value of an open enum that nobody here knows; what is sent may not."""
    for kind in _types_in(kinds):
        if isinstance(kind, inspect.EnumType) and issubclass(kind.cls, OpenEnum):
            known = [each.value for each in kind.cls]
            told = {"description": "Readers must be ready for other values.", "examples": known}
            components[kind.cls.__name__] = {"title": kind.cls.__name__, "type": "string", **told}
    for route in api.routes:
        if route.body is not None:
            members = components[route.body.__name__]["properties"]
            for _, member, enum in choices(route.body):
                kept = {name: value for name, value in members[member].items() if name == "default"}
                members[member] = {**_enum_schema(enum), **kept}


def _enum_schema(enum: type[OpenEnum]) -> Schema:
    return {"type": "string", "enum": [each.value for each in enum]}


def _types_in(kinds: list[Any]) -> Iterator[inspect.Type]:
    """Every type that these are made of, a struct or an enum once."""
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


def _time_members(kinds: list[Any]) -> Iterator[tuple[str, str]]:
    """(schema, member) of every time: msgspec says of a time only that it is text."""
    for kind in _types_in(kinds):
        if isinstance(kind, inspect.StructType):
            for field in kind.fields:
                if any(isinstance(each, inspect.DateTimeType) for each in (field.type, *_inner_types(field.type))):
                    yield kind.cls.__name__, field.encode_name


def _members_with_invalid_default(kinds: list[Any]) -> Iterator[tuple[str, str]]:
    """(schema, member) of whatever reads as a default that its own bounds forbid: they are those of what is written."""
    for kind in _types_in(kinds):
        if isinstance(kind, inspect.StructType):
            for field in kind.fields:
                if isinstance(field.type, inspect.StrType) and field.default == "" and _rejects_empty(field.type):
                    yield kind.cls.__name__, field.encode_name


def _rejects_empty(kind: inspect.StrType) -> bool:
    return bool(kind.min_length) or (kind.pattern is not None and re.search(kind.pattern, "") is None)


def _inner_types(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    if isinstance(kind, inspect.StructType):
        return tuple(field.type for field in kind.fields)
    if isinstance(kind, inspect.UnionType):
        return kind.types
    if isinstance(kind, inspect.Metadata):
        return (kind.type,)
    if isinstance(kind, inspect.ListType):
        return (kind.item_type,)
    return (kind.value_type,) if isinstance(kind, inspect.DictType) else ()


def _set_time_format(schema: Schema) -> None:
    for each in schema.get("anyOf", [schema]):
        if each.get("type") == "string":
            each["format"] = "date-time"
    if schema.get("default") == "0001-01-01T00:00:00Z":
        del schema["default"]


def _decimals_as_numbers(schema: Any) -> None:
    """A decimal is sent as a number; msgspec says of it that it is text."""
    if isinstance(schema, dict):
        decimals = [each for each in schema.get("anyOf", [schema]) if each.get("format") == "decimal"]
        for each in decimals:
            del each["format"]
            each["type"] = "number"
        if decimals and isinstance(schema.get("default"), str):
            schema["default"] = Decimal(schema["default"])
    for each in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _decimals_as_numbers(each)


def _identity(kind: Any) -> Any:
    return kind if isinstance(kind, type) else id(kind)


def _operation(route: Route, of: dict[Any, Schema], components: Schema) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.about.splitlines()[0],
        "description": f"{route.about}\n\nFor {route.who.description}.",
        "responses": _responses(route, of, components),
    }
    parameters = [_parameter(each, "path", of, components) for each in route.in_path]
    parameters += [_parameter(each, "query", of, components) for each in route.in_query]
    parameters += [
        {"name": name, "in": "header", "description": about, "schema": {"type": "string"}}
        for name, about in _CONDITIONS.items()
        if (route.takes_if_match if name == "If-Match" else route.method == "GET")
    ]
    if parameters:
        described["parameters"] = parameters
    if route.body is not None:
        schema = of[_identity(route.body)]
        content = {"schema": schema, "example": example(schema, components)}
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    if not route.who.is_open:
        described["security"] = [{"token": []}, *([{}] if route.who.anonymous_ok else [])]
    return described


def _parameter(parameter: Parameter, place: str, of: dict[Any, Schema], components: Schema) -> dict[str, Any]:
    kind = parameter.type
    is_open = isinstance(kind, type) and issubclass(kind, OpenEnum)
    schema = _enum_schema(kind) if is_open else dict(of[_identity(kind)])
    if not parameter.required and parameter.default is not None:
        schema["default"] = msgspec.to_builtins(parameter.default)
    described = {"name": parameter.name, "in": place, "required": place == "path" or parameter.required}
    if parameter.required:
        described["example"] = example(schema, components, parameter.name)
    if not is_open and "description" in schema:
        described["description"] = schema.pop("description")  # that of the parameter, which is what people read
    return described | {"schema": schema}


def _responses(route: Route, of: dict[Any, Schema], components: Schema) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Done"}
    headers: dict[str, Any] = {}
    if route.result is not None:
        schema = of[_identity(route.result)]
        done["content"] = {"application/json": {"schema": schema, "example": example(schema, components)}}
        headers["ETag"] = _TAG
    if route.location is not None:
        headers["Location"] = _LOCATION
    responses = {str(route.status): {**done, **({"headers": headers} if headers else {})}}
    for status in _error_statuses(route):
        problem = {"application/problem+json": {"schema": {"$ref": _REF.format(name="Problem")}}}
        responses[str(status)] = {
            "description": _STATUS_DESCRIPTIONS[status],
            **({} if status == 304 else {"content": problem}),
        }
    return responses


def _error_statuses(route: Route) -> list[int]:
    found = {400, 401, 404, 422, 503}
    if not route.who.is_open:
        found.add(403)
    found.add(304 if route.method == "GET" else 409)
    if route.takes_if_match:
        found.add(412)
    if route.body is not None:
        found |= {408, 413, 415}
    return sorted(found)


_PROBLEM: Schema = {
    "title": "Problem",
    "type": "object",
    "description": "RFC 9457: what is wrong, and where.",
    "properties": {
        "type": {"type": "string", "enum": [f"urn:partita:problem:{kind}" for kind in TITLES]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "field": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
}
