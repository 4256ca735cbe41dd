"""The parts of a key and their text forms: each is injective, and ordered forms sort as their values do.

A key is text such as `ORDER#2025-01-01T00:00:00.000000Z#o_7`: segments between `#`. A part fills one segment.

    text         NFC; `#` and `$` are escaped as `$S` and `$T`. Where a sort key continues after the part, so is every
                 character below them (a space is `$P`), so that a shorter value sorts before its continuations.
                 `separators` has the escapes of other separators.
    number       `{n:4}` is `0012`; signed `{n:+4}` is `p0012` or `n9987` (-12): negatives count down from nines.
    plain        a value as Python writes it: `{n:plain}` is `12`, in no order.
    time         fixed-width UTC; `{at:year}`, `month`, `day`, `hour` and `minute` are its first
                 characters.
    enum         its value as text, or `{priority:ranked}`: `0-high`, in the order of the members' declaration.
    desc         a fixed-width form with every digit replaced by its complement.
    shard(8)     a stable hash of the value, 0 to 7.
    fold         text compared without case.
"""

import enum
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Context, Decimal
from functools import cache, cached_property
from math import ceil, floor
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

import msgspec

from partita.design.key_languages import (
    SOME_TEXT,
    Edge,
    Language,
    Span,
    characters,
    digits_between,
    exactly,
    literal,
    one_of,
    optional,
    repeated,
    sequence,
    texts,
)
from partita.design.open_enum import OpenEnum
from partita.design.separators import HASH, Separator
from partita.design.timestamps import day_of, time_of, time_text
from partita.design.untyped_values import normalized_decimal, unicode_text

EXACT = Context(prec=80)  # more than DynamoDB's 38 digits, so nothing is rounded
_COMPLEMENT = str.maketrans("0123456789np", "9876543210pn")

FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
"""The Unicode forms in which other code may have written a text: composed and decomposed."""

_DIGIT = characters("09")
_YEAR = exactly(4, _DIGIT)
_MONTH = sequence(_YEAR, literal("-"), exactly(2, _DIGIT))
_DAY = sequence(_MONTH, literal("-"), exactly(2, _DIGIT))
_HOUR = sequence(_DAY, literal("T"), exactly(2, _DIGIT))
_MINUTE = sequence(_HOUR, literal(":"), exactly(2, _DIGIT))
_SECOND = sequence(_MINUTE, literal(":"), exactly(2, _DIGIT))
_TIME = sequence(_SECOND, literal("."), exactly(6, _DIGIT), literal("Z"))
_WHOLE_NUMBER = sequence(optional(literal("-")), repeated(_DIGIT))
_HEX = characters("09", "af")
_UUID = sequence(
    exactly(8, _HEX), *(sequence(literal("-"), exactly(4, _HEX)) for _ in range(3)), literal("-"), exactly(12, _HEX)
)


class KeyPart:
    """The form of one part in a key; `write` raises a ValueError for a value that does not fit."""

    ordered = False  # the text sorts as the value does
    lossless = True  # reading gives the value back
    reversible = False  # made of digits, so that their complements sort the other way round
    query_type: Any = None  # what a query gives for this part, where that is not the attribute's own type

    @property
    def language(self) -> Language:
        """Every text that the part can be, or more."""
        raise NotImplementedError

    def write(self, value: Any) -> str:
        raise NotImplementedError

    def read(self, text: str) -> Any:
        raise NotImplementedError

    def matches(self, text: str) -> bool:
        """Whether this is the text of some value."""
        try:
            return self.write(self.read(text)) == text
        except (ValueError, ArithmeticError, LookupError):
            return False

    def could_be_foreign(self, text: str) -> bool:
        """Whether other code may have written some value as this text, which we would write otherwise."""
        return False


