"""Times on disk: ISO 8601 in UTC, one fixed width, so that text order is time order.

Any ISO form is read; `2025-01-01T00:00:00.000000Z` is written. Within one second a foreign row may therefore sort
differently from ours: `…00Z` sorts after `…00.000000Z`, because `Z` sorts after `.`.
"""

from datetime import UTC, date, datetime

WIDTH = len("2025-01-01T00:00:00.000000Z")
_FORM = "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ"  # in half the time that isoformat takes


def time_text(moment: datetime) -> str:
    """The fixed-width UTC text of a moment.

    >>> time_text(datetime(2025, 1, 1, tzinfo=UTC))
    '2025-01-01T00:00:00.000000Z'
    """
    if moment.tzinfo is UTC:
        return _FORM % (
            moment.year,
            moment.month,
            moment.day,
            moment.hour,
            moment.minute,
            moment.second,
            moment.microsecond,
        )
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; write datetime(..., tzinfo=UTC)")
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _seconds(moment: datetime) -> str:
    return f"{time_text(moment)[:-8]}Z"


def _milliseconds(moment: datetime) -> str:
    return f"{time_text(moment)[:-4]}Z"


def _of_python(moment: datetime) -> str:
    return in_utc(moment).isoformat()


OTHER_FORMS = (_seconds, _milliseconds, _of_python)
"""How other code may have written a time: without a fraction, as JavaScript does, as Python does."""


def time_of(text: str) -> datetime:
    """The moment that any ISO 8601 text says; without a zone it is UTC.

    >>> time_of("2024-06-29T14:00:00Z").hour
    14
    """
    return in_utc(datetime.fromisoformat(text))


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC; one without a zone is taken as UTC."""
    if moment.tzinfo is UTC:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def normalized_time(moment: datetime) -> datetime:
    """The same moment as it will be read back; one without a zone stays as it is, and is refused when it is written."""
    return moment if moment.tzinfo is UTC or moment.tzinfo is None else moment.astimezone(UTC)


def day_of(value: date) -> date:
    """The UTC day of a moment, or the day itself."""
    return in_utc(value).date() if isinstance(value, datetime) else value
