"""Key ranges: the key attributes that a read fixes, and the prefix of the sort key that it reads.

A range consists of segments, like a template. Values that are not known yet are parts, so the proof can compare the
range of a pattern with the keys of every other entity, and the same range gives the requests of each call.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from partita.design.condition_types import type_name
from partita.design.key_languages import ANY_TEXT, Language, at_least, at_most, literal, one_of, sequence, starting_with
from partita.design.key_parts import (
    KeyPart,
    LiteralPart,
    ShardPart,
    TextPart,
    TimePart,
    descends,
)
from partita.design.key_slots import Slot, SlotRole, key_slots, part_identity
from partita.design.key_templates import Segment, Template, joined_language
from partita.design.models import KeyAttribute, Model
from partita.design.reads import ALL_SHARDS, Argument, EntityKey, FanOut, Read, SortRange
from partita.design.separators import Separator
from partita.design.timestamps import AFTER_SECOND
from partita.design.untyped_values import nfc_text
from partita.errors import ProofError
from partita.plan.adjacent_values import text_behind
from partita.plan.stored_keys import KeyDomain, attribute_domain, text_domain

PLAIN = Segment("", "", None)  # a plain attribute is a part without text around it


class Piece(msgspec.Struct, frozen=True):
    """A segment of a key with its value (None for a constant, and for an optional part before which the key ends).

    `whole`: the value is the attribute's own, given for another part of the key; a query gives a shard by its number.
    """

    segment: Segment
    value: Any = None
    whole: bool = False

    @property
    def is_absent(self) -> bool:
        return self.segment.optional and self.value is None

    @property
    def may_be_absent(self) -> bool:
        """Whether an argument decides if the key ends before it."""
        return self.segment.optional and isinstance(self.value, Argument | FanOut)

    @property
    def language(self) -> Language:
        """The texts that it can be: one, where that does not depend on an argument."""
        if self.segment.form is None or isinstance(self.value, Argument | FanOut):
            return self.segment.language
        return literal(segment_text(self.segment, self.value, whole=self.whole))


def segment_text(segment: Segment, value: Any, *, whole: bool = False) -> str:
    """The segment's text; a query names a shard by its number, a get by the value (`whole`)."""
    if isinstance(segment.form, ShardPart) and not whole:
        segment.form.check_shard(value)
        if isinstance(value, int):
            return segment.constant + str(value)
    return segment.text(value)


class FixedKey(msgspec.Struct, frozen=True):
    """A key attribute with one value: pieces of a template, or the value of an attribute that is itself a key."""

    attribute: KeyAttribute
    pieces: tuple[Piece, ...] | None
    value: Any = None

    @property
    def separator(self) -> Separator:
        return self.attribute.separator

    def domain(self, model: Model) -> KeyDomain:
        """The values that the attribute can have in the range."""
        if self.pieces is not None:
            return text_domain(_pieces_language(self.pieces, self.separator))
        if isinstance(self.value, Argument | FanOut):
            return attribute_domain(model, self.attribute)
        constant = getattr(self.value, "value", self.value)
        if self.attribute.type == "S":
            assert self.attribute.field is not None
            stored = model.attributes[self.attribute.field].codec.encode(self.value)
            return text_domain(literal(stored["S"] if stored is not None else ""))
        return KeyDomain(self.attribute.type, values=frozenset({constant}))


