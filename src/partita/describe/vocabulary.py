"""Words for types, values and bounds that the pages of a design and of an API share."""

from collections.abc import Iterable
from typing import Any

WHOLE_NUMBER = "whole number"
DECIMAL = "decimal number"
DATE = "date (YYYY-MM-DD)"
TIME = "time (ISO 8601)"
UUID_TEXT = "UUID"
_LONG = 10_000  # from here on digits are easier to read in groups of three


def bounds(low: Any, high: Any, unit: str = "") -> str:
    """The bounds of a number, or of a length in units.

    >>> bounds(1, 200), bounds(None, 40, "characters"), bounds(20_000, None), bounds(None, None)
    ('1 to 200', 'at most 40 characters', 'at least 20,000', '')
    """
    if low is None and high is None:
        return ""
    of = f" {unit}" if unit else ""
    if high is None:
        return f"at least {number(low)}{of}"
    return f"at most {number(high)}{of}" if low is None else f"{number(low)} to {number(high)}{of}"


def strict_bounds(low: Any, high: Any, step: Any) -> str:
    """Bounds that are themselves excluded, and the step of a number."""
    words = ("" if low is None else f"above {number(low)}", "" if high is None else f"below {number(high)}")
    return joined(*words, "" if step is None else f"multiple of {number(step)}")


def number(value: Any) -> str:
    return f"{value:,}" if abs(value) >= _LONG else str(value)


def one_of(values: Iterable[Any], *, others: bool = False) -> str:
    """The values of an enum; an open one allows `others`."""
    listed = ", ".join(map(str, values))
    return f"{listed} or another text" if others else f"one of {listed}"


def joined(*words: str) -> str:
    """The words that are not empty, separated by commas."""
    return ", ".join(each for each in words if each)
