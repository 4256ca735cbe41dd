"""Stored times: one text for a moment, regardless of its time zone."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from partita.design.timestamps import WIDTH, time_of, time_text

moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))


@given(moments, st.integers(-12 * 60, 12 * 60))
def test_a_moment_has_one_text_in_every_zone(moment: datetime, minutes: int) -> None:
    elsewhere = moment.astimezone(timezone(timedelta(minutes=minutes, seconds=1)))
    assert time_text(moment) == time_text(elsewhere)
    assert time_of(time_text(moment)) == moment
    assert len(time_text(moment)) == WIDTH
