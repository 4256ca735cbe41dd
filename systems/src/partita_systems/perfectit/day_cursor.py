"""Cursors of a list that is read day by day: the day, and the position in it.

The position is the store's own cursor, which is signed and valid for that day only. The day needs no signature: a day
outside the period is rejected.
"""

from datetime import date, timedelta

from partita import InvalidCursor

RECENT_PERIOD = timedelta(days=90)
_NAME = "recent"


def day_cursor(day: date, inside: str | None) -> str:
    return f"{day.isoformat()}~{inside or ''}"


def parse_day_cursor(cursor: str, today: date) -> tuple[date, str | None]:
    """The day of a cursor, which is in the recent period, and the cursor inside that day."""
    text, separator, inside = cursor.partition("~")
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not separator or not timedelta() <= today - day < RECENT_PERIOD:
        raise InvalidCursor(_NAME, f"its day is not one of the last {RECENT_PERIOD.days} days")
    return day, inside or None
