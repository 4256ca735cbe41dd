"""Overlap: whether two keys can be the same, or a key can lie in a range.

Templates are compared segment by segment, without knowing any value; the answer is no only where that is certain.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from partita.design.key_parts import VerbatimPart, may_overlap
from partita.design.key_templates import Segment
from partita.design.models import EntityKeys, KeyAttribute, Model
from partita.design.open_enum import OpenEnum
from partita.design.reads import ALL_SHARDS, Argument, FanOut
from partita.plan.key_ranges import FixedKey, KeyRange, Piece, SortPrefix


@dataclass(frozen=True)
class PlainKey:
    """An attribute that is its own key: any value of its type, or one of `values`."""

    type: str
    values: frozenset[Any] | None


def plain_key_of(model: Model, attribute: KeyAttribute) -> PlainKey:
    assert attribute.field is not None
    kind = model.attributes[attribute.field].kind
    if get_origin(kind) is Literal:
        return PlainKey(attribute.type, frozenset(get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, enum.Enum) and not issubclass(kind, OpenEnum):
        return PlainKey(attribute.type, frozenset(member.value for member in kind))
    return PlainKey(attribute.type, None)


def keys_can_collide(one: Model, one_keys: EntityKeys, other: Model, other_keys: EntityKeys) -> bool:
    """Whether an item of each entity can have the same key."""
    pairs = zip(one_keys.attributes, other_keys.attributes, strict=True)
    return all(_attributes_overlap(one, a, other, b) for a, b in pairs)


def _attributes_overlap(one: Model, a: KeyAttribute, other: Model, b: KeyAttribute) -> bool:
    if a.template is not None and b.template is not None:
        return _segments_overlap([Piece(each) for each in a.template.segments], b.template.segments)
    if a.template is None and b.template is None:
        return _plain_keys_overlap(plain_key_of(one, a), plain_key_of(other, b))
    model, plain, keyed = (one, a, b) if a.template is None else (other, b, a)
    assert keyed.template is not None
    return _plain_key_matches(plain_key_of(model, plain), keyed)


def _plain_keys_overlap(one: PlainKey, other: PlainKey) -> bool:
    if one.type != other.type:
        return False
    return one.values is None or other.values is None or bool(one.values & other.values)


def _plain_key_matches(plain: PlainKey, keyed: KeyAttribute) -> bool:
    assert keyed.template is not None
    if plain.type != "S":
        return False
    return plain.values is None or any(_matches(keyed, str(value)) for value in plain.values)


def _matches(keyed: KeyAttribute, text: str) -> bool:
    assert keyed.template is not None
    pieces = text.split("#")
    segments = keyed.template.segments
    return len(pieces) == len(segments) and all(s.matches(p) for s, p in zip(segments, pieces, strict=True))


def can_contain(found: KeyRange, model: Model, keys: EntityKeys) -> bool:
    """Whether an item of the entity with these keys can lie in the range."""
    by_name = {attribute.name: attribute for attribute in keys.attributes}
    if not all(_fixed_key_overlaps(fixed, model, by_name[fixed.attribute.name]) for fixed in found.fixed):
        return False
    if found.sort_prefix is None:
        return True
    return _sort_prefix_overlaps(found.sort_prefix, model, by_name[found.sort_prefix.attribute.name])


def _fixed_key_overlaps(fixed: FixedKey, model: Model, attribute: KeyAttribute) -> bool:
    if fixed.pieces is not None and attribute.template is not None:
        return _segments_overlap(list(fixed.pieces), attribute.template.segments)
    if fixed.pieces is not None:
        return attribute.type == "S"
    value = None if isinstance(fixed.value, Argument | FanOut) or fixed.value is ALL_SHARDS else fixed.value
    if attribute.template is not None:
        return value is None or _matches(attribute, str(getattr(value, "value", value)))
    plain = plain_key_of(model, attribute)
    return value is None or plain.values is None or getattr(value, "value", value) in plain.values


def _sort_prefix_overlaps(start: SortPrefix, model: Model, attribute: KeyAttribute) -> bool:
    if start.attribute.template is None or attribute.template is None:
        return True
    if not start.pieces and not start.constant_prefix:
        return True
    segments = attribute.template.segments
    if not _segments_overlap(list(start.pieces), segments[: len(start.pieces)]):
        return False
    if _open_part(segments) < len(start.pieces):
        return True
    if len(segments) <= len(start.pieces):
        return False
    following = segments[len(start.pieces)]  # any form: the range compares texts only
    return following.constant.startswith(start.constant_prefix) or (
        following.form is not None and start.constant_prefix.startswith(following.constant)
    )


def _segments_overlap(pieces: list[Piece], segments: tuple[Segment, ...]) -> bool:
    end = min(_open_part([piece.segment for piece in pieces]), _open_part(segments))
    shorter = min(len(pieces), len(segments))
    if shorter <= end and len(pieces) != len(segments):
        return False
    pairs = zip(pieces[: end + 1], segments[: end + 1], strict=False)
    return all(_pair_overlaps(piece, segment) for piece, segment in pairs)


def _open_part(segments: Sequence[Segment]) -> int:
    """The first segment with verbatim text, which may hold separators: from there on segments cannot be compared."""
    found = (at for at, each in enumerate(segments) if isinstance(each.form, VerbatimPart) and each.form.kind is str)
    return next(found, len(segments))


def _pair_overlaps(piece: Piece, segment: Segment) -> bool:
    known = piece.known if piece.segment.form is None or piece.value is not None else None
    if known is not None:
        return segment.matches(known)
    mine = piece.segment
    if segment.form is None:
        return mine.matches(segment.constant)
    assert mine.form is not None
    if mine.constant == segment.constant:
        return may_overlap(mine.form, segment.form)
    return mine.constant.startswith(segment.constant) or segment.constant.startswith(mine.constant)
