"""A schema in words: what a value may be, and every member of a body with it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

Schema = dict[str, Any]

_PLAIN = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
    "date-time": "time (ISO 8601)",
    "date": "date (YYYY-MM-DD)",
    "uuid": "UUID",
}


class SchemaMember(NamedTuple):
    """A member of a JSON body; the `name` of one further in has its way there: `spec.weight`, `images[].url`."""

    name: str
    required: bool
    text: str


def schema_in_words(schema: Schema, components: Schema, *, sent: bool = True) -> str:
    """What a value may be, in a few words; one that is `sent` may have a default.

    >>> schema_in_words({"type": "integer", "minimum": 1, "maximum": 200, "default": 20}, {})
    'whole number, 1 to 200; 20 if left out'
    >>> text = {"type": "string", "maxLength": 9}
    >>> schema_in_words({"anyOf": [{"type": "array", "items": text}, {"type": "null"}]}, {})
    'list of text, at most 9 characters; or null'
    """
    schema = {**_named(schema, components), **schema}
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    words = " or ".join(schema_in_words(each, components, sent=sent) for each in choices) or _kind(schema, components)
    if len(choices) < len(schema.get("anyOf", ())):
        words += "; or null"
    if sent and schema.get("default") not in (None, "", [], {}):
        words += f"; {_value(schema['default'])} if left out"
    return words


def _kind(schema: Schema, components: Schema) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(_value, schema["enum"]))
    if "const" in schema:
        return _value(schema["const"])
    if schema.get("type") == "array":
        items = schema_in_words(schema["items"], components) if schema.get("items") else "anything"
        return f"list of {items}{_bounds(schema, 'Items', 'of them')}"
    plain = _PLAIN.get(schema.get("format", "")) or _PLAIN.get(schema.get("type", ""), "anything")
    if schema.get("type") == "string" and "description" in schema and schema.get("examples"):
        plain = f"text, such as {', '.join(map(_value, schema['examples']))}"  # an open enum
    return plain + _bounds(schema, "Length", "characters") + _range(schema)


def _bounds(schema: Schema, what: str, of: str) -> str:
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}")
    if most is None:
        return f", at least {least} {of}" if least else ""
    return f", {least} to {most} {of}" if least else f", at most {most} {of}"


def _range(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None or most is None:
        return f", {least} or more" if least is not None else f", at most {most}" if most is not None else ""
    return f", {least} to {most}"


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def members(schema: Schema, components: Schema, *, sent: bool) -> list[SchemaMember]:
    """Every member of a body, those of the objects in it too; in one that is not `sent` but answered none is absent."""
    found: dict[str, SchemaMember] = {}
    for member in _members(schema, components, sent, "", ()):
        found.setdefault(member.name, member)
    return list(found.values())


def _members(
    schema: Schema, components: Schema, sent: bool, way: str, above: tuple[str, ...]
) -> Iterator[SchemaMember]:
    reference = schema.get("$ref", "")
    if reference in above:
        return
    if reference:
        above = (*above, reference)
    schema = _named(schema, components)
    for each in schema.get("anyOf", ()):
        yield from _members(each, components, sent, way, above)
    if isinstance(schema.get("items"), dict):
        yield from _members(schema["items"], components, sent, f"{way}[]", above)
    for name, inner in schema.get("properties", {}).items():
        full = f"{way}.{name}" if way else name
        required = not sent or name in schema.get("required", ())
        yield SchemaMember(full, required, schema_in_words(inner, components, sent=sent))
        yield from _members(inner, components, sent, full, above)


def _named(schema: Schema, components: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    found: Schema = components[schema["$ref"].rpartition("/")[2]]
    return found
