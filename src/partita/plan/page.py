"""A design as a document: everything a team's own design document has, printed from the declaration.

Tables, indexes and projections, entities with their keys and attributes, access patterns with the request that serves
them and what it costs, and what a write costs with its indexes.
"""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import Any

from partita.design.conditions import All, AnyOf, Comparison, Condition, Exists, Field, Holds, Not, OneOf
from partita.design.markers import (
    CountOf,
    CreatedAt,
    InKey,
    Quiet,
    References,
    SumOf,
    Transitions,
    UpdatedAt,
    Version,
    Zipped,
)
from partita.design.models import Attribute, KeySet, Model
from partita.design.tables import Index, Table
from partita.plan.designs import Design
from partita.plan.explain import explain_read
from partita.wire import limits

_TYPES = {
    "S": "String",
    "N": "Number",
    "B": "Binary",
    "BOOL": "Boolean",
    "M": "Map",
    "L": "List",
    "SS": "String set",
    "NS": "Number set",
    "BS": "Binary set",
}


def page(design: Design, front: str, item_bytes: int = 1024) -> str:
    """The document in Markdown; `front` is what people wrote to stand before it."""
    parts = [front.rstrip(), *(_table(table) for table in design.tables)]
    parts += ["## Entities", *(_entity(model) for model in design.models)]
    parts += ["## Access patterns", _patterns(design, item_bytes), "## What a write costs", _writes(design, item_bytes)]
    return "\n\n".join(parts) + "\n"


def _rows(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _code(text: object) -> str:
    return f"`{text}`"


def told(condition: Condition) -> str:
    """A condition as a person would say it.

    >>> from partita.design.conditions import F
    >>> told((F.status == "OPEN") & F.owner.exists())
    '`status` = OPEN and `owner` is there'
    """
    match condition:
        case All(terms):
            return " and ".join(map(told, terms))
        case AnyOf(terms):
            return " or ".join(map(told, terms))
        case Not(Exists(field)):
            return f"{_field(field)} is absent"
        case Not(term):
            return f"not ({told(term)})"
        case Exists(field):
            return f"{_field(field)} is there"
        case Comparison(operator, field, value):
            return f"{_field(field)} {operator} {_value(value)}"
        case OneOf(field, values):
            return f"{_field(field)} is {' or '.join(map(_value, values))}"
        case Holds(function, field, value):
            return f"{_field(field)} {function.replace('_', ' ')} {_value(value)}"
    raise AssertionError(condition)


def _field(field: Field) -> str:
    return _code(".".join(map(str, field.path)))


def _value(value: Any) -> str:
    return _field(value) if isinstance(value, Field) else str(getattr(value, "value", value))


# Tables


def _table(table: Table) -> str:
    facts = [f"## Table `{table.name}`", f"Primary key: {', '.join(map(_code, table.key_names))}. On-demand capacity."]
    if table.ttl:
        facts.append(f"Time to live: `{table.ttl}`, seconds since 1970; what has expired is hidden from every read.")
    if table.stream:
        facts.append(f"Stream: `{table.stream}`.")
    if table.recovery_days:
        facts.append(f"Point-in-time recovery: {table.recovery_days} days.")
    if table.indexes:
        rows = [[_code(each.name), _names(each.pk), _names(each.sk), _projection(each)] for each in table.indexes]
        facts.append(_rows(["Index", "Partition key", "Sort key", "Holds"], rows))
    return "\n\n".join(facts)


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(_code, names)) or "-"


def _projection(index: Index) -> str:
    if isinstance(index.project, str):
        return {"ALL": "whole items", "KEYS_ONLY": "keys only"}[index.project]
    return "keys and " + _names(index.project)


# Entities


def _entity(model: Model) -> str:
    told = (model.cls.__doc__ or "").strip()
    parts = [f"### {model.name}", *([told] if told and not told.startswith(model.name + "(") else [])]
    keys = [["table", *_key(model.key)]]
    keys += [[_code(name), *_key(each)] for name, sets in model.indexes.items() for each in sets]
    parts.append(_rows(["In", "Partition key", "Sort key", "While"], keys))
    attributes = [[_code(each.name), _type(each), _remarks(each)] for each in model.attributes.values()]
    parts.append(_rows(["Attribute", "Type", "Remarks"], attributes))
    promises = list(_promises(model))
    if promises:
        parts.append("\n".join(f"- {promise}" for promise in promises))
    return "\n\n".join(parts)


def _key(keys: KeySet) -> list[str]:
    def shown(attributes: Iterable[Any]) -> str:
        return ", ".join(f"`{each.name}` = `{_source(each)}`" for each in attributes) or "-"

    return [shown(keys.hash), shown(keys.range), told(keys.when) if keys.when is not None else "always"]


def _source(attribute: Any) -> str:
    return attribute.template.source if attribute.template is not None else f"{{{attribute.field}}}"


def _type(attribute: Attribute) -> str:
    kind = "in the key" if attribute.in_key else _TYPES.get(attribute.codec.tag, attribute.codec.tag)
    return kind + (", optional" if attribute.optional else "")


def _remarks(attribute: Attribute) -> str:
    return "; ".join(_remark(marker) for marker in attribute.markers if _remark(marker)) or "-"


def _remark(marker: Any) -> str:
    match marker:
        case CountOf():
            return f"counts {marker.child().__name__}{_while(marker.when)}, exactly"
        case SumOf():
            return f"sums `{marker.amount}` of {marker.child().__name__}{_while(marker.when)}, exactly"
        case References():
            return f"must name an existing {marker.entity().__name__}"
        case Transitions():
            return "follows a state machine"
        case CreatedAt():
            return "when it was created"
        case UpdatedAt():
            return "when it was last edited"
        case Version():
            return "raised at every edit"
        case Quiet():
            return "changing it is no edit"
        case Zipped():
            return "compressed"
        case InKey():
            return "read back from the key"
    return ""


def _promises(model: Model) -> Iterator[str]:
    for unique in model.uniques:
        folded = ", compared without case" if unique.fold else ""
        yield f"{' and '.join(map(_code, unique.fields))}: no two items hold the same{folded}{_while(unique.when)}"
    for limit in model.limits:
        yield f"always {told(limit.condition)}"
    for child in (each for owns in model.owns for each in owns.entities):
        yield f"takes its {child.__name__} items with it when it is deleted"
    if model.expires is not None:
        after = f"{model.expires.after.days} days after" if model.expires.after else "at"
        yield f"expires {after} `{model.expires.at}`{_while(model.expires.when)}"


def _while(condition: Condition | None) -> str:
    return f", while {told(condition)}" if condition is not None else ""


# Patterns and costs


def _patterns(design: Design, item_bytes: int) -> str:
    told = []
    for name, pattern in design.patterns.items():
        about = f"{pattern.__doc__.strip()}\n\n" if pattern.__doc__ else ""
        parameters = ", ".join(pattern.signature.parameters)
        told.append(f"### `{name}({parameters})`\n\n{about}```text\n{explain_read(pattern.read, item_bytes)}\n```")
    return "\n\n".join(told)


def _writes(design: Design, item_bytes: int) -> str:
    head = f"Write units to create an item of {item_bytes:,} bytes, its copies in indexes included, promises not."
    rows = [[model.name, *_units(model, item_bytes)] for model in design.models]
    return head + "\n\n" + _rows(["Entity", "Table", "Indexes", "Sum"], rows)


def _units(model: Model, item_bytes: int) -> list[str]:
    own = ceil(item_bytes / limits.WRITE_UNIT_BYTES)
    copies = own * len(model.indexes)
    return [str(own), str(copies), str(own + copies)]
