"""The decision about ticks that are due: which one runs, and which are recorded as missed or skipped."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from partita.jobs.job import Job
from partita.jobs.job_records import JobOutcome, LastRun
from partita.jobs.schedules import RESOLUTION, TickSpan

MOST_RECORDS = 90  # with a decision, in one transaction; DynamoDB takes 100 actions


class Decision(NamedTuple):
    """The tick to run, if any, and the others; all ticks until `handled_until` are decided."""

    tick: datetime | None
    others: list[tuple[JobOutcome, TickSpan]]
    handled_until: datetime


Period = tuple[datetime, datetime]
"""From a moment, exclusive, to another."""


def decide(
    job: Job, last: LastRun | None, since: datetime, now: datetime, recorded: Sequence[TickSpan]
) -> Decision | None:
    """What to do about the ticks after `since`; None if none is due. `recorded` ticks are not decided again."""
    if job.missed == "all":
        return _next_of_all(job, since, now, recorded)
    due = job.schedule.span(since, now)
    if due is None:
        return None
    tick = due.last if _may_run(job, last, due.last, now) and not _covers(recorded, due.last) else None
    until = due.last if tick is None else tick - RESOLUTION
    others = [
        (outcome, span)
        for period in _without(recorded, (since, until))
        for outcome, (low, high) in _by_cause(last, period)
        if (span := job.schedule.span(low, high)) is not None
    ]
    if len(others) > MOST_RECORDS:
        return Decision(None, others[:MOST_RECORDS], others[MOST_RECORDS - 1][1].last)
    return Decision(tick, others, due.last)


def _next_of_all(job: Job, since: datetime, now: datetime, recorded: Sequence[TickSpan]) -> Decision | None:
    """The first tick that is not recorded; a clock that was set back makes recorded ones due again."""
    handled_until, tick = since, job.schedule.next_tick(since)
    for each in recorded:
        if tick > now or tick < each.first:
            break
        if tick <= each.last:
            handled_until, tick = each.last, job.schedule.next_tick(each.last)
    if tick <= now:
        return Decision(tick, [], tick)
    return Decision(None, [], handled_until) if handled_until > since else None


def _may_run(job: Job, last: LastRun | None, tick: datetime, now: datetime) -> bool:
    if job.missed == "once":
        return True
    return now - tick <= job.grace and (last is None or not last.begun_at < tick <= last.ended_at)


def _covers(spans: Sequence[TickSpan], tick: datetime) -> bool:
    return any(each.first <= tick <= each.last for each in spans)


def _without(recorded: Sequence[TickSpan], period: Period) -> Iterator[Period]:
    """The parts of a period between ticks that are recorded already."""
    low, high = period
    for each in recorded:
        if each.first > high:
            break
        yield low, each.first - RESOLUTION
        low = max(low, each.last)
    yield low, high


def _by_cause(last: LastRun | None, period: Period) -> Iterator[tuple[JobOutcome, Period]]:
    """A period, divided by the last run: ticks while it ran were skipped, ticks before and after it missed."""
    low, high = period
    begun, ended = (low, low) if last is None else (last.begun_at, max(last.begun_at, last.ended_at))
    bounds = [low, *(min(max(each, low), high) for each in (begun, ended)), high]
    outcomes = (JobOutcome.MISSED, JobOutcome.SKIPPED, JobOutcome.MISSED)
    for outcome, start, end in zip(outcomes, bounds, bounds[1:], strict=False):
        if start < end:
            yield outcome, (start, end)
