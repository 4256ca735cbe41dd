"""Cron expressions of five fields, as cron(5) defines them, and their ticks in a time zone.

    minute hour day-of-month month day-of-week
    0      3    *            *     MON-FRI

A field is `*`, a number, a name (JAN, MON), a range `1-5`, a step `*/10` or `1-30/2`, or a list of those. Sunday is 0
or 7. If both the day of the month and the day of the week are restricted (neither begins with `*`), a day that matches
one of them matches.

Where the clocks change, a schedule of certain hours runs once for each local time that it names: at the end of the gap
if the time is skipped, at its first occurrence if it occurs twice. A schedule of every hour follows the elapsed time:
nothing runs in the gap, and the repeated hour counts as another hour.
"""

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

import msgspec

from partita.errors import DesignError

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
_ITEM = re.compile(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d+))?", re.ASCII)


class _Field(msgspec.Struct, frozen=True):
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def values(self, text: str) -> frozenset[int]:
        """The numbers that a field of an expression names."""
        found: set[int] = set()
        for item in text.split(","):
            match = _ITEM.fullmatch(item)
            if match is None:
                raise ValueError(f"{self.name}: {item!r} is not a number, range or step")
            star, first, last, step = match.groups()
            if step is not None and last is None and not star:
                raise ValueError(f"{self.name}: a step needs a range, as in {first}-{self.high}/{step}")
            low = self.low if star else self._number(first)
            high = self.high if star else low if last is None else self._number(last)
            if low > high:
                raise ValueError(f"{self.name}: the range {item!r} ends before it begins")
            if step is not None and not 1 <= int(step) <= self.high:
                raise ValueError(f"{self.name}: a step is from 1 to {self.high}, not {step}")
            found.update(range(low, high + 1, int(step or 1)))
        return frozenset(found)

    def _number(self, text: str) -> int:
        if text.upper() in self.names:
            return self.names.index(text.upper()) + self.low
        if not text.isdecimal() or not self.low <= int(text) <= self.high:
            names = f", or {self.names[0]} to {self.names[-1]}" if self.names else ""
            raise ValueError(f"{self.name}: {text!r} is not from {self.low} to {self.high}{names}")
        return int(text)


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, tuple(map(str.upper, calendar.month_abbr[1:]))),
    _Field("day of the week", 0, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")),
)


class CronExpression(msgspec.Struct, frozen=True):
    """The parsed fields; `either_day` if a day of the month or a day of the week is enough."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool

    def matches_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month or in_week if self.either_day else in_month and in_week

    @property
    def runs_every_hour(self) -> bool:
        return len(self.hours) == 24


def parse_cron(text: str) -> CronExpression:
    """The expression, or a DesignError that names the wrong field.

    >>> parse_cron("0 3 31 2 *")
    Traceback (most recent call last):
    partita.errors.DesignError: cron '0 3 31 2 *': no month has such a day, so it would never run; choose another day
    """
    instead = "write five fields, as in '0 3 * * *'"
    given: object = text
    if not isinstance(given, str) or len(given.split()) != 5:
        raise DesignError(f"cron {text!r}", "it needs minute, hour, day, month and day of the week", instead)
    texts = text.split()
    try:
        values = [field.values(each) for field, each in zip(_FIELDS, texts, strict=True)]
    except ValueError as error:
        raise DesignError(f"cron {text!r}", str(error), instead) from None
    minutes, hours, days, months, weekdays = values
    either_day = not texts[2].startswith("*") and not texts[4].startswith("*")
    if not either_day and not any(min(days) <= calendar.monthrange(2024, month)[1] for month in months):
        raise DesignError(f"cron {text!r}", "no month has such a day, so it would never run", "choose another day")
    weekdays = frozenset(each % 7 for each in weekdays)
    name = " ".join(texts)
    return CronExpression(name, tuple(sorted(minutes)), tuple(sorted(hours)), days, months, weekdays, either_day)


def cron_ticks(expression: CronExpression, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """The moments of an expression after a moment, in UTC, in their order."""
    ticks = _elapsed_ticks if expression.runs_every_hour else _local_ticks
    latest = after
    for tick in ticks(expression, zone, after):
        if tick > latest:  # several local times in a gap are one moment
            latest = tick
            yield tick


def _elapsed_ticks(expression: CronExpression, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Every hour: the minutes of each hour of UTC whose local time matches."""
    hour = after.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while True:
        if not any(expression.matches_day(each.astimezone(zone).date()) for each in (hour, hour + DAY)):
            hour += DAY
            continue
        for minute in range(60):
            tick = hour + minute * MINUTE
            local = tick.astimezone(zone)
            if local.minute in expression.minutes and expression.matches_day(local.date()):
                yield tick
        hour += timedelta(hours=1)


def _local_ticks(expression: CronExpression, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Certain hours: the moment of each local time of each day that matches."""
    shown = after.astimezone(zone).replace(tzinfo=None)
    day = shown.date()
    while True:
        if expression.matches_day(day):
            for hour in expression.hours:
                for minute in expression.minutes:
                    local = datetime.combine(day, time(hour, minute))
                    if local > shown:  # clocks that show a time have shown, or skipped, all earlier ones
                        yield moment_of(local, zone)
        day += DAY


def moment_of(local: datetime, zone: tzinfo) -> datetime:
    """The first moment, in UTC, at which clocks show a local time or a later one."""
    first = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) == local:
        return first
    low, high = local.replace(tzinfo=zone, fold=1).astimezone(UTC), first  # the clocks change between the two
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if middle.astimezone(zone).replace(tzinfo=None) < local:
            low = middle
        else:
            high = middle
    return high
