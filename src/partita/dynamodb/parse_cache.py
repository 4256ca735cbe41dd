"""A cache of parsed texts, bounded in memory: programs send few distinct texts, hostile clients ever new ones."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Parsed = TypeVar("Parsed")

SHORT = 512  # characters
SHORT_TEXTS = 4096
LONG_TEXTS = 64  # the tree of a statement of 8 KB has about a megabyte


def cached_by_text(parse: Callable[[str], Parsed]) -> Callable[[str], Parsed]:
    """Caches the results of `parse`: of many short texts and of a few long ones; errors are not cached."""
    short, long = lru_cache(SHORT_TEXTS)(parse), lru_cache(LONG_TEXTS)(parse)

    @wraps(parse)
    def cached(source: str) -> Parsed:
        return short(source) if len(source) <= SHORT else long(source)

    return cached
