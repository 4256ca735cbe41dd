"""A value that a schema allows, for the documentation; `msgspec.Meta(examples=[...])` says a better one."""

import re
from typing import Any

Schema = dict[str, Any]

_SAMPLES = {
    "date-time": "2025-01-01T09:00:00Z",
    "date": "2025-01-01",
    "uuid": "0b2f2c6e-7f0c-4d43-9a0e-2f3a7c1d5b11",
}


def example(schema: Schema, components: Schema, name: str = "text") -> Any:
    """An example of the schema; `name` is the member that it is for."""
    if "$ref" in schema:
        return example(components[schema["$ref"].rpartition("/")[2]], components, name)
    for told in ("examples", "enum"):
        if schema.get(told):
            return schema[told][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        choices = [each for each in schema["anyOf"] if each.get("type") != "null"]
        return example(choices[0], components, name)
    if schema.get("default") not in (None, [], {}, ""):
        return schema["default"]
    return _of_type(schema, components, name)


def _of_type(schema: Schema, components: Schema, name: str) -> Any:
    match schema.get("type"):
        case "object":
            members = schema.get("properties", {})
            return {each: example(inner, components, each) for each, inner in members.items()}
        case "array":
            items = schema.get("items")
            return [example(items, components, name)] if items else []
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
    return _SAMPLES.get(schema.get("format", "")) or _text(name, schema)


def _text(name: str, schema: Schema) -> str:
    """The member's own name in words, no shorter and no longer than it may be."""
    spoken = re.sub(r"[_A-Z]", lambda found: " " + found[0].strip("_").lower(), name).strip()
    if re.search(r"(^|\s)(id|ids|sub|did|by)$", spoken):
        spoken = spoken.replace(" ", "_") + "_01"
    return spoken.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength", 200)]