class TextPart(KeyPart, msgspec.Struct, frozen=True):
    """Text; `full` escapes every character up to `$`, for a sort key that continues after the part."""

    full: bool = False
    fold: bool = False
    separator: Separator = HASH
    ordered = True

    @property
    def lossless(self) -> bool:  # type: ignore[override]
        return not self.fold

    @property
    def language(self) -> Language:
        return self.separator.full_language if self.full else self.separator.light_language

    def write(self, value: Any) -> str:
        if (
            type(value) is str
            and not self.fold
            and ((value.isalnum() and value.isascii()) or self.separator.is_plain(value))
        ):
            return value
        text = unicodedata.normalize("NFC", unicode_text(value))
        if not text:
            raise ValueError("empty text cannot be part of a key")
        if self.fold:
            text = unicodedata.normalize("NFC", text.casefold())
        return text.translate(self.separator.full_escapes if self.full else self.separator.light_escapes)

    def read(self, text: str) -> str:
        return self.separator.unescaped(text)

    def matches(self, text: str) -> bool:
        return (not self.fold and bool(self.separator.is_plain(text))) or super().matches(text)

    def could_be_foreign(self, text: str) -> bool:
        """Other code escapes nothing and normalises nothing."""
        return bool(text) and self.separator.character not in text


class UuidPart(KeyPart, msgspec.Struct, frozen=True):
    """A UUID in its canonical text."""

    ordered = True

    @property
    def language(self) -> Language:
        return _UUID

    def write(self, value: Any) -> str:
        return str(value if isinstance(value, UUID) else UUID(value))

    def read(self, text: str) -> UUID:
        return UUID(text)


class LiteralPart(KeyPart, msgspec.Struct, frozen=True, dict=True):
    """One of some texts, as `Literal["open", "closed"]` lists them."""

    values: tuple[str, ...]
    full: bool = False
    separator: Separator = HASH
    ordered = True

    @cached_property
    def language(self) -> Language:
        return texts(self.write(value) for value in self.values)

    def write(self, value: Any) -> str:
        if value not in self.values:
            raise ValueError(f"{value!r} is not one of {', '.join(self.values)}")
        return TextPart(self.full, separator=self.separator).write(value)

    def read(self, text: str) -> str:
        return self.separator.unescaped(text)


class VerbatimPart(KeyPart, msgspec.Struct, frozen=True):
    """Text exactly as other code wrote it. Only the `last` part of a key may contain the separator.

    A number is written as it will be read back, and so is a `composed` text, whose attribute is stored in NFC.
    """

    kind: Any = str
    last: bool = True
    separator: Separator = HASH
    composed: bool = False

    @property
    def has_text(self) -> bool:
        """Whether it holds a text in one of several Unicode forms: not a number, a time or a flag."""
        if self.composed:
            return False
        if self.kind is str or (isinstance(self.kind, type) and issubclass(self.kind, OpenEnum)):
            return True
        return any(isinstance(getattr(each, "value", each), str) for each in _listed_values(self.kind))

    @property
    def language(self) -> Language:
        listed = _listed_values(self.kind)
        if listed and not (isinstance(self.kind, type) and issubclass(self.kind, OpenEnum)):
            return texts(unicodedata.normalize(form, _verbatim_text(each)) for each in listed for form in FORMS)
        if self.kind is int:
            return _WHOLE_NUMBER if self.last else repeated(_DIGIT)
        return SOME_TEXT if self.last else self.separator.verbatim_language

    def write(self, value: Any) -> str:
        text = _verbatim_text(settled_number(value, self.kind))
        if self.composed:
            text = unicodedata.normalize("NFC", text)
        if not text:
            raise ValueError("empty text cannot be part of a key")
        if not self.last and self.separator.character in text:
            raise ValueError(f"{text!r} contains {self.separator.character!r}, and the key goes on after it")
        return text

    def read(self, text: str) -> Any:
        reader = _VERBATIM_READERS.get(self.kind)
        return _listed_value(self.kind, text) if reader is None else reader(text)

    def could_be_foreign(self, text: str) -> bool:
        try:
            self.read(text)
        except (ValueError, ArithmeticError):
            return False
        if self.kind is int:
            return text.isascii() and text.removeprefix("-").isdigit()
        return bool(text) and (self.last or self.separator.character not in text)


def settled_number(value: Any, kind: Any) -> Any:
    """A number of a type as it will be read back, which equal numbers have in common; other values unchanged.

    >>> settled_number(1, float), settled_number(Decimal("1.50"), Decimal), settled_number("a", str)
    (1.0, Decimal('1.5'), 'a')
    """
    if kind is Decimal and isinstance(value, int | Decimal):
        return normalized_decimal(Decimal(value))
    if kind is float and isinstance(value, int | float):
        return float(value) + 0.0  # without the sign of zero
    return value


