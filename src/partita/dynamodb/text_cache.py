"""Caches of what was made from texts, bounded in memory.

Programs send few distinct texts, hostile clients ever new ones. A tree or a compiled expression takes up to 130 bytes
for each character of its text. So the characters are counted, not the entries.
"""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Generic, TypeVar

Value = TypeVar("Value")

MAX_CHARACTERS = 128 * 1024
ENTRY = 64  # characters that an entry counts in addition, for what it takes whatever its text


class TextCache(Generic[Value]):
    """Values by key; it is emptied when the characters of its keys reach a limit, and leaves out very long ones."""

    __slots__ = ("_characters", "_entries", "_limit", "get")

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._entries: dict[Hashable, Value] = {}
        self._characters = 0
        self._limit = max_characters
        self.get = self._entries.get

    def store(self, key: Hashable, value: Value, characters: int) -> None:
        """Keeps a value, which was made from so many characters."""
        characters += ENTRY
        if characters > self._limit // 8:
            return
        if self._characters + characters > self._limit:
            self._entries.clear()
            self._characters = 0
        self._entries[key] = value
        self._characters += characters

    def keys(self) -> list[Hashable]:
        """The keys of all entries."""
        return list(self._entries)


def cached_by_text(parse: Callable[[str], Value]) -> Callable[[str], Value]:
    """Caches the results of `parse`; errors are not cached."""
    cache: TextCache[Value] = TextCache()

    @wraps(parse)
    def cached(source: str) -> Value:
        found = cache.get(source)
        if found is None:
            found = parse(source)
            cache.store(source, found, len(source))
        return found

    return cached
