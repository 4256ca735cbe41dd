"""Ranges with open ends, on every backend: `after` and `before` exclude their bound, in every kind of key."""

import enum
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from partita import DesignError, Entity, Index, Items, Keys, Query, Store, Table, pattern, prove, query
from tests.store.clocks import Clock
from tests.store.conftest import fresh

table = Table(
    "ranges",
    pk="PK",
    sk="SK",
    indexes=(
        Index("ByNumber", "PK", "number"),
        Index("ByText", "PK", "text"),
        Index("ByBytes", "PK", "raw"),
        Index("Falling", "fallPK", "fallSK"),
        Index("ByName", "namePK", "nameSK"),
        Index("NameLast", "lastPK", "lastSK"),
        Index("ByDay", "dayPK", "daySK"),
        Index("ByRank", "rankPK", "rankSK"),
    ),
)
AT = datetime(2025, 1, 1, tzinfo=UTC)


class Rank(str, enum.Enum):
    LOW = "z"
    MIDDLE = "m"
    HIGH = "a"


class Entry(Entity, table=table, key=("BOX#{box}", "ENTRY#{at}")):
    box: str
    at: datetime
    number: Decimal
    text: str
    raw: bytes
    rank: Rank

    by_number = Keys("ByNumber")
    by_text = Keys("ByText")
    by_bytes = Keys("ByBytes")
    falling = Keys("Falling", "FALL#{box}", "{number:+6.2,desc}#{text}")
    by_name = Keys("ByName", "NAME#{box}", "N#{text}#{at}")
    name_last = Keys("NameLast", "LAST#{box}", "N#{text}")
    by_day = Keys("ByDay", "DAY#{box}", "{at:day}#{text}")
    by_rank = Keys("ByRank", "RANK#{box}", "{rank:ranked}#{text}")


TEXTS = ["a", "a b", "a!", "aa", "b", "ba", "ö", "\U0001f600"]


def entries() -> list[Entry]:
    ranks = list(Rank)
    return [
        Entry(
            box="x",
            at=AT + timedelta(hours=9 * n),
            number=Decimal(n - 3) / 2,
            text=text,
            raw=text.encode(),
            rank=ranks[n % 3],
        )
        for n, text in enumerate(TEXTS)
    ]


READS: dict[str, tuple[Callable[[], Query[Entry]], Callable[[Entry], Any]]] = {
    "a time in the table's key": (lambda: query(Entry, "x"), lambda each: each.at),
    "a number that is the key": (lambda: Entry.by_number.query("x"), lambda each: each.number),
    "a text that is the key": (lambda: Entry.by_text.query("x"), lambda each: each.text),
    "binary that is the key": (lambda: Entry.by_bytes.query("x"), lambda each: each.raw),
    "a falling number": (lambda: Entry.falling.query("x"), lambda each: each.number),
    "a text in the middle": (lambda: Entry.by_name.query("x"), lambda each: each.text),
    "a text at the end": (lambda: Entry.name_last.query("x"), lambda each: each.text),
    "a day": (lambda: Entry.by_day.query("x"), lambda each: each.at.date()),
    "a ranked enum": (lambda: Entry.by_rank.query("x"), lambda each: list(Rank).index(each.rank)),
}


@pattern
def between_times(box: str, low: datetime, high: datetime) -> Items[Entry]:
    return query(Entry, box).after(low).before(high)


@pattern
def larger(box: str, low: Decimal) -> Items[Entry]:
    return Entry.by_number.query(box).above(low)


@pattern
def smaller(box: str, high: Decimal) -> Items[Entry]:
    return Entry.falling.query(box).below(high)


design = prove("ranges", table)


@pytest.fixture
def filled(db: Store) -> Store:
    store = fresh(db.backend, design, Clock())
    store.put_many(entries())
    return store


@pytest.mark.parametrize("name", READS)
def test_open_ends_exclude_their_bounds(filled: Store, name: str) -> None:
    read, part = READS[name]
    stored = sorted(entries(), key=part)
    values = sorted({part(each) for each in stored})
    for value in values:
        bound = list(Rank)[value] if name == "a ranked enum" else value
        assert _times(filled, read().after(bound)) == {each.at for each in stored if part(each) > value}
        assert _times(filled, read().before(bound)) == {each.at for each in stored if part(each) < value}
        assert _times(filled, read().since(bound)) == {each.at for each in stored if part(each) >= value}
        assert _times(filled, read().until(bound)) == {each.at for each in stored if part(each) <= value}


@pytest.mark.parametrize("name", READS)
def test_ends_of_both_kinds_combine(filled: Store, name: str) -> None:
    read, part = READS[name]
    stored = entries()
    values = sorted({part(each) for each in stored})
    low, high = values[0], values[-1]
    ends = [list(Rank)[each] if name == "a ranked enum" else each for each in (low, high)]
    inside = {each.at for each in stored if low < part(each) < high}
    assert _times(filled, read().after(ends[0]).before(ends[1])) == inside
    assert _times(filled, read().before(ends[1]).since(ends[0])) == {e.at for e in stored if low <= part(e) < high}
    assert _times(filled, read().after(ends[0]).until(ends[1])) == {e.at for e in stored if low < part(e) <= high}
    with pytest.raises(DesignError, match="nothing is in a range"):
        list(filled(read().after(ends[1]).before(ends[1])))


def _times(db: Store, call: Query[Entry]) -> set[datetime]:
    found = [each.at for each in db(call)]
    assert len(set(found)) == len(found)
    return set(found)


def test_patterns_with_open_ends(filled: Store) -> None:
    times = [each.at for each in entries()]
    assert [each.at for each in filled(between_times("x", times[0], times[3]))] == times[1:3]
    assert [each.number for each in filled(larger("x", Decimal(1)))] == [Decimal("1.5"), Decimal(2)]
    assert [each.number for each in filled(smaller("x", Decimal("-0.5")))] == [Decimal(-1), Decimal("-1.5")]


def test_explanation_says_which_ends_are_open(db: Store) -> None:
    explained = Store(db.backend, design).explain(between_times("x", AT, AT + timedelta(days=1)))
    assert "SK after <low> before <high>" in explained or "after ENTRY" in explained


@pytest.mark.parametrize(
    "read",
    [
        lambda: query(Entry, "x").since(AT).after(AT),
        lambda: query(Entry, "x").before(AT).between(AT, AT),
        lambda: Entry.by_text.query("x").starts_with("a").since("b"),
        lambda: Entry.by_text.query("x").until("a").starts_with("b"),
    ],
)
def test_two_bounds_for_one_end_are_rejected(read: Callable[[], Any]) -> None:
    with pytest.raises(DesignError, match=r"its range has two|a range is either a beginning or has bounds"):
        read()


def test_days_are_bounded_by_dates(filled: Store) -> None:
    found = _times(filled, Entry.by_day.query("x").after(date(2025, 1, 1)))
    assert found == {each.at for each in entries() if each.at.date() > date(2025, 1, 1)}
