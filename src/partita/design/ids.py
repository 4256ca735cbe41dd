"""Ids that are globally unique, sort by time, and begin with a letter: `c_01JMZ8Q3V5T0E6W2R9Y4K7N1PB`.

A letter, a line, ten characters of milliseconds, sixteen of chance (80 bits), in Crockford's base 32.
"""

import secrets
from collections.abc import Callable
from datetime import datetime

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_id(prefix: str, now: datetime, chance: Callable[[int], int] = secrets.randbits) -> str:
    """An id of its own.

    >>> from datetime import UTC
    >>> new_id("c", datetime(2025, 1, 1, tzinfo=UTC), lambda bits: 0)
    'c_01JGFJJZ000000000000000000'
    """
    return f"{prefix}_{_base32(int(now.timestamp() * 1000), 10)}{_base32(chance(80), 16)}"


def _base32(number: int, width: int) -> str:
    digits = ""
    for _ in range(width):
        number, digit = divmod(number, 32)
        digits = _ALPHABET[digit] + digits
    return digits
