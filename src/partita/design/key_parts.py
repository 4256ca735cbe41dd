"""The parts of a key and their text forms: each is injective, and ordered forms sort as their values do.

A key is text such as `ORDER#2025-01-01T00:00:00.000000Z#o_7`: segments between `#`. A part fills one segment.

    text         NFC; `#` and `$` are escaped as `$S` and `$T`. Where a sort key continues after the part, so is every
                 character below them (a space is `$P`), so that a shorter value sorts before its continuations.
    number       `{n:4}` is `0012`; signed `{n:+4}` is `p0012` or `n9987` (-12): negatives count down from nines.
    time         fixed-width UTC; `{at:day}` and `{at:month}` are its first characters.
    enum         its value as text, or `{priority:ranked}`: `0-high`, in the order of the members' declaration.
    desc         a fixed-width form with every digit replaced by its complement.
    shard(8)     a stable hash of the value, 0 to 7.
    fold         text compared without case.
"""

import enum
import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

from partita.design.timestamps import WIDTH, day_of, time_of, time_text
from partita.design.untyped_values import unicode_text

SEPARATOR = "#"
AFTER_SEPARATOR = "$"  # the next character: `PREFIX$` is above every key that begins with `PREFIX#`
_ESCAPED = re.compile(r"\$(.)")
_needs_no_escape = re.compile("[%-~]+").fullmatch  # ASCII above `$`, like most ids
_LIGHT = str.maketrans({"#": "$S", "$": "$T"})
_FULL = str.maketrans({chr(code): f"${chr(code + 0x30)}" for code in range(ord("$") + 1)})
EXACT = Context(prec=80)  # more than DynamoDB's 38 digits, so nothing is rounded
_COMPLEMENT = str.maketrans("0123456789np", "9876543210pn")


class KeyPart:
    """The form of one part in a key; `write` raises a ValueError for a value that does not fit."""

    ordered = False  # texts sort as values do
    lossless = True  # `read` returns the value
    width: int | None = None
    query_type: Any = None  # the type of this part in a query, where it is not the attribute's own

    def write(self, value: Any) -> str:
        raise NotImplementedError

    def read(self, text: str) -> Any:
        raise NotImplementedError

    def matches(self, text: str) -> bool:
        """Whether this is the text of some value."""
        try:
            return self.write(self.read(text)) == text
        except (ValueError, ArithmeticError):
            return False


@dataclass(frozen=True)
class TextPart(KeyPart):
    """Text; `full` escapes every character up to `$`, for a sort key that continues after the part."""

    full: bool = False
    fold: bool = False
    ordered = True

    @property
    def lossless(self) -> bool:  # type: ignore[override]
        return not self.fold

    def write(self, value: Any) -> str:
        if type(value) is str and not self.fold and ((value.isalnum() and value.isascii()) or _needs_no_escape(value)):
            return value
        text = unicodedata.normalize("NFC", unicode_text(str(value) if isinstance(value, UUID) else value))
        if not text:
            raise ValueError("empty text cannot be part of a key")
        if self.fold:
            text = unicodedata.normalize("NFC", text.casefold())
        return text.translate(_FULL if self.full else _LIGHT)

    def read(self, text: str) -> str:
        return _ESCAPED.sub(lambda found: chr(ord(found[1]) - 0x30), text)

    def matches(self, text: str) -> bool:
        return bool(text) and SEPARATOR not in text


@dataclass(frozen=True)
class VerbatimPart(KeyPart):
    """Text without escapes, as other code wrote it: for reading old keys only."""

    kind: Any = str

    def write(self, value: Any) -> str:
        return time_text(value) if isinstance(value, datetime) else str(value)

    def read(self, text: str) -> Any:
        return time_of(text) if self.kind is datetime else self.kind(text)

    def matches(self, text: str) -> bool:
        return bool(text)


@dataclass(frozen=True)
class NumberPart(KeyPart):
    """Digits before and after the decimal point; signed numbers begin with `p` or `n`."""

    digits: int
    places: int = 0
    signed: bool = False
    kind: Any = int
    ordered = True

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.digits + self.places + self.signed

    def write(self, value: Any) -> str:
        size = self.digits + self.places
        if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
            raise ValueError(f"{value!r} is not a number")
        exact = value * 10**self.places if type(value) is int else Decimal(value).scaleb(self.places, EXACT)
        whole = int(exact)
        if whole != exact or abs(whole) >= 10**size or (whole < 0 and not self.signed):
            raise ValueError(f"{value} does not fit {self.spec} in the key")
        if not self.signed:
            return f"{whole:0{size}d}"
        return f"p{whole:0{size}d}" if whole >= 0 else f"n{10**size - 1 + whole:0{size}d}"

    def read(self, text: str) -> Any:
        size = self.digits + self.places
        sign, digits = (text[:1], text[1:]) if self.signed else ("p", text)
        if sign not in ("p", "n") or len(digits) != size or not (digits.isascii() and digits.isdigit()):
            raise ValueError(f"{text!r} is not of the form {self.spec}")
        whole = int(digits) if sign == "p" else int(digits) - 10**size + 1
        return whole if self.kind is int else self.kind(Decimal(whole).scaleb(-self.places, EXACT))

    @property
    def spec(self) -> str:
        places = f".{self.places}" if self.places else ""
        return f"{{:{'+' if self.signed else ''}{self.digits}{places}}}"


