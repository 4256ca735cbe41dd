"""Key templates: `ORDER#{placed_at}#{order_id}` is a list of segments between `#`, each with at most one typed part.

The text of a value contains no bare `#` (see `key_parts`), so a key splits into its segments in one way only. That is
why two templates can be compared without knowing any value, and why a key can be parsed.

The last part may be optional: where `member` is None, a key of `TEAM#{team}#{member?}` ends before it (`TEAM#red`). It
then has one segment less than every other key of the template, so it is equal to none of them.
"""

import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any, get_args, get_origin
from uuid import UUID

import msgspec

from partita.design.argument_checks import COUNT, NUMBER, check_arguments
from partita.design.key_languages import ANY_TEXT, Language, literal, meet, optional, sequence
from partita.design.key_parts import (
    PERIODS,
    BoolPart,
    DayPart,
    DescendingPart,
    EnumPart,
    KeyPart,
    LiteralPart,
    NumberPart,
    RankedEnumPart,
    ShardPart,
    TextPart,
    TimePart,
    UuidPart,
    VerbatimPart,
    can_be_verbatim,
    has_shards,
    is_listed_enum,
)
from partita.design.open_enum import OpenEnum
from partita.design.separators import HASH, Separator
from partita.design.timestamps import OTHER_FORMS, time_of
from partita.design.untyped_values import nfc_text
from partita.dynamodb import limits
from partita.errors import DesignError
from partita.validation import invalid_value

_SEGMENT = re.compile(r"(?P<constant>[^{}]*)(?:\{(?P<field>\w+)(?P<optional>\??)(?::(?P<spec>[^{}]+))?\})?")
_DIGITS = re.compile(r"(?P<sign>\+?)0?(?P<digits>\d{1,9})(?:\.(?P<places>\d{1,9}))?d?")
_SHARD = re.compile(r"shard\((\d{1,9})\)")


class Ordered(msgspec.Struct, frozen=True):
    """The bounds of a number that is part of a key: `Annotated[int, Ordered(-999, 999)]`."""

    low: int | Decimal
    high: int | Decimal
    places: int = 0

    def __post_init__(self) -> None:
        check_arguments("Ordered", low=(self.low, NUMBER), high=(self.high, NUMBER), places=(self.places, COUNT))
        if not self.low <= self.high:
            short_repr = f"Ordered({self.low}, {self.high})"
            raise DesignError(short_repr, "no number is in these bounds", "write the smaller one first")


class PartType(msgspec.Struct, frozen=True):
    """The type of an attribute in a template, and what its key has to know of its values."""

    type: Any
    bounds: Ordered | None = None
    optional: bool = False
    composed: bool = False  # text is stored in NFC, as keys have it


class Segment(msgspec.Struct, frozen=True):
    """The text between two `#`: constant text, then perhaps one part; absent where an `optional` part is None."""

    constant: str
    field: str | None = None
    form: KeyPart | None = None
    optional: bool = False

    def text(self, value: Any) -> str:
        return self.constant if self.form is None else self.constant + self.form.write(value)

    @property
    def language(self) -> Language:
        constant = literal(self.constant)
        return constant if self.form is None else sequence(constant, self.form.language)


