"""A JSON Schema in words, for the page of an API: the values that are allowed, and the members of a body."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from partita.describe.vocabulary import DATE, TIME, UUID_TEXT, WHOLE_NUMBER, bounds, joined, one_of, strict_bounds
from partita.design.json_schema import Schema

_KINDS = {
    "string": "text",
    "integer": WHOLE_NUMBER,
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "date-time": TIME,
    "date": DATE,
    "uuid": UUID_TEXT,
}


class SchemaMember(NamedTuple):
    """A member of a JSON body; the `name` of a nested one is its path: `spec.weight`, `images[].url`."""

    name: str
    required: bool
    text: str


def schema_in_words(schema: Schema, components: Schema, *, sent: bool = True) -> str:
    """The values that the schema allows; the default of one that is `sent`.

    >>> schema_in_words({"type": "integer", "minimum": 1, "maximum": 200, "default": 20}, {})
    'whole number, 1 to 200; default 20'
    >>> text = {"type": "string", "maxLength": 9}
    >>> schema_in_words({"anyOf": [{"type": "array", "items": text}, {"type": "null"}]}, {})
    'list of text, at most 9 characters; or null'
    """
    schema = {**_resolved(schema, components), **schema}
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    words = " or ".join(schema_in_words(each, components, sent=sent) for each in choices) or _kind(schema, components)
    if len(choices) < len(schema.get("anyOf", ())):
        words += "; or null"
    if sent and schema.get("default") not in (None, "", [], {}):
        words += f"; default {_value(schema['default'])}"
    return words


def _kind(schema: Schema, components: Schema) -> str:
    if "enum" in schema:
        return one_of(map(_value, schema["enum"]))
    if "const" in schema:
        return _value(schema["const"])
    if schema.get("type") == "array":
        items = schema_in_words(schema["items"], components) if schema.get("items") else "any values"
        return joined(f"list of {items}", bounds(schema.get("minItems"), schema.get("maxItems"), "elements"))
    if schema.get("type") == "string" and "description" in schema and schema.get("examples"):
        return one_of(map(_value, schema["examples"]), others=True)  # an open enum
    kind = _KINDS.get(schema.get("format", "")) or _KINDS.get(schema.get("type", ""), "any value")
    return joined(
        kind,
        bounds(schema.get("minLength"), schema.get("maxLength"), "characters"),
        bounds(schema.get("minimum"), schema.get("maximum")),
        strict_bounds(*map(schema.get, ("exclusiveMinimum", "exclusiveMaximum", "multipleOf"))),
    )


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def members(schema: Schema, components: Schema, *, sent: bool) -> list[SchemaMember]:
    """Every member of a body and of the objects in it; a reply, which is not `sent`, has all of them."""
    found: dict[str, SchemaMember] = {}
    for member in _members(schema, components, sent, "", ()):
        found.setdefault(member.name, member)
    return list(found.values())


def _members(
    schema: Schema, components: Schema, sent: bool, path: str, above: tuple[str, ...]
) -> Iterator[SchemaMember]:
    reference = schema.get("$ref", "")
    if reference in above:
        return
    if reference:
        above = (*above, reference)
    schema = _resolved(schema, components)
    for each in schema.get("anyOf", ()):
        yield from _members(each, components, sent, path, above)
    if isinstance(schema.get("items"), dict):
        yield from _members(schema["items"], components, sent, f"{path}[]", above)
    for name, inner in schema.get("properties", {}).items():
        full = f"{path}.{name}" if path else name
        required = not sent or name in schema.get("required", ())
        yield SchemaMember(full, required, schema_in_words(inner, components, sent=sent))
        yield from _members(inner, components, sent, full, above)


def _resolved(schema: Schema, components: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = components[schema["$ref"].rpartition("/")[2]]
    return found