class SortPrefix(msgspec.Struct, frozen=True):
    """The sort attribute from which the range is cut: after `pieces`, which are given, its texts are open.

    `constant_prefix` is the constant text in front of the first open part (`v` in `v{number}`). Without `bounds` the
    range is everything that begins so; or, where that contains other entities, what lies between `low` and `high`,
    the smallest and the largest text that can follow the pieces.
    """

    attribute: KeyAttribute
    pieces: tuple[Piece, ...]
    constant_prefix: str = ""
    open_segment: Segment | None = None
    last: bool = False  # nothing comes after the open part
    bounds: SortRange | None = None
    with_parent: bool = False  # the pieces are a whole key (of a parent), and the beginning of others (its children)
    parent: tuple[Piece, ...] = ()  # the parent's key, where its text is escaped differently from its children's
    family: FanOut | None = None  # then parent and children are two ranges
    low: str | None = None
    high: str | None = None

    @property
    def is_tight(self) -> bool:
        """Whether the range ends at texts of today's keys."""
        return self.low is not None or self.high is not None

    @property
    def separator(self) -> Separator:
        return self.attribute.separator

    @property
    def languages(self) -> tuple[Language, ...]:
        """The texts in the range, whatever the arguments are."""
        if self.attribute.template is None:
            return ()
        separator = self.separator
        given = _pieces_language(self.pieces, separator)
        if self.family is not None:
            parent, children = _pieces_language(self.parent, separator), sequence(given, literal(separator.character))
            if not self.is_tight:
                return (one_of(parent, starting_with(children)),)
            above, below = at_least(literal(self.low or "")), at_most(literal(self.high)) if self.high else ANY_TEXT
            return tuple(one_of(parent, sequence(children, each)) for each in (above, below))
        if self.with_parent:
            return (sequence(given, at_most(literal(self.family_top))),)
        prefix = sequence(given, literal(separator.character)) if self.pieces else literal("")
        if self.bounds is None:
            if self.low is None and self.high is None:
                return (starting_with(sequence(prefix, literal(self.constant_prefix))),)
            bounds = (at_least(literal(self.low or "")), at_most(literal(self.high)) if self.high else ANY_TEXT)
            return tuple(sequence(prefix, each) for each in bounds)
        segment = self.open_segment
        assert segment is not None
        if self.bounds.prefix is not None:
            return (starting_with(sequence(prefix, segment.language)),)
        low, high = range_ends(segment, self.bounds)  # an open end makes the range smaller
        bottom = literal(self.low or self.constant_prefix) if low.value is None else segment.language
        last = sequence(segment.language, literal(after_open_part(self)))
        if isinstance(segment.form, TimePart):
            second = sequence(literal(segment.constant), segment.form.seconds)
            bottom = bottom if low.value is None else second
            last = sequence(second, literal(AFTER_SECOND))
        if high.value is not None:
            return sequence(prefix, at_least(bottom)), sequence(prefix, at_most(last))
        top = self.open_top
        above = ANY_TEXT if top is None else at_most(literal(top))
        return sequence(prefix, at_least(bottom)), sequence(given, above)

    @property
    def is_plain_prefix(self) -> bool:
        """Whether the range is simply what begins with the pieces and the constant."""
        return self.bounds is None and self.low is None and self.high is None and not self.with_parent

    @property
    def family_top(self) -> str:
        """The end of a range of a parent and its children, behind the text of the parent."""
        return self.separator.after if self.high is None else self.separator.character + self.high

    @property
    def open_top(self) -> str | None:
        """The end of a range that has none, behind the text of the given pieces; None is no end."""
        between = self.separator.character if self.pieces else ""
        return text_behind(between + self.constant_prefix) if self.high is None else between + self.high


def _pieces_language(pieces: tuple[Piece, ...], separator: Separator) -> Language:
    present = [piece for piece in pieces if not piece.is_absent]
    languages = [piece.language for piece in present]
    return joined_language(languages, separator, bool(present) and present[-1].may_be_absent)


def after_open_part(start: SortPrefix) -> str:
    """What is added to a text of the open part to sort behind all keys that continue it; nothing continues the last."""
    return "" if start.last else start.separator.after


class End(NamedTuple):
    """One end of a range of texts."""

    value: Any
    is_open: bool


def range_ends(segment: Segment, bounds: SortRange) -> tuple[End, End]:
    """The lower and the upper end of the texts."""
    assert segment.form is not None
    low, high = End(bounds.low, bounds.low_open), End(bounds.high, bounds.high_open)
    return (high, low) if descends(segment.form) else (low, high)


