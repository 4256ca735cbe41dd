"""Cursors of a list that is read day by day: the day, and the position in it, signed by the store as one text.

The position is the store's own cursor, which is valid for that day only.
"""

from datetime import date, timedelta

from partita import InvalidCursor, Store

RECENT_PERIOD = timedelta(days=90)
_NAME = "recent"


def day_cursor(db: Store, day: date, inside: str | None) -> str:
    return db.sign_cursor(_NAME, f"{day.isoformat()}~{inside or ''}")


def parse_day_cursor(db: Store, cursor: str, today: date) -> tuple[date, str | None]:
    """The day of a cursor, which is in the recent period, and the cursor inside that day."""
    text, _, inside = db.cursor_position(_NAME, cursor).partition("~")
    day = date.fromisoformat(text)
    if not timedelta() <= today - day < RECENT_PERIOD:
        raise InvalidCursor(_NAME, f"its day is not one of the last {RECENT_PERIOD.days} days")
    return day, inside or None