@dataclass(frozen=True)
class TimePart(KeyPart):
    """A time in UTC with microseconds."""

    ordered = True
    width = WIDTH

    def write(self, value: Any) -> str:
        return time_text(value)

    def read(self, text: str) -> datetime:
        return time_of(text)


@dataclass(frozen=True)
class DayPart(KeyPart):
    """The day of a time or date; lossless (`exact`) only for a date."""

    exact: bool = False
    ordered = True
    width = 10
    query_type = date

    @property
    def lossless(self) -> bool:  # type: ignore[override]
        return self.exact

    def write(self, value: Any) -> str:
        return day_of(value).isoformat().zfill(10)

    def read(self, text: str) -> date:
        return date.fromisoformat(text)


@dataclass(frozen=True)
class MonthPart(KeyPart):
    """The month of a time or date."""

    ordered = True
    lossless = False
    width = 7
    query_type = date

    def write(self, value: Any) -> str:
        return day_of(value).isoformat()[:7]

    def read(self, text: str) -> date:
        return date.fromisoformat(f"{text}-01")


@dataclass(frozen=True)
class BoolPart(KeyPart):
    """`0` or `1`."""

    ordered = True
    width = 1

    def write(self, value: Any) -> str:
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither True nor False")
        return "1" if value else "0"

    def read(self, text: str) -> bool:
        if text not in ("0", "1"):
            raise ValueError(f"{text!r} is neither 0 nor 1")
        return text == "1"


@dataclass(frozen=True)
class EnumPart(KeyPart):
    """An enum by its value; an `open` one allows any text."""

    kind: type[enum.Enum]
    open: bool = False

    def write(self, value: Any) -> str:
        return TextPart(full=True).write(self.kind(value).value)

    def read(self, text: str) -> Any:
        return self.kind(TextPart().read(text))

    def matches(self, text: str) -> bool:
        return TextPart().matches(text) if self.open else text in {self.write(member) for member in self.kind}


@dataclass(frozen=True)
class RankedEnumPart(KeyPart):
    """An enum in the order of its members, or in reverse."""

    kind: type[enum.Enum]
    reverse: bool = False
    ordered = True

    def write(self, value: Any) -> str:
        members = list(self.kind)
        member = self.kind(value)
        if member not in members:
            raise ValueError(f"{member.value!r} has no rank in {self.kind.__name__}")
        rank = members.index(member)
        rank = len(members) - 1 - rank if self.reverse else rank
        return f"{rank:0{len(str(len(members) - 1))}d}-{TextPart(full=True).write(member.value)}"

    def read(self, text: str) -> Any:
        return self.kind(TextPart().read(text.partition("-")[2]))

    def matches(self, text: str) -> bool:
        return text in {self.write(member) for member in self.kind}


@dataclass(frozen=True)
class ShardPart(KeyPart):
    """A stable hash: the same value is always in the same of `count` shards."""

    count: int
    lossless = False
    query_type = int

    def write(self, value: Any) -> str:
        text = TimePart().write(value) if isinstance(value, datetime) else unicodedata.normalize("NFC", str(value))
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        return str(int.from_bytes(digest) % self.count)

    def matches(self, text: str) -> bool:
        return text.isdigit() and int(text) < self.count


@dataclass(frozen=True)
class DescendingPart(KeyPart):
    """A fixed-width form whose texts sort in reverse."""

    inner: KeyPart
    ordered = True

    @property
    def width(self) -> int | None:  # type: ignore[override]
        return self.inner.width

    @property
    def lossless(self) -> bool:  # type: ignore[override]
        return self.inner.lossless

    def write(self, value: Any) -> str:
        return self.inner.write(value).translate(_COMPLEMENT)

    def read(self, text: str) -> Any:
        return self.inner.read(text.translate(_COMPLEMENT))


def descends(form: KeyPart) -> bool:
    """Whether a larger value has a smaller text."""
    return isinstance(form, DescendingPart) or (isinstance(form, RankedEnumPart) and form.reverse)


def may_overlap(one: KeyPart, other: KeyPart) -> bool:
    """Whether two parts can have the same text; false only where that is certain."""
    for this, that in ((one, other), (other, one)):
        if isinstance(this, EnumPart) and not this.open:
            return any(that.matches(this.write(member)) for member in this.kind)
        if isinstance(this, RankedEnumPart):
            return any(that.matches(this.write(member)) for member in this.kind)
    if one.width is not None and other.width is not None:
        return one.width == other.width and type(one) is type(other)
    return True
