"""Time series in buckets: a partition for each year, month, hour or minute, and ranges within and across them."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Annotated

import pytest

from partita import Entity, InKey, Item, Items, Keys, Store, fan_out, pattern, query
from tests.store.declared import BY_TEXT, opened, table

series = table(BY_TEXT)


class Reading(Entity, table=series, key=("DEVICE#{device}#{at:hour}", "{at}")):
    device: Annotated[str, InKey()]
    at: datetime
    value: int

    by_minute = Keys("GSI1", "MINUTE#{at:minute}", "{device}")


class Total(Entity, table=series, key=("TOTALS#{device}#{on:year}", "{on:month}#{on}")):
    device: str
    on: date
    value: int


@pattern
def reading(device: str, at: datetime) -> Item[Reading]: ...
@pattern
def in_hour(device: str, hour: datetime) -> Items[Reading]: ...
@pattern
def since(device: str, hour: datetime, at: datetime) -> Items[Reading]:
    return query(Reading, device, hour).since(at).newest_first()


@pattern
def in_hours(device: str, hours: Sequence[datetime]) -> Items[Reading]:
    return query(Reading, device, fan_out(hours, 24)).oldest_first()


@pattern(Reading.by_minute)
def in_minute(minute: datetime) -> Items[Reading]: ...
@pattern
def in_year(device: str, year: date) -> Items[Total]: ...
@pattern
def in_month(device: str, year: date, month: date) -> Items[Total]: ...


START = datetime(2024, 12, 31, 22, 30, tzinfo=UTC)
READINGS = [Reading(device="d", at=START + timedelta(minutes=13 * n), value=n) for n in range(20)]
TOTALS = [Total(device="d", on=date(2024, 11, 20) + timedelta(days=9 * n), value=n) for n in range(12)]


@pytest.fixture
def db() -> Store:
    store = opened(series)
    store.put_many([*READINGS, *TOTALS])
    return store


def hour_of(at: datetime) -> datetime:
    return at.replace(minute=0)


def test_items_of_an_hour_are_in_one_partition(db: Store) -> None:
    for hour in sorted({hour_of(each.at) for each in READINGS}):
        expected = [each for each in READINGS if hour_of(each.at) == hour]
        assert list(db(in_hour("d", hour))) == expected
        later = hour.replace(minute=25).astimezone(timezone(timedelta(hours=5, minutes=30)))
        assert list(db(in_hour("d", later))) == expected  # any time within the hour, in any zone
        assert list(db(since("d", hour, later))) == [each for each in reversed(expected) if each.at >= later]


def test_hours_are_merged_in_order(db: Store) -> None:
    hours = sorted({hour_of(each.at) for each in READINGS})
    page = db(in_hours("d", hours[::-1])).page(7)
    rest = db(in_hours("d", hours[::-1])).page(20, page.cursor)
    assert [*page.items, *rest.items] == READINGS


def test_item_moves_to_the_partition_of_its_new_time(db: Store) -> None:
    before, after = READINGS[3].at, READINGS[3].at + timedelta(hours=8)
    with db.change(reading("d", before)) as draft:
        draft.at = after
    assert db(reading("d", before)) is None
    assert [each.value for each in db(in_hour("d", after))] == [3]


def test_items_of_a_minute_are_found_by_the_index(db: Store) -> None:
    assert [each.value for each in db(in_minute(READINGS[5].at.replace(second=59)))] == [5]


def test_items_of_a_year_and_month_are_found(db: Store) -> None:
    for year in (2024, 2025):
        assert list(db(in_year("d", date(year, 7, 7)))) == [each for each in TOTALS if each.on.year == year]
        found = list(db(in_month("d", date(year, 1, 1), date(year, 1, 9))))
        assert found == [each for each in TOTALS if (each.on.year, each.on.month) == (year, 1)]