def _verbatim_text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return str(value.value)
    return time_text(value) if isinstance(value, datetime) else str(value)


def _listed_value(kind: Any, text: str) -> Any:
    """The member of an enum or the value of a `Literal` that is written so."""
    if isinstance(kind, type) and issubclass(kind, OpenEnum):
        return kind(text)
    listed = _listed_values(kind)
    composed = unicodedata.normalize("NFC", text)
    found = [each for each in listed if unicodedata.normalize("NFC", _verbatim_text(each)) == composed]
    if not found:
        raise ValueError(f"{text!r} is not one of {', '.join(map(_verbatim_text, listed))}")
    return found[0]


def _listed_values(kind: Any) -> tuple[Any, ...]:
    """The members of an enum or the values of a `Literal`; of other types none."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, enum.Enum) else ()


def _flag(text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError(f"{text!r} is neither True nor False")
    return text == "True"


_VERBATIM_READERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    Decimal: lambda text: normalized_decimal(Decimal(text)),
    bool: _flag,
    datetime: time_of,
    date: date.fromisoformat,
    UUID: UUID,
}


def is_listed_enum(kind: Any) -> bool:
    """Whether a type is an enum whose members are all of its values: flags can be combined."""
    return isinstance(kind, type) and issubclass(kind, enum.Enum) and not issubclass(kind, enum.Flag)


def can_be_verbatim(kind: Any) -> bool:
    """Whether values of a type have a text of their own, and can be read from it."""
    return kind in _VERBATIM_READERS or is_listed_enum(kind) or get_origin(kind) is Literal


def has_shards(kind: Any) -> bool:
    """Whether equal values of a type have one text, in every process: not sets, lists, dicts and structs."""
    is_enum = isinstance(kind, type) and issubclass(kind, enum.Enum)
    return kind is bytes or kind in _VERBATIM_READERS or is_enum or get_origin(kind) is Literal


class NumberPart(KeyPart, msgspec.Struct, frozen=True, dict=True):
    """Digits before and after the decimal point; signed numbers begin with `p` or `n`."""

    digits: int
    places: int = 0
    signed: bool = False
    kind: Any = int
    low: int | Decimal | None = None
    high: int | Decimal | None = None
    ordered = True

    @cached_property
    def language(self) -> Language:
        least, most = self._whole_bounds
        if not self.signed:
            return digits_between(self._text(least), self._text(most))
        spans = [(max(least, 0), most)] if most >= 0 else []
        spans += [(least, min(most, -1))] if least < 0 else []
        texts = ((self._text(low), self._text(high)) for low, high in spans)
        return one_of(*(sequence(literal(low[0]), digits_between(low[1:], high[1:])) for low, high in texts))

    @cached_property
    def _size(self) -> int:
        return self.digits + self.places

    @property
    def _whole_bounds(self) -> Span:
        """The smallest and the largest number, without the decimal point."""
        widest = 10**self._size - 1
        least = -widest if self.signed else 0
        if self.low is not None:
            least = max(least, ceil(Decimal(self.low).scaleb(self.places, EXACT)))
        most = widest if self.high is None else min(widest, floor(Decimal(self.high).scaleb(self.places, EXACT)))
        return least, most

    reversible = True

    def write(self, value: Any) -> str:
        if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
            raise ValueError(f"{value!r} is not a number")
        if isinstance(value, Decimal) and not value.is_finite():  # a NaN cannot be compared or scaled
            raise ValueError(f"{value} is not a finite number")
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise ValueError(f"{value} is not between {self.low} and {self.high}, the bounds of Ordered")
        exact = value * 10**self.places if type(value) is int else Decimal(value).scaleb(self.places, EXACT)
        try:
            whole = int(exact)
        except (ValueError, OverflowError):
            raise ValueError(f"{value} is not a finite number") from None
        if whole != exact or abs(whole) >= 10**self._size or (whole < 0 and not self.signed):
            raise ValueError(f"{value} does not fit {self.spec} in the key")
        return self._text(whole)

    def _text(self, whole: int) -> str:
        size = self._size
        if not self.signed:
            return f"{whole:0{size}d}"
        return f"p{whole:0{size}d}" if whole >= 0 else f"n{10**size - 1 + whole:0{size}d}"

    def read(self, text: str) -> Any:
        size = self._size
        sign, digits = (text[:1], text[1:]) if self.signed else ("p", text)
        if sign not in ("p", "n") or len(digits) != size or not (digits.isascii() and digits.isdigit()):
            raise ValueError(f"{text!r} is not of the form {self.spec}")
        whole = int(digits) if sign == "p" else int(digits) - 10**size + 1
        if self.kind is int:
            return whole
        exact = normalized_decimal(Decimal(whole).scaleb(-self.places, EXACT))
        return exact if self.kind is Decimal else self.kind(exact)

    @property
    def spec(self) -> str:
        places = f".{self.places}" if self.places else ""
        return f"{{:{'+' if self.signed else ''}{self.digits}{places}}}"


class TimePart(KeyPart, msgspec.Struct, frozen=True):
    """A time in UTC with microseconds."""

    ordered = True
    reversible = True

    @property
    def language(self) -> Language:
        return _TIME

    @property
    def seconds(self) -> Language:
        """What the texts of all times in a second begin with, whatever their width is."""
        return _SECOND

    def could_be_foreign(self, text: str) -> bool:
        """Any ISO 8601 time: without a fraction, with milliseconds, with an offset. A date alone is not a time."""
        try:
            time_of(text)
        except ValueError:
            return False
        return len(text) > len("2025-01-01")

    def write(self, value: Any) -> str:
        return time_text(value)

    def read(self, text: str) -> datetime:
        return time_of(text)


class DayPart(KeyPart, msgspec.Struct, frozen=True):
    """The day of a time or date; lossless (`exact`) only for a date."""

    exact: bool = False
    ordered = True
    reversible = True
    query_type = date

    @property
    def language(self) -> Language:
        return _DAY

    @property
    def lossless(self) -> bool:  # type: ignore[override]
        return self.exact

    def write(self, value: Any) -> str:
        return day_of(value).isoformat().zfill(10)

    def read(self, text: str) -> date:
        return date.fromisoformat(text)


Period = Literal["year", "month", "hour", "minute"]
_PERIOD_TEXTS: dict[Period, tuple[Language, int, str]] = {
    "year": (_YEAR, len("2025"), "-01-01"),
    "month": (_MONTH, len("2025-01"), "-01"),
    "hour": (_HOUR, len("2025-01-01T00"), ":00"),
    "minute": (_MINUTE, len("2025-01-01T00:00"), ""),
}
"""The texts of a period, their width, and what completes one to the text of its first day or minute."""


class PeriodPart(KeyPart, msgspec.Struct, frozen=True):
    """The year or month of a time or date, or the hour or minute of a time: the first characters of its text."""

    name: Period
    ordered = True
    lossless = False
    reversible = True

    @property
    def is_of_day(self) -> bool:
        """Whether the period of a time follows from its day, so that it is one of a date as well."""
        return self.name in ("year", "month")

    @property
    def query_type(self) -> Any:
        return date if self.is_of_day else datetime

    @property
    def language(self) -> Language:
        return _PERIOD_TEXTS[self.name][0]

    def write(self, value: Any) -> str:
        text = day_of(value).isoformat() if self.is_of_day else time_text(value)
        return text[: _PERIOD_TEXTS[self.name][1]]

    def read(self, text: str) -> date:
        begin = text + _PERIOD_TEXTS[self.name][2]
        return date.fromisoformat(begin) if self.is_of_day else time_of(begin)


PERIODS: dict[str, PeriodPart] = {name: PeriodPart(name) for name in _PERIOD_TEXTS}


class BoolPart(KeyPart, msgspec.Struct, frozen=True):
    """`0` or `1`."""

    ordered = True
    reversible = True

    @property
    def language(self) -> Language:
        return characters("01")

    def write(self, value: Any) -> str:
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither True nor False")
        return "1" if value else "0"

    def read(self, text: str) -> bool:
        if text not in ("0", "1"):
            raise ValueError(f"{text!r} is neither 0 nor 1")
        return text == "1"


class EnumPart(KeyPart, msgspec.Struct, frozen=True, dict=True):
    """An enum by its value; an `open` one allows any text."""

    kind: type[enum.Enum]
    open: bool = False
    separator: Separator = HASH

    @cached_property
    def language(self) -> Language:
        return self.separator.full_language if self.open else texts(self.write(member) for member in self.kind)

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The texts of members that were written before, by name."""
        return {}

    def write(self, value: Any) -> str:
        member = self.kind(value)
        name = member._name_
        if self.kind.__members__.get(name) is not member:  # an unknown text of an open enum has itself as its name
            return TextPart(full=True, separator=self.separator).write(member.value)
        text = self._texts.get(name)
        if text is None:
            text = self._texts[name] = TextPart(full=True, separator=self.separator).write(member.value)
        return text

    def read(self, text: str) -> Any:
        return self.kind(self.separator.unescaped(text))

    def could_be_foreign(self, text: str) -> bool:
        return self.open and bool(text) and self.separator.character not in text