class KeyRange(msgspec.Struct, frozen=True):
    fixed: tuple[FixedKey, ...]
    sort_prefix: SortPrefix | None
    open_parts: tuple[Slot, ...]  # the sort parts that order the result
    whole: bool = False  # one item by its whole key

    def domains(self, model: Model) -> dict[str, KeyDomain]:
        """The keys in the range, whatever the arguments are."""
        found = {each.attribute.name: each.domain(model) for each in self.fixed}
        if self.sort_prefix is not None and self.sort_prefix.languages:
            found[self.sort_prefix.attribute.name] = text_domain(*self.sort_prefix.languages)
        return found


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
    found = KeyRange(tuple(fixed), prefix, slots[len(read.given) :], read.single)
    _check_constants(read, found)
    _check_all_given_parts_used(read, found, slots)
    _check_same_types(read, found)
    return found


def _check_constants(read: Read, found: KeyRange) -> None:
    """A value that the pattern itself gives can be written."""
    pieces = [piece for each in found.fixed for piece in each.pieces or ()]
    pieces += found.sort_prefix.pieces if found.sort_prefix is not None else ()
    open_segment = found.sort_prefix.open_segment if found.sort_prefix is not None else None
    if open_segment is not None and read.bounds is not None:
        ends = (read.bounds.low, read.bounds.high)
        pieces += [Piece(open_segment, end) for end in ends if end is not None]
    for piece in pieces:
        if piece.is_absent:
            continue
        try:
            _ = piece.language
        except (ValueError, TypeError, ArithmeticError, AttributeError) as error:
            wrong = f"{piece.value!r} cannot be written as {piece.segment.field!r}: {error}"
            raise ProofError(read.name, wrong, "give it as an argument, or a value of its type") from None
    if read.bounds is not None:
        _check_constant_bounds(read, read.bounds, open_segment)


def _check_constant_bounds(read: Read, bounds: SortRange, segment: Segment | None) -> None:
    """Bounds that the pattern itself gives enclose something."""
    low, high = bounds.low, bounds.high
    if any(end is None or isinstance(end, Argument) for end in (low, high)):
        return
    if segment is None:
        bottom, top = (nfc_text(end) if isinstance(end, str) else end for end in (low, high))
    else:
        bottom, top = (segment.text(end.value) for end in range_ends(segment, bounds))
    if bottom > top:
        raise ProofError(
            read.name, f"its range begins at {low!r} and ends before it, at {high!r}", "exchange the bounds"
        )
    if bottom == top and (bounds.low_open or bounds.high_open):
        wrong = f"nothing is in a range from {low!r} to {high!r} without its ends"
        raise ProofError(read.name, wrong, "write since() and until(), which include them, or other bounds")


def _check_same_types(read: Read, found: KeyRange) -> None:
    """An attribute that is itself a key has one type in all entities, where a value or an order is about it."""
    attributes = [each.attribute for each in found.fixed]
    if found.sort_prefix is not None and (read.bounds is not None or read.order is not None):
        attributes.append(found.sort_prefix.attribute)
    first = read.sources[0].model
    for attribute in attributes:
        if attribute.template is not None or attribute.field is None:
            continue
        for source in read.sources[1:]:
            same = next(each for each in source.keys.attributes if each.name == attribute.name)
            if same.field is None:
                continue
            kind, other = first.attributes[attribute.field].kind, source.model.attributes[same.field].kind
            if kind != other:
                raise ProofError(
                    read.name,
                    f"{attribute.name!r} is {type_name(kind)} in {first.name} and {type_name(other)} in "
                    f"{source.model.name}, so their keys cannot be compared",
                    "read the entities by patterns of their own",
                )


def _check_all_given_parts_used(read: Read, found: KeyRange, slots: tuple[Slot, ...]) -> None:
    """Every value that is given is part of the key condition, or the answer would not depend on it."""
    prefix = found.sort_prefix
    used = {piece.segment.field for each in found.fixed for piece in each.pieces or ()}
    used |= {each.attribute.field for each in found.fixed if each.pieces is None}
    used |= {piece.segment.field for piece in prefix.pieces} if prefix is not None else set()
    for slot in slots[: len(read.given)]:
        if slot.field not in used:
            names = " and ".join(source.model.name for source in read.sources)
            raise ProofError(
                read.name,
                f"{slot.field!r} cannot be part of the key condition, since the keys of {names} differ before it",
                f"leave {slot.field!r} out, or read the entities by patterns of their own",
            )


