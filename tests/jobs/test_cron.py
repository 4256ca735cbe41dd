"""Cron expressions: their syntax, their ticks, and the nights when clocks change."""

import random
import zoneinfo
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest

from partita.errors import DesignError
from partita.jobs.cron import CronExpression, cron_ticks, parse_cron
from partita.jobs.schedules import TickSpan, cron_schedule, interval_schedule

MINUTE = timedelta(minutes=1)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Asia/Kolkata",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Pacific/Apia",
)


def ticks(text: str, zone: str, after: str, count: int) -> list[str]:
    """The next local times of an expression."""
    schedule = cron_schedule(text, zone)
    begin = datetime.fromisoformat(after).replace(tzinfo=schedule.zone)
    found = islice(cron_ticks(schedule.expression, schedule.zone, begin), count)
    return [each.astimezone(schedule.zone).isoformat(timespec="minutes") for each in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 3 * * *", ["2026-01-02T03:00", "2026-01-03T03:00", "2026-01-04T03:00"]),
        ("*/20 * * * *", ["2026-01-01T12:20", "2026-01-01T12:40", "2026-01-01T13:00"]),
        ("5,10-12/2 9 * * *", ["2026-01-02T09:05", "2026-01-02T09:10", "2026-01-02T09:12"]),
        ("0 0 1 * *", ["2026-02-01T00:00", "2026-03-01T00:00", "2026-04-01T00:00"]),
        ("0 0 * * MON-fri", ["2026-01-02T00:00", "2026-01-05T00:00", "2026-01-06T00:00"]),
        ("0 0 * * 7", ["2026-01-04T00:00", "2026-01-11T00:00", "2026-01-18T00:00"]),
        ("0 0 13 * FRI", ["2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00"]),
        ("0 0 */10 * FRI", ["2026-05-01T00:00", "2026-07-31T00:00", "2026-08-21T00:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00"]),
        ("30 * 1 jul *", ["2026-07-01T00:30", "2026-07-01T01:30", "2026-07-01T02:30"]),
    ],
)
def test_expression_has_these_ticks(text: str, expected: list[str]) -> None:
    assert ticks(text, "UTC", "2026-01-01T12:00", 3) == [f"{each}+00:00" for each in expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it needs minute, hour, day, month and day of the week"),
        ("* * * *", "it needs minute, hour, day, month and day of the week"),
        ("@daily", "it needs minute, hour, day, month and day of the week"),
        ("60 * * * *", "minute: '60' is not from 0 to 59"),
        ("-1 * * * *", "minute: '-1' is not a number, range or step"),
        ("* 24 * * *", "hour: '24' is not from 0 to 23"),
        ("* * 0 * *", "day of the month: '0' is not from 1 to 31"),
        ("* * * 13 *", "month: '13' is not from 1 to 12, or JAN to DEC"),
        ("* * * * 8", "day of the week: '8' is not from 0 to 7, or SUN to SAT"),
        ("* * * FOO *", "month: 'FOO' is not from 1 to 12"),
        ("5-1 * * * *", "minute: the range '5-1' ends before it begins"),
        ("*/0 * * * *", "minute: a step is from 1 to 59, not 0"),
        ("5/10 * * * *", "minute: a step needs a range, as in 5-59/10"),
        ("1,,2 * * * *", "minute: '' is not a number, range or step"),
        ("\u0661 * * * *", "is not a number, range or step"),
        ("0 0 31 2 *", "no month has such a day"),
        ("0 0 31 4,6,9,11 *", "no month has such a day"),
    ],
)
def test_invalid_expression_is_an_error_that_names_the_field(text: str, message: str) -> None:
    with pytest.raises(DesignError) as raised:
        parse_cron(text)
    assert message in str(raised.value)


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "Europe", "../etc/passwd", "\0", 3])
def test_unknown_time_zone_is_an_error(zone: str) -> None:
    with pytest.raises(DesignError, match="is not a known time zone"):
        cron_schedule("0 3 * * *", zone)


def test_machine_without_a_time_zone_database_knows_utc_and_says_what_to_install() -> None:
    paths = zoneinfo.TZPATH
    zoneinfo.reset_tzpath([])
    ZoneInfo.clear_cache()
    try:
        assert cron_schedule("0 3 * * *", "UTC").zone is UTC
        with pytest.raises(DesignError, match="no time zone database; run pip install tzdata"):
            cron_schedule("0 3 * * *", "Europe/Berlin")
    finally:
        zoneinfo.reset_tzpath(paths)


# Berlin, 2026-03-29: 02:00 to 03:00 does not exist. 2026-10-25: 02:00 to 03:00 occurs twice.


def test_skipped_local_time_runs_at_the_end_of_the_gap() -> None:
    assert ticks("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00", 3) == [
        "2026-03-28T02:30+01:00",
        "2026-03-29T03:00+02:00",
        "2026-03-30T02:30+02:00",
    ]


def test_several_skipped_local_times_are_one_tick() -> None:
    assert ticks("*/15 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00", 5) == [
        "2026-03-29T03:00+02:00",
        "2026-03-29T03:15+02:00",
        "2026-03-29T03:30+02:00",
        "2026-03-29T03:45+02:00",
        "2026-03-30T02:00+02:00",
    ]


def test_repeated_local_time_runs_once_at_its_first_occurrence() -> None:
    assert ticks("30 2 * * *", "Europe/Berlin", "2026-10-24T03:00", 2) == [
        "2026-10-25T02:30+02:00",
        "2026-10-26T02:30+01:00",
    ]