class RankedEnumPart(KeyPart, msgspec.Struct, frozen=True, dict=True):
    """An enum in the order of its members, or in reverse."""

    kind: type[enum.Enum]
    reverse: bool = False
    separator: Separator = HASH
    ordered = True

    @cached_property
    def language(self) -> Language:
        return texts(self.write(member) for member in self.kind)

    def write(self, value: Any) -> str:
        members = list(self.kind)
        member = self.kind(value)
        if member not in members:
            raise ValueError(f"{member.value!r} has no rank in {self.kind.__name__}")
        rank = members.index(member)
        rank = len(members) - 1 - rank if self.reverse else rank
        text = TextPart(full=True, separator=self.separator).write(str(member.value))
        return f"{rank:0{len(str(len(members) - 1))}d}-{text}"

    def read(self, text: str) -> Any:
        members = list(self.kind)
        rank = int(text.partition("-")[0])
        return members[len(members) - 1 - rank if self.reverse else rank]


class ShardPart(KeyPart, msgspec.Struct, frozen=True, dict=True):
    """A stable hash: the same value is always in the same of `count` shards."""

    count: int
    kind: Any = str
    lossless = False
    query_type = int

    @cached_property
    def language(self) -> Language:
        widths = range(1, len(str(self.count - 1)) + 1)
        lows = ("0" if width == 1 else f"1{'0' * (width - 1)}" for width in widths)
        return one_of(*(digits_between(low, min("9" * len(low), str(self.count - 1), key=int)) for low in lows))

    def write(self, value: Any) -> str:
        exact = settled_number(value.value if isinstance(value, enum.Enum) else value, self.kind)
        text = TimePart().write(exact) if isinstance(exact, datetime) else unicodedata.normalize("NFC", str(exact))
        from hashlib import blake2b

        digest = blake2b(text.encode(), digest_size=8).digest()
        return str(int.from_bytes(digest) % self.count)

    def matches(self, text: str) -> bool:
        return text in self.language

    def check_shard(self, value: Any) -> None:
        """A ValueError where a number is not that of a shard, or another value has no shard."""
        outside = isinstance(value, int) and not 0 <= value < self.count
        if outside or value is None or isinstance(value, bool | list | tuple | set | dict):
            raise ValueError(f"{value!r} is not a shard; pass a number from 0 to {self.count - 1}")


