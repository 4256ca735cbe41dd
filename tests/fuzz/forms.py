"""Every type of an attribute and every form that a key part can have, with their meaning in plain Python.

A form says which part of a value a key holds, how that part is written, and how it sorts. It is written here a second
time on purpose: the fuzzer compares stored keys and answers with this module, never with the library's own code.
"""

import enum
import string
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any
from uuid import UUID

from partita import OpenEnum


class Size(enum.StrEnum):
    """Values whose text order is not the order of the members."""

    SMALL = "s"
    MEDIUM = "m"
    LARGE = "l-x"


class Mood(OpenEnum):
    GOOD = "good"
    BAD = "bad"


def nfc(value: Any) -> Any:
    """Text in the normal form in which keys and plain key attributes hold it; other values unchanged."""
    return unicodedata.normalize("NFC", value) if type(value) is str else value


def nfd(value: Any) -> Any:
    """Text in the form in which other code may write it in a key; other values unchanged."""
    return unicodedata.normalize("NFD", value) if type(value) is str else value


def folded(text: str) -> str:
    """Text as it is compared without case."""
    return str(nfc(nfc(text).casefold()))


def _same(value: Any) -> Any:
    return value


def _text_of(value: Any, _: "Place") -> str:
    return str(value)


def _utc_day(at: date) -> date:
    return at.astimezone(UTC).date() if isinstance(at, datetime) else at


def _month(at: date) -> date:
    return _utc_day(at).replace(day=1)


def _year(at: date) -> date:
    return _utc_day(at).replace(month=1, day=1)


def _hour(at: datetime) -> datetime:
    return _minute(at).replace(minute=0)


def _minute(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(second=0, microsecond=0)


def shard(value: Any, count: int) -> int:
    """The shard of a value: a hash of its text; equal numbers have one text."""
    if isinstance(value, datetime):
        value = time_text(value)
    if isinstance(value, Decimal):
        value = number_text(value)
    text = unicodedata.normalize("NFC", str(getattr(value, "value", value)))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) % count


def number_text(value: Any) -> str:
    """The one text of a number: 1.50, 1.5 and Decimal("1.5") are the same."""
    exact = Decimal(str(value)).normalize() + 0
    return f"{exact:f}"


