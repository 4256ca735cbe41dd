"""Examples: a value that a JSON Schema allows, and an entity of such values as it is stored.

`msgspec.Meta(examples=[...])` gives a better value. The attributes that decide about index keys (a status, a time that
may be absent) get the values with which the item is in the most indexes.
"""

import enum
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import product
from math import inf
from typing import Any, Literal, get_args, get_origin

import msgspec

from partita.design.json_schema import Schema, json_schemas
from partita.design.markers import Dimensions, Version
from partita.design.models import Attribute, Model
from partita.design.own_rules import RULE_ERRORS, rule_fields
from partita.dynamodb.values import Item
from partita.errors import InvalidValue
from partita.plan.item_compiler import compiled_item
from partita.plan.items import validate_entity, values_of

_FORMATS = {
    "date-time": "2025-01-01T09:00:00Z",
    "date": "2025-01-01",
    "uuid": "0b2f2c6e-7f0c-4d43-9a0e-2f3a7c1d5b11",
}
_NUMBERS = {"integer": (1, 10, 100, 1_000, 2_025, 60_000, 0), "number": (12.5, 1.5, 0.5, 15.0, 0.0)}
_TEXTS = ("ana@example.com", "https://example.com/", "ana", "ANA", "2025-01-01", "1")
_BASE64 = "Ynl0ZXM="


def example(schema: Schema, components: Schema, name: str = "text") -> Any:
    """An example of the schema; `name` is the member that it is for.

    >>> example({"type": "array", "items": {"type": "string"}}, {}, "tags"), example({"type": "string"}, {}, "authorId")
    (['tags'], 'author-1')
    """
    if "$ref" in schema:
        schema = {**components[schema["$ref"].rpartition("/")[2]], **schema}
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("default") not in (None, [], {}, ""):
        return schema["default"]
    if "enum" in schema or "const" in schema:
        return schema["enum"][0] if "enum" in schema else schema["const"]
    if "allOf" in schema:
        parts = [example(each, components, name) for each in schema["allOf"]]
        return {member: value for part in parts for member, value in part.items()}
    if "anyOf" in schema:
        choices = [each for each in schema["anyOf"] if each.get("type") != "null"]
        return example(choices[0], components, name)
    return _of_type(schema, components, name)


def _of_type(schema: Schema, components: Schema, name: str) -> Any:
    match schema.get("type"):
        case "object":
            return _object(schema, components)
        case "array":
            items = schema.get("items")
            return [example(items, components, name)] if items else []
        case "integer" | "number" as kind:
            bounds = [schema[each] for each in ("minimum", "maximum") if each in schema]
            bounds += [schema["exclusiveMinimum"] + 1] if "exclusiveMinimum" in schema else []
            return next(each for each in (*_NUMBERS[kind], *bounds) if _is_in_range(each, schema))
        case "boolean":
            return True
        case "null":
            return None
        case "string":
            if schema.get("contentEncoding") == "base64":
                return _BASE64
            return _FORMATS.get(schema.get("format", "")) or _text(name, schema)
    return "anything"


def _object(schema: Schema, components: Schema) -> Schema:
    """Every member; one of a map whose values have a type."""
    members: Schema = schema.get("properties", {})
    owner = str(schema.get("title", "thing"))
    found = {
        each: example(inner, components, f"{owner}Id" if each == "id" else each) for each, inner in members.items()
    }
    values = schema.get("additionalProperties")
    return {"name": example(values, components, "value")} if values and not members else found


def _is_in_range(value: float, schema: Schema) -> bool:
    return bool(
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", -inf) < value < schema.get("exclusiveMaximum", inf)
        and value % schema.get("multipleOf", value or 1) == 0
    )


def _text(name: str, schema: Schema) -> str:
    """The name in words, an id or an address; where the text must match a pattern, one of a few that does."""
    text = _text_for(re.findall(r"user(?=id)|[A-Z]*[a-z0-9]+|[A-Z]+", name)).lower()
    text = text.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]
    return next((each for each in (text, *_TEXTS) if _is_valid(each, schema)), text)


def _text_for(words: list[str]) -> str:
    *others, last = words or ["text"]
    match last.lower():
        case "id" | "ids":
            return "-".join(others or ["thing"]) + "-1"
        case "sub" | "did" | "by":
            return "user-1"
        case "email":
            return "ana@example.com"
        case "url" | "urls":
            return "https://example.com/"
    return " ".join(words)


def _is_valid(text: str, schema: Schema) -> bool:
    length = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
    return length and re.search(schema.get("pattern", ""), text) is not None


def example_of(model: Model) -> Any:
    """An example of an entity; None where `__post_init__` rejects them all."""
    entity = _first_example(model)
    if entity is None:
        return None
    deciding = sorted(_deciding(model))
    choices = [_choices(model.attributes[name], getattr(entity, name)) for name in deciding]
    found = list(_valid(model, entity, (dict(zip(deciding, values, strict=True)) for values in product(*choices))))
    return max(found, key=lambda each: _index_count(model, example_item(model, each)), default=None)


def _valid(model: Model, entity: Any, variants: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """The variants of an entity that `__post_init__` allows."""
    rejected = (InvalidValue, *RULE_ERRORS) if rule_fields(model) else ()
    for values in variants:
        with suppress(*rejected):
            yield validate_entity(model, msgspec.structs.replace(entity, **values))


def example_item(model: Model, entity: Any) -> Item:
    """The item of an entity."""
    return compiled_item(model, values_of(model, entity))


@cache
def _first_example(model: Model) -> Any:
    schemas, components, _ = json_schemas([model.cls], "#/{name}")
    try:
        entity = msgspec.convert(example(schemas[0], components), model.cls)
    except msgspec.ValidationError:
        if rule_fields(model):
            return None
        raise
    for attribute, marker in model.marked(Dimensions):
        setattr(entity, attribute.field, [0.5] * marker.count)
    for attribute, _ in model.marked(Version):
        setattr(entity, attribute.field, 1)
    return entity


def _index_count(model: Model, item: Item) -> int:
    """How many indexes the item is in."""
    needed = {index.name: {index.vector} for index in model.table.vector_indexes}
    names = [
        {each.name for each in several[0].attributes} | needed.get(name, set())
        for name, several in model.indexes.items()
    ]
    return sum(each <= item.keys() for each in names)


def _deciding(model: Model) -> set[str]:
    """The attributes that decide whether the item is in an index."""
    keys = [each for several in model.indexes.values() for each in several]
    return {field for each in keys if each.when is not None for field in each.when.fields}


def _choices(attribute: Attribute, value: Any) -> list[Any]:
    several: Iterable[Any] = get_args(attribute.kind) if get_origin(attribute.kind) is Literal else ()
    if isinstance(value, enum.Enum | bool):
        several = attribute.kind if isinstance(value, enum.Enum) else (True, False)
    return list(dict.fromkeys([value, *several, *([None] if attribute.optional else [])]))