class DescendingPart(KeyPart, msgspec.Struct, frozen=True):
    """A fixed-width form whose texts sort in reverse."""

    inner: KeyPart
    ordered = True

    @property
    def language(self) -> Language:
        return _complement(self.inner.language)

    @property
    def lossless(self) -> bool:  # type: ignore[override]
        return self.inner.lossless

    def write(self, value: Any) -> str:
        return self.inner.write(value).translate(_COMPLEMENT)

    def read(self, text: str) -> Any:
        return self.inner.read(text.translate(_COMPLEMENT))


@cache
def _complement(language: Language) -> Language:
    """The texts with every digit and sign replaced by its complement, that of 1 first: an example is a real value."""
    edges = tuple(tuple(each for edge in leaving for each in _complement_edges(edge)) for leaving in language.edges)
    return Language(edges, language.accepting)


def _complement_edges(edge: Edge) -> Iterator[Edge]:
    low, high, to = edge
    if low <= ord("1") <= high:
        yield ord("8"), ord("8"), to
    one, other = (ord(chr(point).translate(_COMPLEMENT)) for point in (low, high))
    yield min(one, other), max(one, other), to


def descends(form: KeyPart) -> bool:
    """Whether a larger value has a smaller text."""
    return isinstance(form, DescendingPart) or (isinstance(form, RankedEnumPart) and form.reverse)