def tightened(read: Read, found: KeyRange) -> KeyRange | None:
    """The same range between the smallest and the largest text of what is read; None where there are no such."""
    prefix = found.sort_prefix
    if prefix is None or prefix.attribute.template is None or found.whole:
        return None
    at = [each.name for each in read.sources[0].keys.sort].index(prefix.attribute.name)
    rests = [_rest(source.keys.sort[at], len(prefix.pieces)) for source in read.sources]
    if prefix.with_parent:
        rests = [each for each in rests if each.segments]  # those of the children
        if not rests:
            return None
    lows = [_lower_text(each) for each in rests]
    highs = [_upper_text(each) for each in rests]
    high = None if any(each is None for each in highs) else max(each for each in highs if each is not None)
    return msgspec.structs.replace(found, sort_prefix=msgspec.structs.replace(prefix, low=min(lows), high=high))


def _rest(attribute: KeyAttribute, given: int) -> Template:
    assert attribute.template is not None
    return msgspec.structs.replace(attribute.template, segments=attribute.template.segments[given:])


def _lower_text(rest: Template) -> str:
    least = rest.language.least
    return rest.constant_prefix if least is None else least


def _upper_text(rest: Template) -> str | None:
    greatest = rest.language.greatest
    if greatest is not None:
        return greatest
    return text_behind(rest.constant_prefix)


def _name(slot: Slot, whole: bool) -> Any:
    return _part_name(slot.field, slot.form, whole)


def _part_name(field: str, form: KeyPart | None, whole: bool) -> Any:
    return field if whole else part_identity(field, form)


def _value(segment: Segment, given: dict[Any, Any], whole: bool) -> Any:
    assert segment.field is not None
    name = _part_name(segment.field, segment.form, whole)
    value = given[name] if name in given else given[segment.field]
    if value is ALL_SHARDS and isinstance(segment.form, ShardPart):
        return FanOut(range(segment.form.count), segment.form.count)
    return value


def _is_given(segment: Segment, given: dict[Any, Any], whole: bool) -> bool:
    assert segment.field is not None
    return _part_name(segment.field, segment.form, whole) in given or segment.field in given


def _fixed(attribute: KeyAttribute, given: dict[Any, Any], whole: bool) -> FixedKey:
    if attribute.template is None:
        return FixedKey(attribute, None, given[attribute.field])
    pieces = [_piece(segment, segment, given, whole) for segment in attribute.template.segments]
    return FixedKey(attribute, tuple(pieces))


def _piece(written: Segment, named: Segment, given: dict[Any, Any], whole: bool) -> Piece:
    """A segment as `written`, with the value that is given for the part as it is `named`."""
    if named.field is None:
        return Piece(written)
    own = _part_name(named.field, named.form, whole) in given
    return Piece(written, _value(named, given, whole), whole=whole or not own)


def _fixed_if_given(attribute: KeyAttribute, given: dict[Any, Any], whole: bool) -> FixedKey | None:
    if attribute.template is None:
        return _fixed(attribute, given, whole) if attribute.field in given else None
    complete = all(_is_given(segment, given, whole) for segment in attribute.template.parts)
    return _fixed(attribute, given, whole) if complete else None


def _sort_prefix(read: Read, attribute: KeyAttribute, at: int, given: dict[Any, Any]) -> SortPrefix | None:
    if attribute.template is None:
        return SortPrefix(attribute, (), last=True, bounds=read.bounds) if read.bounds else None
    templates = [source.keys.sort[at].template for source in read.sources]
    segments = [each.segments for each in templates if each is not None]
    if read.bounds is None:  # a key that ends before its optional part is the parent of those that have it
        segments += [each[:-1] for each in segments if each[-1].optional]
    pieces = tuple(_given_pieces(read, segments, given))
    lead = len(pieces)
    parents = [each for each in segments if len(each) == lead]
    if lead and parents:
        return _with_parent(read, attribute, at, pieces, parents)
    opening = [each[lead] for each in segments]
    if all(_alike(opening[0], each) for each in opening[1:]) and opening[0].form is not None:
        last = all(lead == len(each) - 1 for each in segments)
        return SortPrefix(attribute, pieces, opening[0].constant, opening[0], last, read.bounds)
    if read.bounds is not None:
        raise ProofError(
            read.name,
            "its entities share no sort part to which the bounds could apply",
            "read one entity, or leave the bounds out",
        )
    return SortPrefix(attribute, pieces)


