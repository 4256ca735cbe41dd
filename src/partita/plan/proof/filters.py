"""Declared filters: that DynamoDB accepts them, and which entities they drop."""

from typing import Any

from partita.design.codecs import SetCodec
from partita.design.conditions import (
    All,
    AnyOf,
    Comparison,
    Condition,
    Exists,
    Field,
    FieldCondition,
    FunctionCondition,
    OneOf,
    SizeComparison,
)
from partita.design.models import Attribute, Model
from partita.design.reads import Argument, EntityKey, Read
from partita.design.tables import Index
from partita.errors import ProofError
from partita.plan.stored_keys import listed_values


def check_filter(read: Read, index: Index | None) -> None:
    """A filter names stored attributes that are not in the key that is queried, and that the index holds."""
    if read.by_type:
        _check_type_attribute(read, index)
    if read.where is None:
        return
    for source in read.sources:
        keys = {each.name for each in source.keys.attributes}
        for field in read.where.fields:
            attribute = source.model.attributes[field]
            if attribute.in_key:
                _check_in_key(read, source, field, index)
                continue
            if attribute.name in keys:
                raise ProofError(
                    read.name,
                    f"it filters by {field!r}, which is in the key that is queried; DynamoDB filters other attributes",
                    f"give {field!r} as a part of the key, or a range of it",
                )
            names = source.model.fenced_names([field])
            if index is not None and not projected_names(source.model, index).issuperset(names):
                raise ProofError(
                    read.name,
                    f"it filters by {field!r}, which index {index.name!r} does not project",
                    f"project {' and '.join(map(repr, names))}, or leave the filter out",
                )


def _check_in_key(read: Read, source: EntityKey, field: str, index: Index | None) -> None:
    """A filter on an `InKey` attribute filters the key that holds it, which must not be the key that is queried."""
    queried = {each.name for each in source.keys.attributes}
    held = source.model.index_key_fields.get(field)
    if held is not None and index is not None and held.name not in projected_names(source.model, index):
        wrong = (
            f"it filters by {field!r}, which is stored in {held.name!r}, which index {index.name!r} does not project"
        )
        raise ProofError(read.name, wrong, f"project {held.name!r}, or leave the filter out")
    if held is None and source.model.old_keys:
        raise ProofError(
            read.name,
            f"it filters by {field!r}, which is stored in the key only, and in another form under an old key",
            "migrate the stored items with db.adopt() and remove old_keys, or remove InKey",
        )
    for key in source.model.key.attributes if held is None else (held,):
        if field in key.fields and key.name in queried:
            raise ProofError(
                read.name,
                f"it filters by {field!r}, which is in the key that is queried; DynamoDB filters other attributes",
                f"give {field!r} as a part of the key, or a range of it",
            )


def _check_type_attribute(read: Read, index: Index | None) -> None:
    """A filter by type needs an attribute that holds the type, and that the index holds."""
    model = read.sources[0].model
    name = model.table.type_attribute
    if name is None:
        wrong = f"it filters by type, and table {model.table.name!r} has no type attribute"
        raise ProofError(read.name, wrong, 'write Table(..., type_attribute="type")')
    if index is not None and index.project != "ALL" and name not in index.project:
        wrong = f"it filters by type, and index {index.name!r} does not project {name!r}"
        raise ProofError(read.name, wrong, f"project {name!r}")


def projected_names(model: Model, index: Index) -> set[str]:
    """The attributes of an entity that an index holds."""
    if index.project == "ALL":
        return {member.name for member in model.stored_members} | {*model.table.key_names, *index.pk, *index.sk}
    listed = () if index.project == "KEYS_ONLY" else index.project
    return {*model.table.key_names, *index.pk, *index.sk, *listed}


def filters_out(read: Read, model: Model) -> bool:
    """Whether the declared filter drops every item of an entity: it compares with a value that none of them has."""
    if read.by_type and model.type_name not in {source.model.type_name for source in read.sources}:
        return True
    return read.where is not None and _drops(read.sources[0].model, model, read.where)


def _drops(own: Model, other: Model, term: Condition) -> bool:
    """Whether a condition on one entity is false for every item of another."""
    if isinstance(term, All):
        return any(_drops(own, other, each) for each in term.terms)
    if isinstance(term, AnyOf):
        return all(_drops(own, other, each) for each in term.terms)
    if not isinstance(term, Exists | OneOf | FunctionCondition | Comparison | SizeComparison):
        return False
    attribute = own.attributes[term.field.path[0]]
    if attribute.in_key or _may_hold_for_absent(attribute, term):
        return False  # the text of a key, or what is absent: others may have the one and lack the other as well
    names = set(own.fenced_names([attribute.field]))
    if names.isdisjoint(_written_names(other)):
        return True
    twin = next((each for each in other.attributes.values() if each.name == attribute.name and not each.in_key), None)
    whole = len(term.field.path) == 1 and names == {attribute.name}
    return twin is not None and whole and _never(twin, term, _values(term))


def _may_hold_for_absent(attribute: Attribute, term: FieldCondition) -> bool:
    """Whether the filter can be true of items without the attribute: None and an empty set are not stored."""
    if isinstance(term, Comparison | SizeComparison) and term.operator == "<>":
        return True
    is_set = isinstance(attribute.codec, SetCodec)
    inside = len(term.field.path) > 1
    if isinstance(term, SizeComparison):
        return is_set or inside
    if isinstance(term, Comparison) and term.operator != "=":
        return False
    may_be_empty = attribute.optional or is_set or inside
    return any(
        value is None
        or (isinstance(value, set | frozenset) and not value)
        or (may_be_empty and isinstance(value, Argument | Field))
        for value in _values(term)
    )


def _values(term: Condition) -> tuple[Any, ...]:
    if isinstance(term, OneOf):
        return term.values
    return (term.value,) if isinstance(term, Comparison) else ()


def _never(attribute: Attribute, term: Condition, values: tuple[Any, ...]) -> bool:
    """Whether an attribute with few possible values can have none of the values in the filter."""
    listed = listed_values(attribute.kind)
    equality = isinstance(term, OneOf) or (isinstance(term, Comparison) and term.operator == "=")
    constant = not any(isinstance(value, Argument | Field) for value in values)
    if listed is None or not equality or not constant:
        return False
    return {getattr(value, "value", value) for value in values}.isdisjoint(listed)


def _written_names(model: Model) -> set[str | None]:
    """Every attribute that an item of an entity may have."""
    keys = (model.key, *model.old_keys, *(each for several in model.indexes.values() for each in several))
    written: set[str | None] = {each.name for key in keys for each in key.attributes}
    written |= {member.name for member in model.members} | {each.old.name for each in model.migrations}
    return written | {model.table.ttl, model.table.type_attribute}