class Template(msgspec.Struct, frozen=True, dict=True):
    """A parsed template; `source` is its text in the declaration."""

    source: str
    segments: tuple[Segment, ...]
    separator: Separator = HASH

    @property
    def parts(self) -> Iterator[Segment]:
        return (segment for segment in self.segments if segment.form is not None)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(segment.field for segment in self.segments if segment.field))

    @cached_property
    def required_fields(self) -> tuple[str, ...]:
        """The attributes without which there is no key."""
        return tuple(dict.fromkeys(each.field for each in self.segments if each.field and not each.optional))

    @property
    def optional_field(self) -> str | None:
        """The attribute of the last part, where the key may end before it."""
        return self.segments[-1].field if self.segments[-1].optional else None

    def format(self, where: str, values: Mapping[str, Any]) -> str | None:
        """The key, or None where a required part is absent: the item is then not in the index."""
        texts = []
        for segment in self.segments:
            value = values[segment.field] if segment.field else None
            if segment.field and value is None:
                if segment.optional:
                    break
                return None
            try:
                texts.append(segment.text(value))
            except (ValueError, ArithmeticError, TypeError) as error:
                raise invalid_value(error, where, segment.field or segment.constant) from None
        return self.separator.character.join(texts)

    @property
    def has_times(self) -> bool:
        """Whether other code may have written the key with a time in another format."""
        return any(isinstance(each.form, TimePart) for each in self.segments)

    @property
    def has_other_times(self) -> bool:
        """Whether `with_other_times` finds other keys."""
        return any(_is_time(each.form) for each in self.segments)

    def with_other_times(self, values: Mapping[str, Any]) -> Iterator[str]:
        """The key as other code may have written it, with times in other formats.

        A time that a format would shorten keeps its microseconds.
        """
        present = [each for each in self.segments if each.field is None or values[each.field] is not None]
        times = {each.field for each in present if _is_time(each.form)}
        for form in OTHER_FORMS if times else ():
            texts = {name: form(values[name]) for name in times if name is not None}
            texts = {name: text for name, text in texts.items() if time_of(text) == values[name]}
            if texts:
                pieces = (
                    each.constant + texts[each.field]
                    if each.field in texts
                    else each.text(each.field and values[each.field])
                    for each in present
                )
                yield self.separator.character.join(pieces)

    @cached_property
    def language(self) -> Language:
        """Every text that the key can be."""
        languages = [segment.language for segment in self.segments]
        return joined_language(languages, self.separator, self.segments[-1].optional)

    @cached_property
    def constant_prefix(self) -> str:
        """The text that every key begins with."""
        texts: list[str] = []
        for segment in self.segments:
            if segment.optional and texts:
                break
            texts.append(segment.constant)
            if segment.form is not None:
                return self.separator.character.join(texts)
        return self.separator.character.join(texts)

    @cached_property
    def _most_splits(self) -> int:
        """A verbatim part, which is the last one, may contain the separator; -1 is without a limit."""
        return len(self.segments) - 1 if isinstance(self.segments[-1].form, VerbatimPart) else -1

    def parse(self, text: str, *, foreign: bool = False) -> dict[str, Any] | None:
        """The parts that the key holds in full, or None where it is not of this form; `foreign`: as others write it."""
        if not text.startswith(self.constant_prefix):
            return None
        pieces = text.split(self.separator.character, self._most_splits)
        found: dict[str, Any] = {}
        if self.optional_field is not None and len(pieces) == len(self.segments) - 1:
            found[self.optional_field] = None
        elif len(pieces) != len(self.segments):
            return None
        for (constant, field, form, lossless), piece in zip(self._pieces, pieces, strict=False):
            if form is None:
                if piece != constant:
                    return None
                continue
            part = piece[len(constant) :]
            if not piece.startswith(constant) or not (form.matches(part) or (foreign and form.could_be_foreign(part))):
                return None
            if lossless:
                value = form.read(part)
                if found.setdefault(field, value) != value:
                    return None
        return found

    @cached_property
    def _pieces(self) -> tuple[tuple[str, str, KeyPart | None, bool], ...]:
        """The segments as `parse` uses them: constant, attribute, form, and whether it is lossless."""
        return tuple(
            (each.constant, each.field or "", each.form, each.form is not None and each.form.lossless)
            for each in self.segments
        )

    def with_padded_numbers(self, text: str) -> str:
        """A key of other code with its numbers as this template writes them: `SORT#9` as `SORT#0009`."""
        pieces = text.split(self.separator.character)
        for at, (segment, piece) in enumerate(zip(self.segments, pieces, strict=False)):
            if isinstance(segment.form, NumberPart):
                with suppress(ValueError, ArithmeticError):
                    pieces[at] = segment.text(Decimal(piece.removeprefix(segment.constant)))
        return self.separator.character.join(pieces)


