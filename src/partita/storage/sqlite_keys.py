"""Keys of spaces in columns of SQLite: bytes, or in a log integers."""

from typing import Any

from partita.storage.contract import is_log

KEY_BYTES = 8
_HIGHEST = (1 << 63) - 1  # of SQLite's integers


def key_to(space: str, key: bytes) -> Any:
    """The key of a row as SQLite stores it."""
    return int.from_bytes(key, "big") if is_log(space) else key


def key_from(space: str, stored: Any) -> Any:
    """The key of a stored row; None for a damaged one that is not a number of a log."""
    if not is_log(space):
        return stored
    return stored.to_bytes(KEY_BYTES, "big") if type(stored) is int and stored >= 0 else None


def bound_to(space: str, bound: bytes) -> Any:
    """The bound of a range as SQLite compares it: in a log, the lowest number whose key is not below it."""
    if not is_log(space):
        return bound
    number = int.from_bytes(bound[:KEY_BYTES].ljust(KEY_BYTES, b"\0"), "big") + (len(bound) > KEY_BYTES)
    return min(number, _HIGHEST)
