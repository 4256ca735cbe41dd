"""An entity on a design's page: its keys, its attributes with their values, the structs in them, and an example."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from enum import Enum
from inspect import cleandoc
from typing import Any, get_type_hints

import msgspec

from partita.describe.conditions_in_words import condition_in_words
from partita.describe.markdown import code, rows
from partita.describe.samples import example_item, example_of
from partita.describe.types_in_words import structs_in, type_in_words, values_in_words
from partita.design.codec_factory import members_of
from partita.design.codecs import AttributeMember, CompressedCodec
from partita.design.conditions import Condition
from partita.design.markers import (
    Compressed,
    CountOf,
    CreatedAt,
    InKey,
    References,
    SumOf,
    Transitions,
    Untracked,
    UpdatedAt,
    Version,
)
from partita.design.models import Attribute, EntityKeys, KeyAttribute, Model, model_of
from partita.design.naming import naming

_KEPT = (CountOf, SumOf, Version, CreatedAt, UpdatedAt)


class EntityPages:
    """The entities of one page, on which each struct is told once: below the first entity that holds it."""

    def __init__(self) -> None:
        self._told: set[type[msgspec.Struct]] = set()

    def of(self, models: Iterable[Model]) -> Iterator[str]:
        return map(self._entity, models)

    def _entity(self, model: Model) -> str:
        about = cleandoc(model.cls.__doc__ or "")
        parts = [f"### {model.name}", *([about] if about and not about.startswith(model.name + "(") else [])]
        keys = [["table", *_key(model, model.key)]]
        keys += [[code(name), *_key(model, each)] for name, sets in model.indexes.items() for each in sets]
        parts.append(rows(["In", "Partition key", "Sort key", "While"], keys))
        attributes = [
            [code(each.name), _type(each), _values(each.hint, each.member, each.markers), _remarks(model, each)]
            for each in model.attributes.values()
        ]
        parts.append(rows(["Attribute", "Type", "Values", "Remarks"], attributes))
        promises = list(_promises(model))
        if promises:
            parts.append("\n".join(f"- {promise}" for promise in promises))
        return "\n\n".join([*parts, "For example:", _example(model), *self._structs(model)])

    def _structs(self, model: Model) -> Iterator[str]:
        for attribute in model.attributes.values():
            for struct in structs_in(attribute.hint):
                if struct not in self._told:
                    self._told.add(struct)
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
        condition_in_words(keys.when, names) if keys.when is not None else "always",
    ]


def _source(attribute: KeyAttribute, names: dict[str, str]) -> str:
    """The template with the names of the attributes on disk."""
    source = attribute.template.source if attribute.template is not None else f"{{{attribute.field}}}"
    return re.sub(r"(?<=\{)\w+", lambda found: names.get(found[0], found[0]), source)


def _type(attribute: Attribute) -> str:
    if attribute.in_key:
        return "in the key"
    kind = type_in_words(attribute.hint)
    return _optional(f"Binary ({kind})" if isinstance(attribute.codec, CompressedCodec) else kind, attribute.optional)


def _optional(kind: str, optional: bool) -> str:
    return kind + (", optional" if optional else "")


def _values(hint: Any, member: AttributeMember, markers: Iterable[Any] = ()) -> str:
    """What it may be, and what it is where an older item lacks it."""
    told = [values_in_words(hint)]
    is_kept = any(isinstance(each, _KEPT) for each in markers)
    if not is_kept and _is_shown(member.default):
        default = str(member.default).lower() if isinstance(member.default, bool) else member.default
        told.append(f"{_value(default)} if absent")
    return "; ".join(filter(None, told)) or "-"


def _is_shown(default: Any) -> bool:
    return isinstance(default, str | int | float | Decimal | Enum) and default != ""


def _remarks(model: Model, attribute: Attribute) -> str:
    return "; ".join(filter(None, (_remark(model, marker) for marker in attribute.markers))) or "-"


def _remark(model: Model, marker: Any) -> str:
    match marker:
        case CountOf():
            child = model_of(marker.child())
            return f"counts {child.name}{_while(child, marker.when)}, exactly"
        case SumOf():
            child = model_of(marker.child())
            summed = child.attributes[marker.amount].name
            return f"sums `{summed}` of {child.name}{_while(child, marker.when)}, exactly"
        case References():
            return f"must name an existing {marker.entity().__name__}"
        case Transitions():
            return _transitions(marker)
        case CreatedAt():
            return "when it was created"
        case UpdatedAt():
            return "when it was last edited"
        case Version():
            return "raised at every edit"
        case Untracked():
            return "changing it is no edit"
        case Compressed():
            return "compressed JSON"
        case InKey():
            return "read back from the key"
    return ""


def _transitions(marker: Transitions) -> str:
    """`DRAFT` to `PUBLISHED` or `REMOVED`, `PUBLISHED` to `REMOVED`; begins as `DRAFT`."""
    steps = ", ".join(f"{_value(value)} to {' or '.join(map(_value, then))}" for value, then in marker.allowed.items())
    return steps + (f"; begins as {' or '.join(map(_value, marker.start))}" if marker.start is not None else "")


def _value(value: Any) -> str:
    return code(getattr(value, "value", value))


def _promises(model: Model) -> Iterator[str]:
    names = _names(model)
    for unique in model.uniques:
        folded = ", compared without case" if unique.case_insensitive else ""
        held = " and ".join(code(names[each]) for each in unique.fields)
        yield f"{held}: no two items hold the same{folded}{_while(model, unique.when)}"
    for limit in model.limits:
        yield f"always {condition_in_words(limit.condition, names)}"
    for child in (each for owns in model.owns for each in owns.entities):
        yield f"takes its {child.__name__} items with it when it is deleted"
    if model.expires is not None:
        after = f"{model.expires.after.days} days after" if model.expires.after else "at"
        yield f"expires {after} `{names[model.expires.at]}`{_while(model, model.expires.when)}"


def _while(model: Model, condition: Condition | None) -> str:
    return f", while {condition_in_words(condition, _names(model))}" if condition is not None else ""


def _example(model: Model) -> str:
    """An item as it lies on disk, its key first; what compression makes of a value depends on its library."""
    item = example_item(model, example_of(model))
    for attribute in model.attributes.values():
        if isinstance(attribute.codec, CompressedCodec) and attribute.name in item:
            item[attribute.name] = {"B": "…"}
    names = [*model.table.key_names, *(each for each in item if each not in model.table.key_names)]
    lines = [f"  {json.dumps(name)}: {json.dumps(item[name], ensure_ascii=False)}" for name in names]
    return "```json\n{\n" + ",\n".join(lines) + "\n}\n```"
