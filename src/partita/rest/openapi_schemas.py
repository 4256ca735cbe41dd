"""The schemas of an API: of its replies and parameters, and of its request bodies.

A reply has all of its members, a request may leave out those that have a default. A struct of both therefore has two
schemas where they differ, and that of requests is named `<struct>Input`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, inspect

from partita.design.json_schema import JsonSchemas, Schema, json_schemas, types_in
from partita.design.open_enum import OpenEnum
from partita.rest.parsing import choices
from partita.rest.reply_json import internal_members
from partita.rest.routes import Route
from partita.rest.unknown_members import structs_in

REF = "#/components/schemas/{name}"
_INPUT = "{name}Input"


class ApiSchemas(NamedTuple):
    """The schemas of types in replies and parameters, of types of bodies, and the components that both refer to."""

    replies: dict[Any, Schema]
    bodies: dict[Any, Schema]
    components: Schema

    def of(self, kind: Any) -> Schema:
        return self.replies[_identity(kind)]

    def of_reply(self, route: Route) -> Schema:
        """The schema of a route's reply, with the related entities that a client may ask for."""
        schema = self.of(route.result)
        if not route.related:
            return schema
        page = self.components[schema["$ref"].rpartition("/")[2]]
        added = {each.name: self._related_member(each) for each in route.related}
        items = {"allOf": [page["properties"]["items"]["items"], {"type": "object", "properties": added}]}
        members = page["properties"] | {"items": {"type": "array", "items": items}}
        return {"type": "object", "properties": members, "required": page["required"]}

    def _related_member(self, related: Any) -> Schema:
        schema = self._related(related)
        return {"type": "array", "items": schema} if related.several else {"anyOf": [schema, {"type": "null"}]}

    def _related(self, related: Any) -> Schema:
        """The schema of a related entity, or of the attributes of it that are shown."""
        schema = self.of(related.entity)
        if not related.members:
            return schema
        members = self.components[schema["$ref"].rpartition("/")[2]]["properties"]
        chosen = {name: members[name] for name in related.members}
        return {"type": "object", "properties": chosen, "required": related.members}

    def of_body(self, kind: Any) -> Schema:
        return self.bodies[_identity(kind)]


def api_schemas(routes: Sequence[Route]) -> ApiSchemas:
    bodies = [route.body for route in routes if route.body is not None]
    kinds = [route.result for route in routes if route.result is not None]
    kinds += [related.entity for route in routes for related in route.related]
    kinds += [parameter.type for route in routes for parameter in (*route.in_path, *route.in_query)]
    replies, requests = json_schemas(kinds, REF), json_schemas(bodies, REF)
    for kind in types_in(kinds):
        if isinstance(kind, inspect.StructType):
            _describe_reply(replies.components[replies.names[kind.cls]], kind)
    for body in bodies:
        _describe_body(body, requests)
    for schema in (*replies.components.values(), *requests.components.values()):
        _open_maps(schema)
    components = _merged(replies.components, requests)
    return ApiSchemas(
        dict(zip(map(_identity, kinds), replies.schemas, strict=True)),
        dict(zip(map(_identity, bodies), requests.schemas, strict=True)),
        components,
    )


def enum_schema(enum: type[OpenEnum]) -> Schema:
    """The values that a request may have."""
    return {"type": "string", "enum": [each.value for each in enum]}


def _identity(kind: Any) -> Any:
    return kind if isinstance(kind, type) else id(kind)


def _describe_reply(schema: Schema, struct: inspect.StructType) -> None:
    """A reply has every member, also one that has its default; only unset and internal ones are left out."""
    hidden = internal_members(struct.cls)
    sent = [field.encode_name for field in struct.fields if field.default is not UNSET]
    tag = [struct.tag_field] if struct.tag_field is not None else []
    schema["required"] = [*tag, *(each for each in sent if each not in hidden)]
    schema["properties"] = {name: each for name, each in schema["properties"].items() if name not in hidden}


def _describe_body(body: Any, found: JsonSchemas) -> None:
    """A request may have neither unknown members nor unknown values of an open enum; a reply may have the latter."""
    for struct in structs_in(body):
        found.components[found.names[struct]]["additionalProperties"] = False
    members = found.components[found.names[body]]["properties"]
    for _, member, enum in choices(body):
        default = {name: value for name, value in members[member].items() if name == "default"}
        members[member] = {**enum_schema(enum), **default}


def _open_maps(schema: Any) -> None:
    """A map of any values says so: without it, generators take it for one that is always empty."""
    if isinstance(schema, list):
        for each in schema:
            _open_maps(each)
    elif isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" not in schema:
            schema.setdefault("additionalProperties", {})
        for name, each in schema.items():
            if name not in ("default", "example", "examples", "enum"):
                _open_maps(each)


def _merged(replies: Schema, requests: JsonSchemas) -> Schema:
    """All components; those of requests are renamed where replies have others with the same names."""
    renamed: dict[str, str] = {}
    while True:  # a component whose own reference was renamed differs from then on
        differing = {
            name: _INPUT.format(name=name)
            for name, schema in requests.components.items()
            if name not in renamed and name in replies and replies[name] != schema
        }
        if not differing:
            break
        renamed |= differing
        _rename([requests.schemas, requests.components], {_ref(old): _ref(new) for old, new in differing.items()})
    inputs = {renamed.get(name, name): schema for name, schema in requests.components.items()}
    for old, new in renamed.items():
        if inputs[new].get("title") == old:
            inputs[new]["title"] = new
    return replies | inputs


def _ref(name: str) -> str:
    return REF.format(name=name)


def _rename(schema: Any, names: dict[str, str]) -> None:
    if isinstance(schema, list):
        for each in schema:
            _rename(each, names)
    elif isinstance(schema, dict):
        if schema.get("$ref") in names:
            schema["$ref"] = names[schema["$ref"]]
        for each in schema.values():
            _rename(each, names)
