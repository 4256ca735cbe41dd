"""Key conditions: the conditions of a key range on each attribute, for the values of one call."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from partita.design.key_parts import LiteralPart, TextPart, TimePart, VerbatimPart
from partita.design.models import KeyAttribute
from partita.design.reads import SortRange
from partita.design.separators import Separator
from partita.design.timestamps import AFTER_SECOND, second_text
from partita.plan.adjacent_values import preceding_text
from partita.plan.key_ranges import KeyRange, Piece, SortPrefix, after_open_part, range_ends, segment_text


class AttributeCondition(msgspec.Struct, frozen=True):
    """A key condition on one attribute: an operator and one or two values."""

    attribute: KeyAttribute
    operator: str  # "=", "begins_with", "between", ">=", "<=", ">", "<"
    values: tuple[Any, ...]


class Adjacent(NamedTuple):
    """The next value of an attribute above or below a value, for an open end: BETWEEN includes both of its ends."""

    value: Any
    above: bool


class EmptyPrefix(ValueError):
    """The text of `starts_with` is empty: a range of all values, which the proof has not compared with other keys."""


class Text(NamedTuple):
    """A text to compare with the values of a plain attribute, such as the end of a second."""

    text: str


def key_conditions(found: KeyRange, bind: Any) -> Iterator[AttributeCondition]:
    """The key conditions of a range; `bind` gives each argument its value."""
    for fixed in found.fixed:
        if fixed.pieces is None:
            yield AttributeCondition(fixed.attribute, "=", (bind(fixed.value),))
        else:
            yield AttributeCondition(fixed.attribute, "=", (_joined(fixed.pieces, fixed.separator, bind, found.whole),))
    if found.sort_prefix is not None:
        condition = _sort_condition(found.sort_prefix, bind)
        if condition is not None:
            yield condition


def _joined(pieces: tuple[Piece, ...], separator: Separator, bind: Any, whole: bool = False) -> str:
    bound = [Piece(piece.segment, bind(piece.value), piece.whole) for piece in pieces]
    texts = (segment_text(each.segment, each.value, whole=whole or each.whole) for each in bound if not each.is_absent)
    return separator.character.join(texts)


def _sort_condition(start: SortPrefix, bind: Any) -> AttributeCondition | None:
    bounds, separator = start.bounds, start.separator
    if start.attribute.template is None:
        assert bounds is not None
        return _plain_sort_condition(start.attribute, bounds, bind)
    if start.family is not None and bind(start.family):
        return AttributeCondition(start.attribute, "=", (_joined(start.parent, separator, bind),))
    given = _joined(start.pieces, separator, bind)
    if start.family is not None and not start.is_tight:
        return AttributeCondition(start.attribute, "begins_with", (given + separator.character,))
    if start.family is not None:
        return _between(start, given + separator.character + (start.low or ""), _top_text(start, given))
    if start.with_parent:
        return AttributeCondition(start.attribute, "between", (given, given + start.family_top))
    prefix = given + separator.character if start.pieces else ""
    if bounds is None:
        if start.low is None and start.high is None:
            prefix += start.constant_prefix
            return AttributeCondition(start.attribute, "begins_with", (prefix,)) if prefix else None
        return _between(start, prefix + (start.low or ""), _top_text(start, given))
    segment = start.open_segment
    assert segment is not None
    if bounds.prefix is not None:
        return AttributeCondition(start.attribute, "begins_with", (prefix + segment.text(_beginning(bounds, bind)),))
    low, high = range_ends(segment, bounds)
    bottom = prefix + (start.low or segment.constant)
    if isinstance(segment.form, TimePart):
        if low.value is not None:
            bottom = prefix + segment.constant + second_text(bind(low.value))
        if high.value is None:
            return _between(start, bottom, _top_text(start, given))
        return _between(start, bottom, prefix + segment.constant + second_text(bind(high.value)) + AFTER_SECOND)
    if low.value is not None:
        bottom = prefix + segment.text(bind(low.value))
        bottom += ("\0" if start.last else separator.after) if low.is_open else ""
    if high.value is None:
        return _between(start, bottom, _top_text(start, given))
    top = prefix + segment.text(bind(high.value))
    if high.is_open:
        short = not isinstance(segment.form, TextPart | VerbatimPart | LiteralPart)  # all but ranks are in ASCII
        return _between(start, bottom, preceding_text(top, short=short))
    return _between(start, bottom, top + after_open_part(start))


def _beginning(bounds: SortRange, bind: Any) -> Any:
    """What the values begin with."""
    value = bind(bounds.prefix)
    if not value:
        raise EmptyPrefix("every value begins with an empty text; read without starts_with")
    return value


def _top_text(start: SortPrefix, given: str) -> str | None:
    return None if start.open_top is None else given + start.open_top


def _between(start: SortPrefix, bottom: str, top: str | None) -> AttributeCondition | None:
    if top is None:
        return AttributeCondition(start.attribute, ">=", (bottom,)) if bottom else None
    if not bottom:
        return AttributeCondition(start.attribute, "<=", (top,))
    return AttributeCondition(start.attribute, "between", (bottom, top))


def _plain_sort_condition(attribute: KeyAttribute, bounds: SortRange, bind: Any) -> AttributeCondition:
    if bounds.prefix is not None:
        return AttributeCondition(attribute, "begins_with", (_beginning(bounds, bind),))
    if any(isinstance(bind(each), datetime) for each in (bounds.low, bounds.high)):
        return _plain_time_condition(attribute, bounds, bind)
    if bounds.low is None:
        return AttributeCondition(attribute, "<" if bounds.high_open else "<=", (bind(bounds.high),))
    if bounds.high is None:
        return AttributeCondition(attribute, ">" if bounds.low_open else ">=", (bind(bounds.low),))
    low = Adjacent(bind(bounds.low), above=True) if bounds.low_open else bind(bounds.low)
    high = Adjacent(bind(bounds.high), above=False) if bounds.high_open else bind(bounds.high)
    return AttributeCondition(attribute, "between", (low, high))


def _plain_time_condition(attribute: KeyAttribute, bounds: SortRange, bind: Any) -> AttributeCondition:
    """Whole seconds, since other code may write times in another width; see `time_bounds`."""
    low = None if bounds.low is None else Text(second_text(bind(bounds.low)))
    high = None if bounds.high is None else Text(second_text(bind(bounds.high)) + AFTER_SECOND)
    if low is None:
        return AttributeCondition(attribute, "<=", (high,))
    if high is None:
        return AttributeCondition(attribute, ">=", (low,))
    return AttributeCondition(attribute, "between", (low, high))


class TimeBounds(NamedTuple):
    """The bounds of a range of times, which is read by whole seconds: where the time is in the key, and its ends."""

    attribute: KeyAttribute
    position: int  # of the segment in the text
    constant: str  # in front of the time in its segment
    bounds: SortRange


def time_bounds(found: KeyRange) -> TimeBounds | None:
    """The bounds that the items of a range have to be compared with, one by one."""
    start = found.sort_prefix
    if start is None or start.bounds is None or start.bounds.prefix is not None:
        return None
    if start.attribute.template is None:
        return TimeBounds(start.attribute, 0, "", start.bounds)
    segment = start.open_segment
    if segment is None or not isinstance(segment.form, TimePart):
        return None
    return TimeBounds(start.attribute, len(start.pieces), segment.constant, start.bounds)
