"""What an operation that comes from a pattern does, in a sentence: the pattern's own, or one that is made of its name.

A pattern is numbered as the team's document numbers it (`2. A company's active needs`), which says nothing to a client.
"""

import re
from collections.abc import Sequence
from typing import Any

from partita.design.patterns import Pattern

_OF = re.compile(r"(.+?)_(?:of|by|in)_(.+)")
_NUMBER = re.compile(r"^\d+\. ")


def of_one(pattern: Pattern[Any, Any], entity: Any) -> str:
    return _own(pattern) or f"One {noun(entity)}."


def of_page(pattern: Pattern[Any, Any]) -> str:
    return _own(pattern) or f"{_listed(pattern).capitalize()}, a page at a time."


def of_change(fields: Sequence[str], entity: Any) -> str:
    *others, last = map(spoken, fields)
    listed = f"{', '.join(others)} or {last}" if others else last
    return f"Change {listed} of {_a(noun(entity))}."


def of_deletion(entity: Any) -> str:
    return f"Delete {_a(noun(entity))}."


def spoken(name: str) -> str:
    """`display_name`: display name."""
    return name.replace("_", " ")


def noun(entity: Any) -> str:
    """`BuildJob`: build job."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", entity.__name__).lower()


def _own(pattern: Pattern[Any, Any]) -> str:
    return _NUMBER.sub("", pattern.__doc__ or "")


def _listed(pattern: Pattern[Any, Any]) -> str:
    """`cards_by_author`: cards of one author. `users_between`: users between `since` and `until`."""
    if pattern.name.endswith("_between"):
        low, high = (each.name for each in pattern.arguments[-2:])
        return f"{spoken(pattern.name)} `{low}` and `{high}`"
    found = _OF.fullmatch(pattern.name)
    return f"{spoken(found[1])} of one {spoken(found[2])}" if found else spoken(pattern.name)


def _a(thing: str) -> str:
    return f"an {thing}" if thing[0] in "aeio" else f"a {thing}"
