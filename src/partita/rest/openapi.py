"""The OpenAPI 3.1 description of an API, with examples, made from its routes."""

from typing import Any

import msgspec

from partita.describe.examples import example
from partita.design.json_schema import Schema
from partita.design.open_enum import OpenEnum
from partita.rest.api import Api
from partita.rest.openapi_schemas import REF, ApiSchemas, api_schemas, enum_schema
from partita.rest.problems import TITLES
from partita.rest.routes import Parameter, Route, is_list

_READING_VERBS = ("get", "list", "search", "find", "count", "has")
_STATUS_DESCRIPTIONS = {
    304: "Not Modified",
    400: TITLES["malformed"],
    401: TITLES["unauthorized"],
    403: TITLES["forbidden"],
    404: TITLES["not-found"],
    406: TITLES["not-acceptable"],
    408: TITLES["timeout"],
    409: TITLES["conflict"],
    412: TITLES["precondition-failed"],
    413: TITLES["too-large"],
    415: TITLES["unsupported-media-type"],
    422: TITLES["invalid"],
    429: TITLES["too-many-streams"],
    503: TITLES["busy"],
}
_TAG = {"description": "The value for `If-None-Match` and `If-Match`", "schema": {"type": "string"}}
_LOCATION = {"description": "The address of the entity", "schema": {"type": "string"}}
_CONDITIONS = {
    "If-Match": "Respond with 412 if the entity has been edited since it had this ETag.",
    "If-None-Match": "Respond with 304 if the reply still has this ETag.",
}
_IDEMPOTENT = "A text of the client's own, such as a UUID: a request that is sent again with it is executed once."
_KEY = {"type": "string", "minLength": 1, "maxLength": 255}


def openapi(api: Api[Any], path: str = "", root: str = "") -> dict[str, Any]:
    """The description as JSON-like Python.

    `path` is where the API is found in its application, `/api/<name>` by default; `root` is where that is mounted.
    """
    schemas = api_schemas(api.routes)
    schemas.components["Problem"] = _PROBLEM
    paths: dict[str, Any] = {}
    for route in api.routes:
        place = f"{path or f'/api/{api.name}'}{route.sent_path}"
        paths.setdefault(place, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": api.title, "version": "1", "description": api.about},
        "servers": [{"url": root or "/"}],
        "tags": [{"name": name} for name in dict.fromkeys(map(_tag, api.routes))],
        "paths": paths,
        "components": {
            "schemas": _referenced(schemas.components, paths),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    }


def _referenced(components: Schema, paths: dict[str, Any]) -> Schema:
    """The components that the paths refer to, also by way of others."""
    found: set[str] = set()
    waiting: list[Any] = [paths]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                waiting.append(components[name])
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return {name: schema for name, schema in components.items() if name in found}


def _tag(route: Route) -> str:
    """Operations are grouped by the first word of their path."""
    return route.segments[0]


def operation_id(route: Route) -> str:
    """The name of the method that a generated client has: a verb, and what it is about.

    `card` -> `getCard`, `cards_of_day` -> `listCardsOfDay`, `change_user` -> `changeUser`
    """
    words = route.name.split("_")
    if route.method == "GET" and words[0] not in _READING_VERBS:
        words = ["list" if is_list(route) else "get", *words]
    return words[0] + "".join(word.capitalize() for word in words[1:])


def _operation(route: Route, schemas: ApiSchemas) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation_id(route),
        "tags": [_tag(route)],
        "summary": route.about.splitlines()[0],
        "description": f"{route.about}\n\nAllowed for {route.allowed_for}.",
        "responses": _responses(route, schemas),
    }
    parameters = [_parameter(each, "path", schemas) for each in route.in_path]
    parameters += [_parameter(each, "query", schemas) for each in route.in_query]
    parameters += [
        {"name": name, "in": "header", "description": about, "schema": {"type": "string"}}
        for name, about in _CONDITIONS.items()
        if (route.takes_if_match if name == "If-Match" else route.method == "GET" and route.events is None)
    ]
    if route.method == "POST":
        parameters.append({"name": "Idempotency-Key", "in": "header", "description": _IDEMPOTENT, "schema": _KEY})
    if parameters:
        described["parameters"] = parameters
    if route.body is not None:
        schema = schemas.of_body(route.body)
        content = {"schema": schema, "example": example(schema, schemas.components)}
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    if not route.who.is_open:
        described["security"] = [{"token": []}, *([{}] if route.who.anonymous_ok else [])]
    return described


def _parameter(parameter: Parameter, place: str, schemas: ApiSchemas) -> dict[str, Any]:
    kind = parameter.type
    is_open = isinstance(kind, type) and issubclass(kind, OpenEnum)
    schema = enum_schema(kind) if is_open else dict(schemas.of(kind))
    if not parameter.required and parameter.default is not None:
        schema["default"] = msgspec.to_builtins(parameter.default)
    described = {"name": parameter.sent_name, "in": place, "required": place == "path" or parameter.required}
    if parameter.required:
        described["example"] = example(schema, schemas.components, parameter.name)
    if not is_open and "description" in schema:
        described["description"] = schema.pop("description")  # readers show that of the parameter
    return described | {"schema": schema}


def _responses(route: Route, schemas: ApiSchemas) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Success"}
    headers: dict[str, Any] = {}
    if route.result is not None:
        schema = schemas.of_reply(route)
        done["content"] = {"application/json": {"schema": schema, "example": example(schema, schemas.components)}}
        headers["ETag"] = _TAG
    if route.events is not None:
        about = f"Events created, updated and deleted; the data of each is a {route.events.__name__} in JSON"
        done = {"description": about, "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    if route.location is not None:
        headers["Location"] = _LOCATION
    responses = {str(route.status): {**done, **({"headers": headers} if headers else {})}}
    for status in _error_statuses(route):
        problem = {"application/problem+json": {"schema": {"$ref": REF.format(name="Problem")}}}
        responses[str(status)] = {
            "description": _STATUS_DESCRIPTIONS[status],
            **({} if status == 304 else {"content": problem}),
        }
    return responses


def _error_statuses(route: Route) -> list[int]:
    found = {400, 401, 404, 422, 503}
    if not route.who.is_open:
        found.add(403)
    if route.events is not None:
        found |= {406, 429}
    else:
        found.add(304 if route.method == "GET" else 409)
    if route.takes_if_match:
        found.add(412)
    if route.body is not None:
        found |= {408, 413, 415}
    return sorted(found)


_PROBLEM: Schema = {
    "title": "Problem",
    "type": "object",
    "description": "Problem details (RFC 9457).",
    "properties": {
        "type": {"type": "string", "enum": [f"urn:partita:problem:{kind}" for kind in TITLES]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "field": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
}
