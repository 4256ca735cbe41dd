"""That an item still reads as it was read, as a condition on what is stored.

What is stored need not be what we would write: other code writes times in other forms, writes null, and leaves out what
is read as a default or follows from the rest. Each attribute may have any form that is read as the same value; a
struct, a list or a map has to be stored as we write it.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

from partita.design.codecs import AttributeMember, UntypedCodec
from partita.design.conditions import All, AnyOf, Condition, F, Stored
from partita.design.markers import CountOf, SumOf, Version
from partita.design.models import Attribute, Model
from partita.design.timestamps import OTHER_FORMS, time_of, time_text

_NULL = Stored({"NULL": True})


@cache
def _edited(model: Model) -> tuple[Attribute, ...]:
    return tuple(
        each
        for each in model.attributes.values()
        if not each.untracked and each.marker(CountOf) is None and each.marker(SumOf) is None
    )


def edited_values(entity: Any) -> list[Any]:
    """What somebody edits: neither what is counted nor what is marked `Untracked`."""
    return [getattr(entity, each.field) for each in _edited(entity.__model__)]


def reads_as_before(entity: Any) -> Condition | None:
    """That nobody has edited the entity since it was read."""
    model: Model = entity.__model__
    version = model.one_marked(Version)
    watched = (version,) if version is not None else _edited(model)
    same = [_joined(AnyOf, list(_forms(entity, each.member))) for each in watched if not each.in_key]
    return _joined(All, same) if same else None


def _joined(by: type[All | AnyOf], terms: list[Condition]) -> Condition:
    """One alone stays alone: DynamoDB refuses parentheses that are not needed."""
    return by(tuple(terms)) if len(terms) > 1 else terms[0]


def _forms(entity: Any, member: AttributeMember) -> Iterator[Condition]:
    field, value = F[member.field], getattr(entity, member.field)
    if value is not None and member.codec.encode(value) is not None:
        yield field == value
    if isinstance(value, datetime):
        yield from (field == Stored({"S": text}) for text in _other_texts(value))
    if not member.may_be_missing:
        return
    absent = member.default_when_absent
    null = None if member.optional or isinstance(member.codec, UntypedCodec) else absent
    if _reads_so(entity, member, absent):
        yield field.is_absent()
    if _reads_so(entity, member, null):
        yield field == _NULL


def _other_texts(moment: datetime) -> list[str]:
    """The forms of a time that say the same moment, ours apart; without a zone it is UTC."""
    texts = {form(moment) for form in OTHER_FORMS}
    texts |= {each.removesuffix("Z").removesuffix("+00:00") for each in texts}
    return sorted(each for each in texts if each != time_text(moment) and time_of(each) == moment)


def _reads_so(entity: Any, member: AttributeMember, value: Any) -> bool:
    """Whether an item with this value instead is read as the same entity: an entity derives what it lacks."""
    values = {each: getattr(entity, each) for each in entity.__model__.attributes}
    return edited_values(type(entity)(**values | {member.field: value})) == edited_values(entity)
