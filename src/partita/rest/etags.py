"""Entity tags: the ETag of a reply, and `If-Match` and `If-None-Match` against it.

    "5f0c....91ab...."        an entity: a digest of its last edit, and a digest of the whole reply
    "91ab...."                any other reply

`If-None-Match` compares the whole reply. `If-Match` compares the edit alone: a like that arrives while an author writes
changes the reply, and must not reject what the author wrote. The design defines an edit: every attribute except
those that are counted or marked `Untracked`. The tag of a gzip-compressed reply ends in `.gz`.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import Any

from partita.design.codecs import AttributeMember, UntypedCodec
from partita.design.conditions import All, AnyOf, Condition, F, Stored
from partita.design.json_codec import encoded_sorted
from partita.design.markers import CountOf, SumOf, Version
from partita.design.models import Attribute, Model
from partita.design.timestamps import OTHER_FORMS, time_of, time_text
from partita.plan.items import key_value, values_of
from partita.rest.problems import Problem

GZIP_SUFFIX = ".gz"

_NULL = Stored({"NULL": True})


def digest(body: bytes) -> str:
    return blake2b(body, digest_size=8).hexdigest()


def entity_tag(entity: Any, body: bytes) -> str:
    """The tag of a reply that is one entity."""
    return f"{edit_tag(entity)}.{digest(body)}"


def edit_tag(entity: Any) -> str:
    """A digest that changes with every edit of the entity, and only then."""
    return digest(encoded_sorted(edited_values(entity)))


class IfMatch:
    """The tags that a client sent with `If-Match`, for an operation that takes them."""

    def __init__(self, header: str | None) -> None:
        self.present = header is not None
        self._any = header is not None and header.strip() == "*"
        # A weak tag never matches (RFC 9110, 13.1.1).
        self._edits = {tag[1:-1].partition(".")[0] for tag in _parse_tags(header or "") if not tag.startswith("W/")}

    def check(self, entity: Any) -> None:
        """Raises 412 unless the entity is as the client read it."""
        if self.present and not self._any and edit_tag(entity) not in self._edits:
            raise Problem(412, "precondition-failed", "it has changed since it was read; read it again")

    def when(self, entity: Any) -> Condition | None:
        """Checks the entity, and returns the condition under which it is still the same when it is written."""
        self.check(entity)
        return unchanged_condition(entity) if self.present else None


def none_match(header: str, tag: str) -> bool:
    """Whether a client that sent `If-None-Match` does not have this reply."""
    known = {each.removeprefix("W/")[1:-1].removesuffix(GZIP_SUFFIX) for each in _parse_tags(header)}
    return header.strip() != "*" and tag not in known


def _parse_tags(header: str) -> list[str]:
    return [each.strip() for each in header.split(",") if each.strip().endswith('"')]


# The condition of `IfMatch.when`. The stored form need not be ours: other code writes times in other forms, writes
# null, and leaves out attributes that have a default or follow from others. So each attribute may have any form that
# is read as the same value; a struct, a list or a map has to be stored as we write it.


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


def unchanged_condition(entity: Any) -> Condition | None:
    """The condition that the entity has not been edited since it was read."""
    model: Model = entity.__model__
    version = model.one_marked(Version)
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
    return edited_values(type(entity)(**values | {member.field: value})) == edited_values(entity)
