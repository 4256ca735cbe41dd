"""Ids that are globally unique, sort by time, and begin with a letter: `c_01JMZ8Q3V5T0E6W2R9Y4K7N1PB`.

A prefix, an underscore, ten characters of milliseconds and sixteen random ones (80 bits), in Crockford's base 32. The
id contains the time of its creation, so a key with both can be computed from the id alone.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME, _RANDOM = 10, 16  # characters
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def _random_bits(count: int) -> int:
    return int.from_bytes(os.urandom((count + 7) // 8)) >> (-count % 8)


def new_id(prefix: str, now: datetime, random_bits: Callable[[int], int] = _random_bits) -> str:
    """A new id.

    >>> from datetime import UTC
    >>> new_id("c", datetime(2025, 1, 1, tzinfo=UTC), lambda bits: 0)
    'c_01JGFJJZ000000000000000000'
    """
    return f"{prefix}_{_base32((now - _EPOCH) // _MILLISECOND, _TIME)}{_base32(random_bits(80), _RANDOM)}"


def time_in_id(text: str) -> datetime | None:
    """When `new_id` created this id, in whole milliseconds; None for an id in another format.

    >>> time_in_id("c_01JGFJJZ000000000000000000")
    datetime.datetime(2025, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)
    >>> time_in_id("comment-42") is None
    True
    """
    prefix, _, digits = text.rpartition("_")
    if not prefix or len(digits) != _TIME + _RANDOM or not set(digits) <= set(_ALPHABET):
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
