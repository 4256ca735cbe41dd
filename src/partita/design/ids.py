"""Ids that are globally unique, sort by time, and begin with a letter: `c_01JMZ8Q3V5T0E6W2R9Y4K7N1PB`.

A letter, a line, ten characters of milliseconds, sixteen of chance (80 bits), in Crockford's base 32. So an id says
when it was made, and a key that holds both is known from the id alone.
"""

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME, _CHANCE = 10, 16  # characters
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def new_id(prefix: str, now: datetime, chance: Callable[[int], int] = secrets.randbits) -> str:
    """An id of its own.

    >>> from datetime import UTC
    >>> new_id("c", datetime(2025, 1, 1, tzinfo=UTC), lambda bits: 0)
    'c_01JGFJJZ000000000000000000'
    """
    return f"{prefix}_{_base32((now - _EPOCH) // _MILLISECOND, _TIME)}{_base32(chance(80), _CHANCE)}"


def time_in_id(made: str) -> datetime | None:
    """When an id of `new_id` was made, in whole milliseconds; None for an id of another make.

    >>> time_in_id("c_01JGFJJZ000000000000000000")
    datetime.datetime(2025, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    >>> time_in_id("comment-42") is None
    True
    """
    prefix, _, digits = made.rpartition("_")
    if not prefix or len(digits) != _TIME + _CHANCE or not set(digits) <= set(_ALPHABET):
        return None
    try:
        return _EPOCH + _number(digits[:_TIME]) * _MILLISECOND
    except OverflowError:  # after the year 9999
        return None


def _base32(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 32)
        digits = _ALPHABET[digit] + digits
    return digits


def _number(digits: str) -> int:
    number = 0
    for digit in digits:
        number = number * 32 + _ALPHABET.index(digit)
    return number
