"""Every form that a key part can have, with its meaning in plain Python: equality, order, and what a query gives."""

import enum
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from partita import OpenEnum


class Size(enum.StrEnum):
    """Values whose text order is not the order of the members."""

    SMALL = "s"
    MEDIUM = "m"
    LARGE = "l-x"


class Mood(OpenEnum):
    GOOD = "good"
    BAD = "bad"


def _same(value: Any) -> Any:
    return value


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> str:
    return _nfc(_nfc(text).casefold())


def _utc_day(at: datetime) -> date:
    return at.astimezone(UTC).date()


@dataclass(frozen=True)
class Form:
    """How an attribute stands in a key.

    `part` is what the key holds of a value, `order` its place among the values (None where the key has no value order).
    """

    name: str
    type: str  # the annotation, as source text
    spec: str  # after the colon in the template
    values: st.SearchStrategy[Any]
    part: Callable[[Any], Any] = _same
    order: Callable[[Any], Any] | None = None
    query_type: str = ""  # the annotation of a pattern's parameter, where it is not the attribute's own
    lossless: bool = True
    text: bool = False  # starts_with can be asked

    @property
    def parameter(self) -> str:
        return self.query_type or self.type


NASTY = [
    "a",
    "b",
    "ab",
    "a b",
    "a#",
    "#",
    "$",
    "$S",
    "a!",
    " ",
    "A",
    "é",
    "e\u0301",
    "ß",
    "SS",
    "0",
    "10",
    "9",
    "\U0010ffffa",
]
TEXTS = st.one_of(st.sampled_from(NASTY), st.text("ab#$! Aé", min_size=1, max_size=3))
TIMES = st.integers(0, 40).map(lambda n: datetime(2025, 1, 31, 22, 30, tzinfo=UTC) + timedelta(minutes=37 * n))
DAYS = st.integers(0, 5).map(lambda n: date(2025, 1, 29) + timedelta(days=n))
UUIDS = st.integers(0, 3).map(lambda n: UUID(int=n << 100 | n))
WHOLE = st.sampled_from([0, 1, 2, 9, 10, 99, 100, 999])
SIGNED = st.sampled_from([-999, -100, -10, -9, -1, 0, 1, 9, 10, 999])
DECIMALS = st.sampled_from(
    [Decimal(each) for each in ("-12.50", "-1", "0", "0.05", "1", "1.0", "1.50", "2", "10", "99.99")]
)

FORMS = [
    Form("text", "str", "", TEXTS, _nfc, _nfc, text=True),
    Form("fold", "str", "fold", TEXTS, _folded, None, lossless=False),
    Form("whole", "int", "3", WHOLE, order=_same),
    Form("signed", "int", "+3", SIGNED, order=_same),
    Form("bounded", "Annotated[int, Ordered(-999, 999)]", "", SIGNED, order=_same),
    Form("falling", "int", "3,desc", WHOLE, order=_same),
    Form("money", "Decimal", "+2.2", DECIMALS, order=_same),
    Form("time", "datetime", "", TIMES, order=_same),
    Form("time_falling", "datetime", "desc", TIMES, order=_same),
    Form("day", "date", "", DAYS, order=_same),
    Form("day_of_time", "datetime", "day", TIMES, _utc_day, None, "date", lossless=False),
    Form(
        "month_of_time",
        "datetime",
        "month",
        TIMES,
        lambda at: _utc_day(at).replace(day=1),
        None,
        "date",
        lossless=False,
    ),
    Form("flag", "bool", "", st.booleans(), order=_same),
    Form("size", "Size", "", st.sampled_from(Size)),
    Form("size_ranked", "Size", "ranked", st.sampled_from(Size), order=lambda size: list(Size).index(size)),
    Form("mood", "Mood", "", st.sampled_from(Mood)),
    Form("uuid", "UUID", "", UUIDS, order=_same),
    Form("literal", 'Literal["x", "y-z"]', "", st.sampled_from(["x", "y-z"]), order=_same),
]
BY_NAME = {form.name: form for form in FORMS}
