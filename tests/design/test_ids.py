"""Ids: they sort by time, and say it to the millisecond."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import new_id, time_in_id

moments = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))
MADE = new_id("m", datetime(2025, 1, 1, tzinfo=UTC), lambda bits: 7)


@given(moments, st.sampled_from(["m", "comment", "a_b", "댓글"]))
def test_id_contains_its_time_to_the_millisecond(moment: datetime, prefix: str) -> None:
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert time_in_id(new_id(prefix, moment)) == whole
    assert time_in_id(new_id(prefix, whole)) == whole


def test_id_from_a_time_in_another_zone_contains_the_time_in_utc() -> None:
    seoul = datetime(2025, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    assert time_in_id(new_id("m", seoul)) == datetime(2025, 1, 1, tzinfo=UTC)


@given(moments, moments)
def test_ids_sort_by_time(one: datetime, other: datetime) -> None:
    if abs(one - other) >= timedelta(milliseconds=1):
        assert (new_id("m", one) < new_id("m", other)) == (one < other)


@pytest.mark.parametrize(
    "made",
    [
        "",
        "1",
        "comment-42",
        "0b2f2c6e-7f0c-4d43-9a0e-2f3a7c1d5b11",
        "댓글",
        "m_" + "😀" * 26,
        "m_" + "٣" * 26,  # digits, but not ours
        MADE.removeprefix("m_"),
        MADE.removeprefix("m"),
        MADE.lower(),
        MADE[:-1],
        MADE + "0",
        MADE + "\n",
        MADE.replace("_", "-"),
        "m_" + "U" * 26,  # not in Crockford's alphabet
        "m_" + "Z" * 26,  # a time that no calendar has
        new_id("m", datetime(1969, 12, 31, tzinfo=UTC), lambda bits: 7),
    ],
)
def test_id_in_another_format_has_no_time(made: str) -> None:
    assert time_in_id(made) is None