def time_text(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


TIME_FORMATS: dict[str, Callable[[datetime], str]] = {
    "microseconds": time_text,
    "seconds": lambda at: time_text(at).replace(".000000Z", "Z"),
    "milliseconds": lambda at: time_text(at).replace("000Z", "Z"),
    "offset": lambda at: at.astimezone(UTC).isoformat(),
}
"""How other code writes times, where that loses nothing."""


@dataclass(frozen=True)
class Place:
    """Where a part stands: in keys divided by a separator, and whether the sort key continues after it."""

    separator: str = "#"
    full: bool = False
    time_format: str = "microseconds"  # of an old key

    @property
    def escape(self) -> str:
        """The sign in front of an escaped character: the one after the separator, or before it if that is a letter."""
        after = chr(ord(self.separator) + 1)
        return after if after in string.punctuation else chr(ord(self.separator) - 1)


def escaped(text: str, place: Place) -> str:
    """Text in a key: the separator and the escape are escaped, and where the key continues every character below them.

    Above the digits nothing can keep the order, so only the two are escaped there.
    """
    pair = sorted((place.separator, place.escape))
    if chr(ord(place.separator) + 1) < "0":
        found = {c: chr(ord(c) + 0x30) for c in text if c in pair or (place.full and c <= place.escape)}
    else:
        found = dict(zip(pair, "ST", strict=True))
    return "".join(place.escape + found[c] if c in found else c for c in text)


def _digits(size: int, places: int = 0, *, signed: bool = False) -> Callable[[Any, Place], str]:
    def text(value: Any, _: Place) -> str:
        whole = int(Decimal(value) * 10**places)
        if not signed:
            return f"{whole:0{size + places}d}"
        return (
            f"p{whole:0{size + places}d}" if whole >= 0 else f"n{10 ** (size + places) - 1 + whole:0{size + places}d}"
        )

    return text


def _falling(text: Callable[[Any, Place], str]) -> Callable[[Any, Place], str]:
    complement = str.maketrans("0123456789np", "9876543210pn")
    return lambda value, place: text(value, place).translate(complement)


def _ranked(reverse: bool) -> Callable[[Any, Place], str]:
    sizes = list(Size)[::-1] if reverse else list(Size)
    return lambda value, _: f"{sizes.index(value)}-{value.value}"


@dataclass(frozen=True)
class Form:
    """How an attribute stands in a key.

    `part` is what the key holds of a value, `text` how it is written (`Place` says where), `order`
    its place among the values, or None where the key has no value order.
    """

    name: str
    spec: str  # after the colon in the template
    text: Callable[[Any, Place], str]
    part: Callable[[Any], Any] = _same
    order: Callable[[Any], Any] | None = None
    query_type: str = ""  # the annotation of a pattern's parameter, where it is not the attribute's own
    lossless: bool = True
    prefix: bool = False  # starts_with can be asked
    shards: int = 0

    @property
    def falls(self) -> bool:
        """Whether a larger value has a smaller text."""
        return self.spec.endswith("desc")

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Kind:
    """A type of attribute: its annotation, values, the forms that it can have in a template, and in a plain key."""

    name: str
    type: str  # the annotation, as source text
    values: tuple[Any, ...]
    forms: tuple[Form, ...] = ()
    plain: Form | None = None  # as an attribute that is itself a key
    old: Callable[[Any, Place], str] | None = None  # `:plain`, as other code wrote it
    sums: bool = False

    def __repr__(self) -> str:
        return self.name


def _plain(order: Callable[[Any], Any] | None = _same, *, prefix: bool = False) -> Form:
    return Form("plain", "", lambda value, _: str(value), nfc, order, prefix=prefix)


def _shard(count: int) -> Form:
    return Form(
        f"shard{count}",
        f"shard({count})",
        lambda value, _: str(shard(value, count)),
        lambda value: shard(value, count),
        query_type="int",
        lossless=False,
        shards=count,
    )


DAY = Form("day", "day", lambda at, _: _utc_day(at).isoformat(), _utc_day, None, "date", lossless=False)
MONTH = Form("month", "month", lambda at, _: _utc_day(at).isoformat()[:7], _month, None, "date", lossless=False)
YEAR = Form("year", "year", lambda at, _: f"{_utc_day(at).year:04}", _year, None, "date", lossless=False)
HOUR = Form("hour", "hour", lambda at, _: time_text(at)[:13], _hour, None, "datetime", lossless=False)
MINUTE = Form("minute", "minute", lambda at, _: time_text(at)[:16], _minute, None, "datetime", lossless=False)
FOLD = Form("fold", "fold", lambda text, place: escaped(folded(text), place), folded, lossless=False)

_TEXTS = "a b ab a# # $ $S a! A é ß SS 0 10 9".split(" ")
TEXTS = (*_TEXTS, "a b", " ", "e\u0301", "\U0010ffffa", "!a#", "UNIQUE", "aé#")
TEXTS += ("a|b", "}S", "/.", "+,T", "~_`", '!"')
TIMES = tuple(datetime(2025, 1, 31, 22, 30, tzinfo=UTC) + timedelta(minutes=37 * n) for n in (0, 1, 2, 3, 30))
TIMES += (TIMES[0] + timedelta(microseconds=1), TIMES[0].replace(hour=0, microsecond=0, minute=0))
DAYS = tuple(date(2025, 1, 29) + timedelta(days=n) for n in range(5))
UUIDS = tuple(UUID(int=n << 100 | n) for n in range(4))
WHOLE = (0, 1, 2, 9, 10, 99, 100, 999)
SIGNED = (-999, -100, -10, -9, -1, 0, 1, 9, 10, 999)
DECIMALS = tuple(map(Decimal, ("-12.50", "-1", "0", "0.05", "1", "1.0", "1.50", "2", "10", "99.99")))
FLOATS = (-1.5, 0.0, 0.1, 0.2, 1.0, 2.5, 10.0, 1e10)

_whole, _signed = _digits(3), _digits(3, signed=True)
_money = _digits(2, 2, signed=True)
_time: Callable[[Any, Place], str] = lambda at, _: time_text(at)  # noqa: E731
_day: Callable[[Any, Place], str] = lambda day, _: day.isoformat()  # noqa: E731

KINDS = [
    Kind(
        "text",
        "str",
        TEXTS,
        (Form("text", "", lambda text, place: escaped(nfc(text), place), nfc, nfc, prefix=True), FOLD, _shard(3)),
        _plain(prefix=True),
        _text_of,
    ),
    Kind(
        "whole",
        "int",
        WHOLE,
        (
            Form("whole", "3", _whole, order=_same),
            Form("whole4", "+4", _digits(4, signed=True), order=_same),
            Form("falling", "3,desc", _falling(_whole), order=_same),
            _shard(4),
        ),
        _plain(),
        _text_of,
        sums=True,
    ),
    Kind(
        "signed",
        "int",
        SIGNED,
        (
            Form("signed", "+3", _signed, order=_same),
            Form("signed_falling", "+3,desc", _falling(_signed), order=_same),
        ),
        _plain(),
        _text_of,
        sums=True,
    ),
    Kind(
        "bounded",
        "Annotated[int, Ordered(-999, 999)]",
        SIGNED,
        (Form("bounded", "", _signed, order=_same), Form("bounded_falling", "desc", _falling(_signed), order=_same)),
        _plain(),
        _text_of,
        sums=True,
    ),
    Kind(
        "money",
        "Decimal",
        DECIMALS,
        (
            Form("money", "+2.2", _money, order=_same),
            Form("money_falling", "+2.2,desc", _falling(_money), order=_same),
            _shard(4),
        ),
        _plain(),
        sums=True,
    ),
    Kind(
        "price",
        "Annotated[Decimal, Ordered(-99, 99, 2)]",
        DECIMALS[:-1],
        (Form("price", "", _money, order=_same),),
        _plain(),
        sums=True,
    ),
    Kind("real", "float", FLOATS, (_shard(4),), _plain(), sums=True),
    Kind(
        "time",
        "datetime",
        TIMES,
        (
            Form("time", "", _time, order=_same),
            Form("time_falling", "desc", _falling(_time), order=_same),
            DAY,
            MONTH,
            YEAR,
            HOUR,
            MINUTE,
            _shard(3),
        ),
        _plain(),
        lambda at, place: TIME_FORMATS[place.time_format](at),
    ),
    Kind(
        "date",
        "date",
        DAYS,
        (
            Form("date", "", _day, order=_same),
            Form("date_falling", "desc", _falling(_day), order=_same),
            MONTH,
            YEAR,
        ),
        _plain(),
        _text_of,
    ),
    Kind(
        "flag",
        "bool",
        (False, True),
        (
            Form("flag", "", lambda on, _: str(int(on)), order=_same),
            Form("flag_falling", "desc", _falling(lambda on, _: str(int(on))), order=_same),
        ),
        old=_text_of,
    ),
    Kind(
        "size",
        "Size",
        tuple(Size),
        (
            Form("size", "", lambda size, _: str(size.value)),
            Form("size_ranked", "ranked", _ranked(False), order=list(Size).index),
            Form("size_ranked_falling", "ranked,desc", _ranked(True), order=list(Size).index),
        ),
        _plain(None),
        _text_of,
    ),
    Kind("mood", "Mood", tuple(Mood), (Form("mood", "", lambda mood, _: str(mood.value)),), _plain(None), _text_of),
    Kind("uuid", "UUID", UUIDS, (Form("uuid", "", lambda value, _: str(value), order=_same),), _plain(), _text_of),
    Kind(
        "literal",
        'Literal["x", "y-z"]',
        ("x", "y-z"),
        (Form("literal", "", lambda value, _: str(value), order=_same),),
        _plain(),
        _text_of,
    ),
]
BY_NAME = {kind.name: kind for kind in KINDS}
VECTOR = Kind(
    "vector",
    "Annotated[Vector, Dimensions(2)]",
    ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.5], [0.25, -2.0], [0.0, 0.0]),
)
"""In no key: the attribute of a vector index."""
