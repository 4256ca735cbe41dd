"""An entity as a form: a field for each attribute, and the texts of a form as an entity again.

Text-like values (text, times, ids, binary as base64) are written as they are, everything else as JSON, so that a number
keeps all of its digits and a list its structure.
"""

import enum
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec

from partita.describe.schema_in_words import schema_in_words
from partita.design.codec_factory import unwrapped_type
from partita.design.json_codec import encoded, open_decimal
from partita.design.json_schema import json_schemas
from partita.design.models import Model
from partita.design.open_enum import OpenEnum
from partita.errors import InvalidValue
from partita.studio.attribute_display import json_text
from partita.studio.json_input import NotJson, json_input
from partita.validation import fault_in

TEXT_LIKE = (str, datetime, date, UUID, bytes)
NULL = "null."  # in front of a field's name: its checkbox for no value


class EntityField(msgspec.Struct, frozen=True):
    """An attribute as a field; an automatic one is set by the store."""

    name: str
    about: str
    text: str
    is_null: bool
    optional: bool
    automatic: bool
    in_key: bool
    is_json: bool
    choices: list[str]
    is_open: bool
    """Whether other values than the choices are allowed."""


def entity_fields(model: Model, values: Mapping[str, Any] | None, texts: Mapping[str, str] | None) -> list[EntityField]:
    """The fields of an entity: with its plain values, or with the texts that a form had."""
    schemas, components, names = json_schemas([model.cls], "#/{name}")
    members = components[names[model.cls]]["properties"] if model.cls in names else schemas[0].get("properties", {})
    keys = set(model.key.fields)
    found = []
    for each in msgspec.structs.fields(model.cls):
        attribute = model.attributes[each.name]
        name = each.encode_name
        is_json = not _is_text(attribute.kind)
        value = None if values is None else values.get(name)
        is_null = value is None and values is not None
        text = "" if value is None else json_text(value) if is_json else str(value)
        if texts is not None:
            text, is_null = texts.get(name, text), bool(texts.get(NULL + name))
        about = schema_in_words(members.get(name, {}), components)
        choices, is_open = field_choices(attribute.kind)
        found.append(
            EntityField(
                name,
                about.replace("text", "base64", 1) if attribute.kind is bytes else about,
                text,
                is_null and attribute.optional,
                attribute.optional,
                each.name in model.automatic_fields,
                each.name in keys,
                is_json,
                choices,
                is_open,
            )
        )
    return found


def _is_text(kind: Any) -> bool:
    plain = unwrapped_type(kind)[0]
    return isinstance(plain, type) and issubclass(plain, TEXT_LIKE) and not issubclass(plain, enum.IntEnum)


def field_choices(kind: Any) -> tuple[list[str], bool]:
    """The values that an attribute can have, where they are few, and whether it can have others, too."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(each.value) for each in kind], issubclass(kind, OpenEnum)
    return (["true", "false"], False) if kind is bool else ([], False)


def entity_of(model: Model, texts: Mapping[str, str], before: Mapping[str, Any] | None = None) -> Any:
    """The entity that a form describes; InvalidValue names the field that is wrong.

    Attributes that the store sets are those of `before`.
    """
    values: dict[str, Any] = {}
    for each in entity_fields(model, before, texts):
        old = None if before is None else before.get(each.name)
        is_same = isinstance(old, str) and not each.is_json and text_as_sent(old) == each.text
        if each.automatic:
            if before is not None and each.name in before:
                values[each.name] = old
        elif each.is_null:
            if each.text and not is_same and (old is None or each.text != json_text(old)):
                reason = "it has both a value and the check for no value; take one of them away"
                raise InvalidValue(model.name, reason, each.name)
            values[each.name] = None
        elif is_same:
            values[each.name] = old
        elif each.text or (not each.is_json and old is not None):
            values[each.name] = _json_value(model, each) if each.is_json else each.text
    return entity_from(model, values)


def text_as_sent(text: str) -> str:
    """A text as a form of a browser sends it back: HTML has neither NUL nor other line breaks.

    >>> text_as_sent("a\\r\\nb\\rc\\0")
    'a\\nb\\nc\ufffd'
    """
    return text.replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n")


def _json_value(model: Model, field: EntityField) -> Any:
    try:
        return json_input(field.text)
    except NotJson as wrong:
        raise InvalidValue(model.name, f"{field.text[:40]!r} is not a JSON value: {wrong}", field.name) from None


def entity_from(model: Model, values: Mapping[str, Any]) -> Any:
    """The entity of plain values; the ones that are not given have their defaults."""
    try:
        return msgspec.json.Decoder(model.cls, float_hook=open_decimal).decode(encoded(values))
    except msgspec.ValidationError as error:
        path, fault = fault_in(error)
        raise InvalidValue(model.name, str(fault), *path) from None
