"""Schedules: the ticks of a job, as moments in UTC that are the same for every process."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import msgspec

from partita.errors import DesignError
from partita.jobs.cron import CronExpression, cron_ticks, parse_cron

RESOLUTION = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TickSpan(msgspec.Struct, frozen=True):
    """Ticks that follow each other."""

    first: datetime
    last: datetime
    count: int


class Schedule(Protocol):
    """The ticks of a job."""

    @property
    def text(self) -> str: ...

    def next_tick(self, after: datetime) -> datetime:
        """The first tick after a moment."""

    def span(self, after: datetime, until: datetime) -> TickSpan | None:
        """The ticks after a moment and not after another, or None."""


class IntervalSchedule(msgspec.Struct, frozen=True):
    """Every multiple of an interval since 1970, in UTC: all processes agree on them, whenever they were started."""

    seconds: int

    @property
    def text(self) -> str:
        """As it is declared.

        >>> IntervalSchedule(5400).text
        'every(minutes=90)'
        """
        for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
            if self.seconds % size == 0:
                return f"every({unit}={self.seconds // size})"
        return f"every(seconds={self.seconds})"

    def next_tick(self, after: datetime) -> datetime:
        return self._tick(self._number(after) + 1)

    def span(self, after: datetime, until: datetime) -> TickSpan | None:
        first, last = self._number(after) + 1, self._number(until)
        return TickSpan(self._tick(first), self._tick(last), last - first + 1) if first <= last else None

    def _number(self, moment: datetime) -> int:
        """The number of the last tick that is not after a moment."""
        return (moment - EPOCH) // timedelta(seconds=self.seconds)

    def _tick(self, number: int) -> datetime:
        return EPOCH + timedelta(seconds=self.seconds * number)


class CronSchedule(msgspec.Struct, frozen=True):
    """The ticks of a cron expression in a time zone."""

    expression: CronExpression
    timezone: str
    zone: tzinfo

    @property
    def text(self) -> str:
        return f"cron({self.expression.text!r}, timezone={self.timezone!r})"

    def next_tick(self, after: datetime) -> datetime:
        return next(self._ticks(after))

    def span(self, after: datetime, until: datetime) -> TickSpan | None:
        first = last = None
        count = 0
        for tick in self._ticks(after):
            if tick > until:
                break
            first, last, count = first or tick, tick, count + 1
        return None if first is None or last is None else TickSpan(first, last, count)

    def _ticks(self, after: datetime) -> Iterator[datetime]:
        return cron_ticks(self.expression, self.zone, after)


def interval_schedule(seconds: float, minutes: float, hours: float, days: float) -> IntervalSchedule:
    """The schedule of an interval of whole seconds.

    >>> interval_schedule(0, 0.001, 0, 0)
    Traceback (most recent call last):
    partita.errors.DesignError: every(): 0.06 seconds is not a valid interval; use whole seconds, 1 or more
    """
    instead = "use whole seconds, 1 or more"
    try:
        total = timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days).total_seconds()
    except (TypeError, ValueError, OverflowError) as error:
        raise DesignError("every()", f"it is not a valid interval ({error})", instead) from None
    if total < 1 or total % 1:
        raise DesignError("every()", f"{total:g} seconds is not a valid interval", instead)
    return IntervalSchedule(int(total))


def cron_schedule(expression: str, timezone: str) -> CronSchedule:
    """The schedule of a cron expression in a time zone, or a DesignError."""
    parsed = parse_cron(expression)
    if timezone == "UTC":
        return CronSchedule(parsed, timezone, UTC)  # a machine without a time zone database knows it, too
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, TypeError, AttributeError, OSError):
        wrong = f"{timezone!r} is not a known time zone"
        instead = "use a name such as Europe/Berlin"
        if not available_timezones():
            instead = "this machine has no time zone database; run pip install tzdata"
        raise DesignError(f"cron {expression!r}", wrong, instead) from None
    return CronSchedule(parsed, timezone, zone)
