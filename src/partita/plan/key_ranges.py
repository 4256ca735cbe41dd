"""Key ranges: the key attributes that a read fixes, and the prefix of the sort key that it reads.

A range consists of segments, like a template. Values that are not known yet are parts, so the proof can compare the
range of a pattern with the keys of every other entity, and the same range gives the requests of each call.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from partita.design.key_parts import AFTER_SEPARATOR, SEPARATOR, KeyPart, ShardPart, descends
from partita.design.key_slots import Slot, SlotRole, key_slots
from partita.design.key_templates import Segment
from partita.design.models import KeyAttribute
from partita.design.reads import ALL_SHARDS, Argument, FanOut, Read, SortRange
from partita.errors import ProofError


@dataclass(frozen=True)
class Piece:
    """A segment of a key with its value (None for a constant)."""

    segment: Segment
    value: Any = None

    @property
    def known(self) -> str | None:
        """The text of the segment, or None where it depends on an argument."""
        if self.segment.form is None:
            return self.segment.constant
        if isinstance(self.value, Argument | FanOut) or self.value is ALL_SHARDS:
            return None
        return segment_text(self.segment, self.value)


def segment_text(segment: Segment, value: Any, *, whole: bool = False) -> str:
    """The segment's text; a query names a shard by its number, a get by the value (`whole`)."""
    if isinstance(segment.form, ShardPart) and isinstance(value, int) and not whole:
        return segment.constant + str(value)
    return segment.text(value)


@dataclass(frozen=True)
class FixedKey:
    """A key attribute with one value: pieces of a template, or the value of an attribute that is itself a key."""

    attribute: KeyAttribute
    pieces: tuple[Piece, ...] | None
    value: Any = None


@dataclass(frozen=True)
class SortPrefix:
    """The prefix of the sort attribute that all items of the range share: `pieces`, then an open segment.

    `constant_prefix` is the constant text before the part of the open segment (`v` in `v{number}`).
    """

    attribute: KeyAttribute
    pieces: tuple[Piece, ...]
    constant_prefix: str
    open_segment: Segment | None
    last: bool  # the open segment is the last one
    bounds: SortRange | None


@dataclass(frozen=True)
class KeyRange:
    fixed: tuple[FixedKey, ...]
    sort_prefix: SortPrefix | None
    open_parts: tuple[Slot, ...]  # the sort parts that order the result
    whole: bool = False  # one item by its whole key


def key_range(read: Read) -> KeyRange:
    """The range of a read; a ProofError where its values do not determine one."""
    source = read.sources[0]
    slots = key_slots(source.model, source.keys, whole=read.single)
    given = dict(zip([_name(slot, read.single) for slot in slots], read.given, strict=False))
    missing = [slot for slot in slots[len(read.given) :] if slot.role is SlotRole.PARTITION]
    if missing:
        raise ProofError(
            read.name,
            f"the partition key of {source.keys.where} needs {missing[0].field!r}",
            "pass a value for every part of the partition key; without it the read would be a Scan",
        )
    fixed = [_fixed(attribute, given, read.single) for attribute in source.keys.partition]
    prefix = None
    for at, attribute in enumerate(source.keys.sort):
        whole = _fixed_if_given(attribute, given, read.single)
        if whole is not None and len(read.sources) == 1:
            fixed.append(whole)
            continue
        prefix = _sort_prefix(read, attribute, at, given)
        break
    return KeyRange(tuple(fixed), prefix, slots[len(read.given) :], read.single)


def _name(slot: Slot, whole: bool) -> Any:
    return _part_name(slot.field, slot.form, whole)


def _part_name(field: str, form: KeyPart | None, whole: bool) -> Any:
    return field if whole or form is None or form.lossless else (field, form)


def _value(segment: Segment, given: dict[Any, Any], whole: bool) -> Any:
    assert segment.field is not None
    name = _part_name(segment.field, segment.form, whole)
    return given[name] if name in given else given[segment.field]


def _is_given(segment: Segment, given: dict[Any, Any], whole: bool) -> bool:
    assert segment.field is not None
    return _part_name(segment.field, segment.form, whole) in given or segment.field in given


def _fixed(attribute: KeyAttribute, given: dict[Any, Any], whole: bool) -> FixedKey:
    if attribute.template is None:
        return FixedKey(attribute, None, given[attribute.field])
    pieces = [
        Piece(segment, _value(segment, given, whole) if segment.field else None)
        for segment in attribute.template.segments
    ]
    return FixedKey(attribute, tuple(pieces))


def _fixed_if_given(attribute: KeyAttribute, given: dict[Any, Any], whole: bool) -> FixedKey | None:
    if attribute.template is None:
        return _fixed(attribute, given, whole) if attribute.field in given else None
    complete = all(_is_given(segment, given, whole) for segment in attribute.template.parts)
    return _fixed(attribute, given, whole) if complete else None


