"""Requests of a read: how often it is repeated, and over what."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import pytest

from partita import Entity, Index, InvalidValue, Items, Keys, Table, fan_out, pattern
from partita.plan.read_requests import fan_out_values, plan_of

diary = Table("diary", pk="PK", sk="SK", indexes=(Index("ByMonth", "month", "at"), Index("ByMood", "mood")))


class Entry(Entity, table=diary, key=("ENTRY#{entry_id}", "ENTRY")):
    entry_id: str
    at: datetime
    mood: int

    by_month = Keys("ByMonth", "{at:month}", None)
    by_mood = Keys("ByMood")


@pattern
def in_months(months: Sequence[date]) -> Items[Entry]:
    return Entry.by_month.query(fan_out(months, 3)).oldest_first()


@pattern
def in_moods(moods: Sequence[int]) -> Items[Entry]:
    return Entry.by_mood.query(fan_out(moods, 3))


def over(call: Any) -> list[Any]:
    return fan_out_values(plan_of(call.read), call.arguments)


def test_equal_ranges_of_a_fan_out_are_queried_once() -> None:
    first, last, march = date(2025, 1, 1), date(2025, 1, 31), date(2025, 3, 1)
    assert over(in_months([march, first, last])) == [(march,), (first,)]
    assert over(in_moods([2, 1, 2])) == [(2,), (1,)]


@pytest.mark.parametrize("months", [None, ["x"], [None], [date(2025, month, 1) for month in range(1, 5)]])
def test_invalid_values_of_a_fan_out_are_rejected(months: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^in_months(\.months)?: "):
        over(in_months(months))