def test_schedule_of_every_hour_follows_the_elapsed_time() -> None:
    assert ticks("30 * * * *", "Europe/Berlin", "2026-03-29T01:00", 2) == [
        "2026-03-29T01:30+01:00",
        "2026-03-29T03:30+02:00",
    ]
    assert ticks("30 * * * *", "Europe/Berlin", "2026-10-25T01:00", 4) == [
        "2026-10-25T01:30+02:00",
        "2026-10-25T02:30+02:00",
        "2026-10-25T02:30+01:00",
        "2026-10-25T03:30+01:00",
    ]


def test_skipped_day_runs_when_it_would_have_ended() -> None:
    """Apia had no 30 December 2011."""
    assert ticks("0 9 30 12 *", "Pacific/Apia", "2011-12-29T00:00", 1) == ["2011-12-31T00:00+14:00"]


def walk(expression: CronExpression, zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[datetime]:
    """Every minute in turn: a time that clocks show, or jump over, for the first time."""
    minute = begin
    shown: datetime | None = None
    while minute <= end:
        local = minute.astimezone(zone).replace(tzinfo=None)
        passed = [local]
        if not expression.runs_every_hour:
            start = local if shown is None else shown + MINUTE
            passed = [start + MINUTE * each for each in range((local - start) // MINUTE + 1)]
        shown = max(local, shown or local)
        if minute > begin and any(
            each.minute in expression.minutes and each.hour in expression.hours and expression.matches_day(each.date())
            for each in passed
        ):
            yield minute
        minute += MINUTE


def random_field(rng: random.Random, low: int, high: int) -> str:
    def one() -> str:
        first = rng.randint(low, high)
        last = rng.randint(first, high)
        step = rng.randint(1, high)
        return rng.choice([str(first), f"{first}-{last}", f"{first}-{last}/{step}", f"*/{step}"])

    return rng.choice(["*", "*", one(), f"{one()},{one()}"])


CHANGES = (
    "2026-03-08",
    "2026-03-28",
    "2026-04-04",
    "2026-10-03",
    "2026-10-24",
    "2026-10-31",
    "2011-12-29",
    "2018-02-16",
)


def random_expression(rng: random.Random) -> CronExpression:
    """Days are less often restricted than times, so that most expressions have ticks."""
    while True:
        times = [random_field(rng, 0, 59), random_field(rng, 0, 23)]
        days = [random_field(rng, low, high) if rng.random() < 0.3 else "*" for low, high in ((1, 31), (1, 12), (0, 7))]
        with suppress(DesignError):
            return parse_cron(" ".join(times + days))


@pytest.mark.parametrize("seed", range(30))
def test_ticks_are_those_of_a_walk_through_every_minute(seed: int) -> None:
    rng = random.Random(seed)
    expression = random_expression(rng)
    for zone in map(ZoneInfo, rng.sample(ZONES, 3)):
        day = datetime(2026, 1, 1) + timedelta(rng.randint(0, 900))
        if rng.random() < 0.7:
            day = datetime.fromisoformat(rng.choice(CHANGES))
        begin = day.replace(tzinfo=UTC) + MINUTE * rng.randint(0, 1440)
        end = begin + timedelta(days=2)
        found = list(takewhile(end.__ge__, cron_ticks(expression, zone, begin)))
        assert found == list(walk(expression, zone, begin, end)), (expression.text, zone.key, begin)


@pytest.mark.parametrize("text", ["*/7 * * * *", "0 3 * * *", "15 2 29 2 *"])
def test_span_counts_the_ticks_between_two_moments(text: str) -> None:
    schedule = cron_schedule(text, "Europe/Berlin")
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    end = begin + timedelta(days=30)
    expected = list(takewhile(end.__ge__, cron_ticks(schedule.expression, schedule.zone, begin)))
    span = schedule.span(begin, end)
    assert (span is None) == (not expected)
    if span is not None:
        assert span == TickSpan(expected[0], expected[-1], len(expected))
        assert schedule.span(begin, expected[0]) == TickSpan(expected[0], expected[0], 1)
        assert schedule.next_tick(expected[0]) == expected[1]


@pytest.mark.parametrize("seed", range(20))
def test_interval_has_the_multiples_of_its_seconds(seed: int) -> None:
    rng = random.Random(seed)
    seconds = rng.choice([1, 7, 60, 600, 86_400])
    schedule = interval_schedule(seconds, 0, 0, 0)
    begin = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=rng.uniform(0, 100_000))
    end = begin + timedelta(seconds=rng.uniform(0, 5 * seconds))
    expected = []
    tick = schedule.next_tick(begin)
    assert begin < tick <= begin + timedelta(seconds=seconds)
    assert tick.timestamp() % seconds == 0
    while tick <= end:
        expected.append(tick)
        tick = schedule.next_tick(tick)
    assert schedule.span(begin, end) == (TickSpan(expected[0], expected[-1], len(expected)) if expected else None)


@pytest.mark.parametrize("given", [{}, {"seconds": 0.5}, {"minutes": -1}, {"days": float("nan")}, {"hours": "1"}])
def test_invalid_interval_is_an_error(given: dict[str, float]) -> None:
    zero: dict[str, float] = {"seconds": 0, "minutes": 0, "hours": 0, "days": 0}
    with pytest.raises(DesignError, match="is not a valid interval"):
        interval_schedule(**(zero | given))