def _sort_prefix(read: Read, attribute: KeyAttribute, at: int, given: dict[Any, Any]) -> SortPrefix | None:
    if attribute.template is None:
        return SortPrefix(attribute, (), "", None, True, read.bounds) if read.bounds else None
    pieces: list[Piece] = []
    segments = attribute.template.segments
    others = [source.keys.sort[at].template for source in read.sources[1:]]
    for position, segment in enumerate(segments):
        shared = all(
            other is not None and position < len(other.segments) and _alike(segment, other.segments[position])
            for other in others
        )
        if not shared:
            break
        if segment.field and not _is_given(segment, given, read.single):
            last = position == len(segments) - 1
            return SortPrefix(attribute, tuple(pieces), segment.constant, segment, last, read.bounds)
        pieces.append(Piece(segment, _value(segment, given, read.single) if segment.field else None))
    if read.bounds is not None:
        raise ProofError(
            read.name,
            "its entities share no sort part to which the bounds could apply",
            "read one entity, or leave the bounds out",
        )
    return SortPrefix(attribute, tuple(pieces), "", None, False, None)


def _alike(one: Segment, other: Segment) -> bool:
    return one.constant == other.constant and (one.form == other.form)


@dataclass(frozen=True)
class AttributeCondition:
    """A key condition on one attribute: an operator and one or two values."""

    attribute: KeyAttribute
    operator: str  # "=", "begins_with", "between", ">=", "<="
    values: tuple[Any, ...]


def key_conditions(found: KeyRange, bind: Any) -> Iterator[AttributeCondition]:
    """The key conditions of a range; `bind` gives each argument its value."""
    for fixed in found.fixed:
        if fixed.pieces is None:
            yield AttributeCondition(fixed.attribute, "=", (bind(fixed.value),))
        else:
            yield AttributeCondition(fixed.attribute, "=", (_joined(fixed.pieces, bind, found.whole),))
    if found.sort_prefix is not None:
        condition = _sort_condition(found.sort_prefix, bind)
        if condition is not None:
            yield condition


def _joined(pieces: tuple[Piece, ...], bind: Any, whole: bool = False) -> str:
    return SEPARATOR.join(segment_text(piece.segment, bind(piece.value), whole=whole) for piece in pieces)


def _sort_condition(start: SortPrefix, bind: Any) -> AttributeCondition | None:
    bounds = start.bounds
    if start.attribute.template is None:
        assert bounds is not None
        return _plain_sort_condition(start.attribute, bounds, bind)
    prefix = _joined(start.pieces, bind) + SEPARATOR if start.pieces else ""
    if bounds is None or start.open_segment is None:
        prefix += start.constant_prefix
        return AttributeCondition(start.attribute, "begins_with", (prefix,)) if prefix else None
    segment = start.open_segment
    assert segment.form is not None
    if bounds.prefix is not None:
        return AttributeCondition(start.attribute, "begins_with", (prefix + segment.text(bind(bounds.prefix)),))
    low, high = bounds.low, bounds.high
    if descends(segment.form):
        low, high = high, low
    bottom = prefix + (segment.constant if low is None else segment.text(bind(low)))
    if high is None:
        top = (
            prefix[:-1] + AFTER_SEPARATOR
            if prefix and not start.constant_prefix
            else prefix + start.constant_prefix + "\U0010ffff"
        )
    else:
        top = prefix + segment.text(bind(high)) + ("" if start.last else AFTER_SEPARATOR)
    return (
        AttributeCondition(start.attribute, "between", (bottom, top))
        if bottom
        else AttributeCondition(start.attribute, "<=", (top,))
    )


def _plain_sort_condition(attribute: KeyAttribute, bounds: SortRange, bind: Any) -> AttributeCondition:
    if bounds.prefix is not None:
        return AttributeCondition(attribute, "begins_with", (bind(bounds.prefix),))
    if bounds.low is None:
        return AttributeCondition(attribute, "<=", (bind(bounds.high),))
    if bounds.high is None:
        return AttributeCondition(attribute, ">=", (bind(bounds.low),))
    return AttributeCondition(attribute, "between", (bind(bounds.low), bind(bounds.high)))


def fan_out_of(found: KeyRange) -> tuple[Any, int] | None:
    """The values over which the read fans out, and how many there are at most; None for a single Query."""
    for fixed in found.fixed:
        for piece in fixed.pieces or (Piece(Segment("", "", None), fixed.value),):
            if isinstance(piece.value, FanOut):
                return piece.value, piece.value.limit
            if piece.value is ALL_SHARDS and isinstance(piece.segment.form, ShardPart):
                return ALL_SHARDS, piece.segment.form.count
    return None
