"""The condition that an entity is as it was read, for writers that have shown it to somebody meanwhile.

The stored form need not be ours: other code writes times in other forms, writes null, and leaves out attributes that
have a default or follow from others. So each attribute may have any form that is read as the same value; a struct, a
list or a map has to be stored as we write it.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cache
from typing import Any

from partita.design.codecs import AttributeMember, UntypedCodec
from partita.design.conditions import All, AnyOf, Condition, F, Stored
from partita.design.markers import CountOf, SumOf, Version
from partita.design.models import Attribute, Model
from partita.design.own_rules import RULE_ERRORS
from partita.design.timestamps import OTHER_FORMS, time_of, time_text
from partita.plan.items import key_value, values_of

_NULL = Stored({"NULL": True})


@cache
def _edited_attributes(model: Model) -> tuple[Attribute, ...]:
    return tuple(
        each
        for each in model.attributes.values()
        if not each.untracked and each.marker(CountOf) is None and each.marker(SumOf) is None
    )


def edited_values(entity: Any) -> list[Any]:
    """The values that people edit: neither the counted ones nor those marked `Untracked`."""
    return [getattr(entity, each.field) for each in _edited_attributes(entity.__model__)]


def unchanged_condition(entity: Any, fields: Collection[str] | None = None) -> Condition | None:
    """The condition that the entity has not been edited since it was read; with `fields`, that these are as they were.

    None where there is no attribute to compare.
    """
    model: Model = entity.__model__
    version = model.one_marked(Version)
    if fields is not None:
        watched = tuple(model.attributes[each] for each in fields)
    else:
        watched = (version,) if version is not None else _edited_attributes(model)
    same = [_joined(AnyOf, list(_equal_forms(entity, each.member))) for each in watched if not each.in_key]
    same += _equal_index_keys(entity, [each.field for each in watched if each.index_key is not None])
    return _joined(All, same) if same else None


def _equal_index_keys(entity: Any, fields: list[str]) -> list[Condition]:
    """The index keys in which edited attributes are stored are unchanged."""
    model: Model = entity.__model__
    values = values_of(model, entity)
    keys = {model.index_key_fields[field].name: field for field in fields}  # one condition for each index key
    held = {field: key_value(model, model.index_key_fields[field], values) for field in keys.values()}
    return [F[field] == Stored(value or {}) for field, value in held.items()]


def _joined(by: type[All | AnyOf], terms: list[Condition]) -> Condition:
    """A single term stays bare: DynamoDB rejects redundant parentheses."""
    return by(tuple(terms)) if len(terms) > 1 else terms[0]


def _equal_forms(entity: Any, member: AttributeMember) -> Iterator[Condition]:
    field, value = F[member.field], getattr(entity, member.field)
    if value is not None and member.codec.encode(value) is not None:
        yield field == value
    if isinstance(value, datetime):
        yield from (field == Stored({"S": text}) for text in _other_time_texts(value))
    if not member.may_be_missing:
        return
    absent = member.default_when_absent
    null = None if member.optional or isinstance(member.codec, UntypedCodec) else absent
    if _reads_equal_with(entity, member, absent):
        yield field.is_absent()
    if _reads_equal_with(entity, member, null):
        yield field == _NULL


def _other_time_texts(moment: datetime) -> list[str]:
    """The other stored forms of the same time; a form without a zone is UTC."""
    texts = {form(moment) for form in OTHER_FORMS}
    texts |= {each.removesuffix("Z").removesuffix("+00:00") for each in texts}
    return sorted(each for each in texts if each != time_text(moment) and time_of(each) == moment)


def _reads_equal_with(entity: Any, member: AttributeMember, value: Any) -> bool:
    """Whether an item with this value instead is read as the same entity: an entity derives what it lacks."""
    values = {each: getattr(entity, each) for each in entity.__model__.attributes}
    try:
        other = type(entity)(**values | {member.field: value})
    except RULE_ERRORS:
        return False  # `__post_init__` rejects it, so no such item can be read
    same = bool(getattr(other, member.field) == getattr(entity, member.field))
    return same and edited_values(other) == edited_values(entity)
