"""One sentence about an operation that comes from a pattern: the pattern's docstring, or one derived from its name.

A docstring may begin with the number of the access pattern in the team's document (`2. A company's active needs`); a
client does not know that document, so the number is left out.
"""

import re
from collections.abc import Sequence
from typing import Any

from partita.design.patterns import Pattern

_OF = re.compile(r"(.+?)_(?:of|by|in)_(.+)")
_NUMBER = re.compile(r"^\d+\. ")


def get_summary(pattern: Pattern[Any, Any], entity: Any) -> str:
    return _docstring(pattern) or f"One {noun(entity)}."


def list_summary(pattern: Pattern[Any, Any]) -> str:
    return _docstring(pattern) or f"{_list_phrase(pattern).capitalize()}, a page at a time."


def patch_summary(fields: Sequence[str], entity: Any) -> str:
    *others, last = map(words, fields)
    listed = f"{', '.join(others)} or {last}" if others else last
    return f"Change {listed} of {_with_article(noun(entity))}."


def delete_summary(entity: Any) -> str:
    return f"Delete {_with_article(noun(entity))}."


def words(name: str) -> str:
    """`display_name`: display name."""
    return name.replace("_", " ")


def noun(entity: Any) -> str:
    """`BuildJob`: build job."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", entity.__name__).lower()


def _docstring(pattern: Pattern[Any, Any]) -> str:
    return _NUMBER.sub("", pattern.__doc__ or "")


def _list_phrase(pattern: Pattern[Any, Any]) -> str:
    """`cards_by_author`: cards of one author. `users_between`: users between `since` and `until`."""
    if pattern.name.endswith("_between"):
        low, high = (each.name for each in pattern.arguments[-2:])
        return f"{words(pattern.name)} `{low}` and `{high}`"
    found = _OF.fullmatch(pattern.name)
    return f"{words(found[1])} of one {words(found[2])}" if found else words(pattern.name)


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeio" else f"a {noun}"
