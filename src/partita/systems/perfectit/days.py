"""Cursors of what is walked day by day: the day, and where in it to go on, signed like every other cursor."""

from datetime import date, timedelta

from partita import CursorRefused
from partita.store.cursors import cursor_text, states_of

RECENT = timedelta(days=90)  # how far back is walked
_NAME = "recent"


def day_cursor(day: date, inside: str | None, secret: bytes | None) -> str:
    return cursor_text(_NAME, [day.toordinal(), {"inside": {"S": inside}} if inside else 0], secret)


def day_of(cursor: str, today: date, secret: bytes | None) -> tuple[date, str | None]:
    """The day that a cursor names, which is one of the last ninety, and the cursor inside of it."""
    match states_of(_NAME, cursor, _NAME, secret):
        case [int(day), 0] if _is_walked(day, today):
            return date.fromordinal(day), None
        case [int(day), {"inside": {"S": str(inside)}}] if _is_walked(day, today):
            return date.fromordinal(day), inside
    raise CursorRefused(_NAME, f"it names none of the last {RECENT.days} days")


def _is_walked(day: int, today: date) -> bool:
    return 0 <= today.toordinal() - day < RECENT.days