def plain_pattern(templates: Sequence[Template]) -> re.Pattern[str] | None:
    """Matches the texts of a key, joined by a zero, whose parts are texts without escapes, as most are.

    None where a part is not a text, or a constant has a zero. A part that occurs twice is the same each time.
    """
    if any("\0" in each.source for each in templates):
        return None
    pieces, known = [], set()
    for each in templates:
        segments = []
        for segment in each.segments:
            text = re.escape(segment.constant)
            if segment.form is not None:
                if type(segment.form) is not TextPart or segment.form.fold or each.separator != templates[0].separator:
                    return None
                is_known = segment.field in known
                text += f"(?P={segment.field})" if is_known else f"(?P<{segment.field}>{each.separator.plain_class}+)"
                known.add(segment.field)
            segments.append(text)
        pieces.append(re.escape(each.separator.character).join(segments))
    return re.compile("\0".join(pieces))


def _is_time(form: KeyPart | None) -> bool:
    return isinstance(form, TimePart) or (isinstance(form, VerbatimPart) and form.kind is datetime)


def joined_language(segments: Sequence[Language], separator: Separator, last_is_optional: bool = False) -> Language:
    """Texts of the segments with separators between them; the last one may be missing, but not the only one."""
    if not segments:
        return literal("")
    first, *others = segments
    joined = [sequence(literal(separator.character), each) for each in others]
    if last_is_optional and joined:
        joined[-1] = optional(joined[-1])
    return sequence(first, *joined)


def template(
    where: str,
    source: str,
    types: Mapping[str, PartType],
    *,
    sorts: bool,
    ends_key: bool = False,
    separator: Separator = HASH,
) -> Template:
    """Parse a template; `sorts` for sort keys, where the order of the texts matters, `ends_key` for the last one."""
    if not source:
        raise DesignError(where, "the template is empty, and DynamoDB rejects an empty key", "write a constant")
    pieces = re.split(rf"{re.escape(separator.character)}(?![^{{}}]*}})", source)  # not inside {n:+4}
    segments = []
    for at, piece in enumerate(pieces):
        found = _SEGMENT.fullmatch(piece)
        if found is None:
            raise DesignError(
                where,
                f"{piece!r} in {source!r} is not a constant, a part, or a constant and a part",
                f"separate parts by {separator.character!r}: {{one}}{separator.character}{{two}}",
            )
        if separator.escape in found["constant"]:
            wrong = f"{piece!r} contains {separator.escape!r}, the escape character of values in keys"
            raise DesignError(where, wrong, "use another character")
        field = found["field"]
        if field is None:
            segments.append(Segment(found["constant"]))
            continue
        if field not in types:
            raise DesignError(
                where, f"{source!r} names the unknown attribute {field!r}", f"the attributes are {', '.join(types)}"
            )
        last = at == len(pieces) - 1
        form = form_of(where, field, found["spec"], types[field], sorts=sorts, last=last, separator=separator)
        _check_separable(where, field, form, separator, last=last)
        if found["optional"]:
            example = f"ITEM{separator.character}{piece}" if len(pieces) == 1 else ""
            _check_optional(where, piece, field, types[field], ends_key=ends_key and last, example=example)
        segments.append(Segment(found["constant"], field, form, bool(found["optional"])))
    return Template(source, tuple(segments), separator)


def _check_separable(where: str, field: str, form: KeyPart, separator: Separator, *, last: bool) -> None:
    """The texts of a part contain no separator, or a key could not be split into its segments."""
    if separator is HASH or (isinstance(form, VerbatimPart) and last):
        return
    witness = meet(form.language, sequence(ANY_TEXT, literal(separator.character), ANY_TEXT))
    if witness is not None:
        wrong = f"{field!r} is written with {separator.character!r}, the separator: {witness!r}"
        raise DesignError(where, wrong, f"use another separator, such as {HASH.character!r}")


