"""Times on disk: ISO 8601 in UTC, one fixed width, so that text order is time order.

Any ISO 8601 form is read; `2025-01-01T00:00:00.000000Z` is written. Rows of other code may therefore sort differently
within one second: `…00Z` sorts after `…00.000000Z`, because `Z` sorts after `.`.
"""

from datetime import UTC, date, datetime

from partita.errors import Fault
from partita.validation import FaultyValue

WIDTH = len("2025-01-01T00:00:00.000000Z")
_FORM = "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ"  # twice as fast as isoformat


def time_text(time: datetime) -> str:
    """The fixed-width UTC text of a time.

    >>> time_text(datetime(2025, 1, 1, tzinfo=UTC))
    '2025-01-01T00:00:00.000000Z'
    """
    if time.tzinfo is UTC:
        return _FORM % (
            time.year,
            time.month,
            time.day,
            time.hour,
            time.minute,
            time.second,
            time.microsecond,
        )
    if time.tzinfo is None:
        reason = f"{time.isoformat()} has no time zone; write datetime(..., tzinfo=UTC)"
        raise FaultyValue(Fault("time zone", "a"), reason)
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def second_text(time: datetime) -> str:
    """What the texts of all times in the same second begin with, whatever their width is."""
    return time_text(time)[: len("2025-01-01T00:00:00")]


AFTER_SECOND = "["
"""Follows the `Z`, `.` or `+` that follows a second: `2025-01-01T00:00:00[` is above every time in that second."""


def _seconds(time: datetime) -> str:
    return f"{time_text(time)[:-8]}Z"


def _milliseconds(time: datetime) -> str:
    return f"{time_text(time)[:-4]}Z"


def _of_python(time: datetime) -> str:
    return in_utc(time).isoformat()


OTHER_FORMS = (_seconds, _milliseconds, _of_python)
"""Formats in which other code may have written a time: whole seconds, JavaScript's, Python's."""


def time_of(text: str) -> datetime:
    """The time of an ISO 8601 text; without a zone it is UTC.

    >>> time_of("2024-06-29T14:00:00Z").hour
    14
    """
    return in_utc(datetime.fromisoformat(text))


def in_utc(time: datetime) -> datetime:
    """The same time in UTC; one without a zone is taken as UTC."""
    if time.tzinfo is UTC:
        return time
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def normalized_time(time: datetime) -> datetime:
    """The time as it will be read back, in UTC; one without a zone is returned unchanged, and rejected when written."""
    return time if time.tzinfo is UTC or time.tzinfo is None else time.astimezone(UTC)


def day_of(value: date) -> date:
    """The UTC day of a time, or the date itself."""
    if isinstance(value, datetime):
        return in_utc(value).date()
    if not isinstance(value, date):
        raise FaultyValue(Fault("type", "date", type(value).__name__))
    return value