def _given_pieces(read: Read, segments: list[tuple[Segment, ...]], given: dict[Any, Any]) -> Iterator[Piece]:
    """The leading segments that all of the keys have in common and whose values are known, as the longest has them."""
    longest = max(segments, key=len)
    for at, alike in enumerate(zip(*segments, strict=False)):
        first = alike[0]  # values are given by the names of the first entity's parts
        if not all(_alike(first, each) for each in alike[1:]):
            return
        if first.field is None or _is_given(first, given, read.single):
            written = msgspec.structs.replace(longest[at], field=first.field)
            yield _piece(written, first, given, read.single)
        else:
            return


def _with_parent(
    read: Read, attribute: KeyAttribute, at: int, pieces: tuple[Piece, ...], parents: list[tuple[Segment, ...]]
) -> SortPrefix:
    """A parent and its children: one range where no other parent's key can lie between them, otherwise two.

    Where the partition holds the parent's last part too, there is no other parent, and the part can be left out.
    Several entities may be the parent, if they write their last part in the same way.
    """
    parent = parents[0]
    if read.bounds is not None:
        raise ProofError(read.name, "a range of a parent and its children has no bounds", "read the children alone")
    last = pieces[-1].segment
    alike = all(each[-1].form == parent[-1].form for each in parents)
    if (
        alike
        and last.form == parent[-1].form
        and last.language.continues_at_or_below(attribute.separator.character) is None
    ):
        return SortPrefix(attribute, pieces, with_parent=True)
    if all(_is_in_partition(source, at, len(pieces) - 1) for source in read.sources):
        return SortPrefix(attribute, pieces[:-1], last.constant)
    if not alike:
        names = " and ".join(source.model.name for source in read.sources)
        wrong = (
            f"the keys of {names} that end with {last.field!r} write it in different ways, so they are not one range"
        )
        raise ProofError(
            read.name, wrong, f"write {{{last.field}:escaped}} in all of them, or read them by patterns of their own"
        )
    own = tuple(Piece(segment, piece.value, piece.whole) for segment, piece in zip(parent, pieces, strict=True))
    return SortPrefix(attribute, pieces, with_parent=True, parent=own, family=FanOut((True, False), 2))


def _is_in_partition(source: EntityKey, at: int, position: int) -> bool:
    """Whether the partition key of an entity holds the whole value of one of its sort parts."""
    template = source.keys.sort[at].template
    field = template.segments[position].field if template is not None else None
    return field is None or any(field in each.whole_fields for each in source.keys.partition)


def _alike(one: Segment, other: Segment) -> bool:
    """Whether two segments hold the same values; the last text of a key may be escaped less than others."""
    if isinstance(one.form, TextPart) and isinstance(other.form, TextPart):
        return one.constant == other.constant and one.form.fold == other.form.fold
    if isinstance(one.form, LiteralPart) and isinstance(other.form, LiteralPart):
        return one.constant == other.constant and one.form.values == other.form.values
    return one.constant == other.constant and one.form == other.form


def fan_outs(found: KeyRange) -> tuple[FanOut, ...]:
    """The fan-outs of the read, in the order of the key: lists of values, and all shards."""
    given = [piece.value for each in found.fixed for piece in each.pieces or (Piece(PLAIN, each.value),)]
    if found.sort_prefix is not None:
        given += [*(piece.value for piece in found.sort_prefix.pieces), found.sort_prefix.family]
    return tuple(value for value in given if isinstance(value, FanOut))