def _check_optional(where: str, piece: str, field: str, of: PartType, *, ends_key: bool, example: str) -> None:
    """A key can end before its last part only, and something is left of it; the attribute can be None."""
    without = piece.replace("?", "", 1)
    if not ends_key:
        raise DesignError(
            where, f"{piece!r} is optional, but a key can only end before its last part", f"write {without}"
        )
    if example:
        wrong = f"without {field!r} the key would be empty, which DynamoDB rejects"
        raise DesignError(where, wrong, f"write a constant in front of it: {example}")
    if not of.optional:
        wrong = f"{piece!r} is optional, but {field!r} is never None"
        raise DesignError(where, wrong, f"write {without}, or {field}: {_name(of.type)} | None")


def form_of(
    where: str,
    field: str,
    spec: str | None,
    of: PartType,
    *,
    sorts: bool,
    last: bool,
    separator: Separator = HASH,
) -> KeyPart:
    """The form that `{field:spec}` asks for, given the attribute's type and where it stands in the key."""
    if spec is not None and spec.endswith("?"):
        optional = f"{{{field}?:{spec.removesuffix('?')}}}"
        raise DesignError(where, f"in {{{field}:{spec}}} the ? is behind the form", f"write {optional}")
    words = [word.strip() for word in spec.split(",")] if spec else []
    descending, escaped = "desc" in words, "escaped" in words
    words = [word for word in words if word not in ("desc", "escaped")]
    if len(words) > 1:
        raise DesignError(where, f"{{{field}:{spec}}} names several forms", "keep one of them, perhaps with ',desc'")
    if escaped and not separator.keeps_order:
        wrong = f"{{{field}:{spec}}} cannot keep the order of text in front of {separator.character!r}"
        raise DesignError(where, wrong, "leave ':escaped' out, or use a separator below the digits, such as '#'")
    full = separator.keeps_order and (escaped or (sorts and not last))
    form = _named_form(words[0], of, full, last, separator) if words else _own_form(where, field, of, full, separator)
    if form is None or (escaped and not isinstance(form, TextPart)):
        raise DesignError(where, f"{{{field}:{spec}}} is not a form of {_name(of.type)}", _suggestion(field, of.type))
    _check_writable(where, field, form)
    return _descending(where, field, form) if descending else form


def _check_writable(where: str, field: str, form: KeyPart) -> None:
    """A part of a few values can be written for each of them, and a number has no more digits than a key has bytes."""
    if isinstance(form, NumberPart) and form.digits + form.places > limits.PARTITION_KEY_BYTES:
        wrong = f"{field!r} has {form.digits + form.places:,} digits in the key, and DynamoDB takes"
        raise DesignError(where, f"{wrong} {limits.PARTITION_KEY_BYTES:,} bytes", "write fewer digits, such as {n:10}")
    if not isinstance(form, EnumPart | LiteralPart | RankedEnumPart):
        return
    try:
        _ = form.language
    except (ValueError, TypeError) as error:
        raise DesignError(where, f"{field!r} cannot be part of a key: {error}", "use another type") from None


def _descending(where: str, field: str, form: KeyPart) -> KeyPart:
    if isinstance(form, RankedEnumPart):
        return msgspec.structs.replace(form, reverse=True)
    if not form.reversible:
        raise DesignError(
            where,
            f"{field!r} has no fixed width, so it cannot be descending",
            "use newest_first() in the query, or rank an enum with :ranked",
        )
    return DescendingPart(form)


def _own_form(where: str, field: str, of: PartType, full: bool, separator: Separator) -> KeyPart:
    """The form of a part without a spec."""
    kind = of.type
    simple: dict[Any, KeyPart] = {bool: BoolPart(), datetime: TimePart(), date: DayPart(exact=True), UUID: UuidPart()}
    if kind in simple:
        return simple[kind]
    if _is_text_enum(kind):
        _check_composed(where, [member.value for member in kind])
        return EnumPart(kind, issubclass(kind, OpenEnum), separator)
    if kind in (int, Decimal):
        if of.bounds is None:
            raise DesignError(where, f"{field!r} is a number in a text key", _suggestion(field, kind))
        return _bounded(of.bounds, kind)
    if _is_text_literal(kind):
        _check_composed(where, get_args(kind))
        return LiteralPart(get_args(kind), full, separator)
    if kind is str:
        return TextPart(full, separator=separator)
    raise DesignError(
        where,
        f"{field!r} is {_name(kind)}, which cannot be part of a text key",
        _suggestion(field, kind),
    )


