"""An entity on the page of a design: its keys, attributes, invariants, nested structs, and an example."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from enum import Enum
from inspect import cleandoc
from typing import Any, get_type_hints

import msgspec

from partita.describe.examples import example_item, example_of
from partita.describe.markdown import code, rows
from partita.describe.types_in_words import structs_in, type_in_words, values_in_words
from partita.design.codec_factory import members_of
from partita.design.codecs import AttributeMember, CompressedCodec
from partita.design.condition_text import condition_text, stored_path
from partita.design.conditions import Condition
from partita.design.markers import (
    AUTOMATIC,
    Compressed,
    CountOf,
    CreatedAt,
    Dimensions,
    InKey,
    Internal,
    References,
    SumOf,
    Transitions,
    Untracked,
    UpdatedAt,
    Version,
)
from partita.design.models import Attribute, EntityKeys, KeyAttribute, Model, model_of
from partita.design.naming import naming
from partita.design.vector_values import VectorCodec


class EntityPages:
    """The entities of one page; each nested struct is described once, below the first entity that contains it."""

    def __init__(self) -> None:
        self._described: set[type[msgspec.Struct]] = set()

    def of(self, models: Iterable[Model]) -> Iterator[str]:
        return map(self._entity, models)

    def _entity(self, model: Model) -> str:
        about = cleandoc(model.cls.__doc__ or "")
        parts = [f"### {model.name}", *([about] if about and not about.startswith(model.name + "(") else [])]
        keys = [["table", *_key(model, model.key)]]
        keys += [[code(name), *_key(model, each)] for name, sets in model.indexes.items() for each in sets]
        parts.append(rows(["Table or index", "Partition key", "Sort key", "Condition"], keys))
        attributes = [
            [code(each.name), _type(each), _values(each.hint, each.member, each.markers), _remarks(model, each)]
            for each in model.attributes.values()
        ]
        parts.append(rows(["Attribute", "Type", "Values", "Remarks"], attributes))
        invariants = list(_invariants(model))
        if invariants:
            parts.append("\n".join(f"- {each}" for each in invariants))
        return "\n\n".join([*parts, *_example(model), *self._structs(model)])

    def _structs(self, model: Model) -> Iterator[str]:
        for attribute in model.attributes.values():
            for struct in structs_in(attribute.hint):
                if struct not in self._described:
                    self._described.add(struct)
                    yield f"#### {struct.__name__}"
                    yield _members(struct, model)


def _members(struct: type[msgspec.Struct], model: Model) -> str:
    hints = get_type_hints(struct, include_extras=True)
    found = [
        [code(each.name), _optional(type_in_words(hints[each.field]), each.optional), _values(hints[each.field], each)]
        for each in members_of(struct, model.name, naming(model.name, model.table.naming))
    ]
    return rows(["Member", "Type", "Values"], found)


def _names(model: Model) -> dict[str, str]:
    return {each.field: each.name for each in model.attributes.values()}


def _key(model: Model, keys: EntityKeys) -> list[str]:
    names = _names(model)

    def templates(attributes: Iterable[KeyAttribute]) -> str:
        return ", ".join(f"`{each.name}` = `{_source(each, names)}`" for each in attributes) or "-"

    return [
        templates(keys.partition),
        templates(keys.sort),
        _in_words(model, keys.when) if keys.when is not None else "always",
    ]


def _source(attribute: KeyAttribute, names: dict[str, str]) -> str:
    """The template with the names of the attributes on disk."""
    source = attribute.template.source if attribute.template is not None else f"{{{attribute.field}}}"
    return re.sub(r"(?<=\{)\w+", lambda found: names.get(found[0], found[0]), source)


def _type(attribute: Attribute) -> str:
    if attribute.index_key is not None:
        return f"part of the index key {attribute.index_key}"
    if attribute.in_key:
        return "part of the key"
    kind = type_in_words(attribute.hint)
    return _optional(f"Binary ({kind})" if isinstance(attribute.codec, CompressedCodec) else kind, attribute.optional)


def _optional(kind: str, optional: bool) -> str:
    return kind + (", optional" if optional else "")


def _values(hint: Any, member: AttributeMember, markers: Iterable[Any] = ()) -> str:
    """The allowed values, and the value of an older item without the attribute."""
    words = [values_in_words(hint)]
    is_automatic = any(isinstance(each, AUTOMATIC) for each in markers)
    if not is_automatic and _has_text(member.default):
        default = str(member.default).lower() if isinstance(member.default, bool) else member.default
        words.append(f"default {_value(default)}")
    return "; ".join(filter(None, words)) or "-"


def _has_text(default: Any) -> bool:
    return isinstance(default, str | int | float | Decimal | Enum) and default != ""


def _remarks(model: Model, attribute: Attribute) -> str:
    return "; ".join(filter(None, (_remark(model, marker) for marker in attribute.markers))) or "-"


def _remark(model: Model, marker: Any) -> str:
    match marker:
        case CountOf():
            child = model_of(marker.child())
            return f"number of {child.name} items{_where(child, marker.when)}"
        case SumOf():
            child = model_of(marker.child())
            summed = child.attributes[marker.amount].name
            return f"sum of `{summed}` over {child.name} items{_where(child, marker.when)}"
        case References():
            return f"refers to an existing {marker.entity().__name__}"
        case Transitions():
            return _transitions(marker)
        case Dimensions():
            return f"vector of {marker.count} dimensions"
        case CreatedAt():
            return "time of creation"
        case UpdatedAt():
            return "time of the last edit"
        case Version():
            return "incremented at every edit"
        case Untracked():
            return "a change of it does not count as an edit"
        case Compressed():
            return "compressed JSON"
        case Internal():
            return "not in replies of the API"
        case InKey():
            return "stored in the key only"
    return ""


def _transitions(marker: Transitions) -> str:
    """`DRAFT` to `PUBLISHED` or `REMOVED`, `PUBLISHED` to `REMOVED`; starts as `DRAFT`."""
    steps = ", ".join(f"{_value(value)} to {' or '.join(map(_value, then))}" for value, then in marker.allowed.items())
    return steps + (f"; starts as {' or '.join(map(_value, marker.start))}" if marker.start is not None else "")


def _value(value: Any) -> str:
    return code(getattr(value, "value", value))


def _invariants(model: Model) -> Iterator[str]:
    names = _names(model)
    for unique in (each for each in model.uniques if not each.is_former):
        fields = " and ".join(code(names[each]) for each in unique.fields)
        unique_as = "is unique" if len(unique.fields) == 1 else "are unique together"
        ignoring = ", ignoring case" if unique.case_insensitive else ""
        yield f"{fields} {unique_as}{ignoring}{_where(model, unique.when)}"
    for limit in model.limits:
        yield f"limit: {_in_words(model, limit.condition)}"
    for child in (each for owns in model.owns for each in owns.entities):
        yield f"deleting it deletes its {child.__name__} items"
    if model.expires is not None:
        after = f"{model.expires.after.days} days after" if model.expires.after else "at"
        yield f"expires {after} `{names[model.expires.at]}`{_where(model, model.expires.when)}"


def _where(model: Model, condition: Condition | None) -> str:
    return f", where {_in_words(model, condition)}" if condition is not None else ""


def _in_words(model: Model, condition: Condition) -> str:
    path = stored_path(model)
    return condition_text(condition, lambda field: code(path(field)))


def _example(model: Model) -> Iterator[str]:
    """A stored item, its key first; compressed values, which depend on the library, and vectors are shortened."""
    entity = example_of(model)
    if entity is None:
        return
    item = example_item(model, entity)
    for attribute in model.attributes.values():
        if isinstance(attribute.codec, CompressedCodec) and attribute.name in item:
            item[attribute.name] = {"B": "…"}
        elif isinstance(attribute.codec, VectorCodec) and attribute.name in item:
            item[attribute.name] = {"L": [item[attribute.name]["L"][0], "…"]}
    names = [*model.table.key_names, *(each for each in item if each not in model.table.key_names)]
    lines = [f"  {json.dumps(name)}: {json.dumps(item[name], ensure_ascii=False)}" for name in names]
    yield "Example:"
    yield "```json\n{\n" + ",\n".join(lines) + "\n}\n```"
