"""Cursors of what is walked day by day: the day, and where in it to go on.

The second part is the store's own cursor, signed and made for that day. The first needs no signature: a day that is not
walked is refused.
"""

from datetime import date, timedelta

from partita import InvalidCursor

RECENT = timedelta(days=90)  # how far back is walked
_NAME = "recent"


def day_cursor(day: date, inside: str | None) -> str:
    return f"{day.isoformat()}~{inside or ''}"


def day_of(cursor: str, today: date) -> tuple[date, str | None]:
    """The day that a cursor names, which is one of the last ninety, and the cursor inside of it."""
    named, between, inside = cursor.partition("~")
    try:
        day = date.fromisoformat(named)
    except ValueError:
        day = date.min
    if not between or not timedelta() <= today - day < RECENT:
        raise InvalidCursor(_NAME, f"it names none of the last {RECENT.days} days")
    return day, inside or None