def _check_composed(where: str, values: Iterable[str]) -> None:
    """A DesignError where a key could not give a value back, since keys are in Unicode's composed form."""
    for value in values:
        if value != nfc_text(value):
            raise DesignError(where, f"{value!r} is not in the composed form (NFC) of keys", "write it in that form")


def _is_text_enum(kind: Any) -> bool:
    if not isinstance(kind, type) or not issubclass(kind, enum.Enum):
        return False
    return issubclass(kind, OpenEnum) or all(isinstance(member.value, str) and member.value for member in kind)


def _named_form(word: str, of: PartType, full: bool, last: bool, separator: Separator) -> KeyPart | None:
    kind = of.type
    if kind in (int, Decimal) and (number := _DIGITS.fullmatch(word)):
        places = int(number["places"] or 0)
        if (kind is int and places) or int(number["digits"]) + places == 0:
            return None
        low, high = (None, None) if of.bounds is None else (of.bounds.low, of.bounds.high)
        return NumberPart(int(number["digits"]), places, bool(number["sign"]), kind, low, high)
    if word == "ranked" and is_listed_enum(kind):
        return RankedEnumPart(kind, separator=separator)
    if word == "day" and kind in (datetime, date):
        return DayPart(exact=kind is date)
    if (period := PERIODS.get(word)) is not None:
        return period if kind is datetime or (kind is date and period.is_of_day) else None
    if word == "fold" and kind is str:
        return TextPart(full, fold=True, separator=separator)
    if word == "plain" and can_be_verbatim(kind):
        has_no_separator = kind is int and separator.character != "-"
        return VerbatimPart(kind, last or has_no_separator, separator, of.composed)
    if (shards := _SHARD.fullmatch(word)) and int(shards[1]) and has_shards(kind):
        return ShardPart(int(shards[1]), kind)
    return None


def _bounded(bounds: Ordered, kind: Any) -> NumberPart:
    largest = max(abs(Decimal(bounds.low)), abs(Decimal(bounds.high)))
    return NumberPart(max(1, largest.adjusted() + 1), bounds.places, bounds.low < 0, kind, bounds.low, bounds.high)


def _suggestion(field: str, kind: Any) -> str:
    if kind is int:
        bounded = f"{{{field}:+10}} for ten digits with a sign, or Annotated[int, Ordered(-999, 999)]"
        return f"write {bounded}, or {{{field}:plain}} where the order does not matter"
    if kind is Decimal:
        return f"write {{{field}:+8.2}} for eight digits with a sign and two places"
    whole = PartType(kind)
    named = ("ranked", "year", "month", "day", "hour", "minute", "fold")
    forms = [form for form in named if _named_form(form, whole, False, True, HASH)]
    written = [f"{{{field}}}"] if _has_own_form(kind) else []
    written += [f"{{{field}:{form}}}" for form in forms]
    if not written:
        return "use text, an int, a Decimal, a time, a date, an enum or a bool"
    return f"write {' or '.join([*written, f'{{{field}:shard(8)}}'])}"


def _has_own_form(kind: Any) -> bool:
    """Whether a type has a form without a spec, and without bounds."""
    return kind in (bool, datetime, date, UUID, str) or _is_text_enum(kind) or _is_text_literal(kind)


def _is_text_literal(kind: Any) -> bool:
    return (
        bool(get_args(kind))
        and all(isinstance(value, str) for value in get_args(kind))
        and get_origin(kind) is not list
    )


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
