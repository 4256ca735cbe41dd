"""The JSON of an item, remembered by the item's own bytes.

What a reply says of an item follows from its bytes and nothing else. So it is kept under them: whoever writes the item,
in this process or another, writes other bytes and is never answered with the old ones. Memory is bounded by two
generations: when the younger is full the older one goes, and what is asked for again moves to the younger.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

LARGEST_ITEM = 32 * 1024
GENERATION = 8 * 1024 * 1024  # bytes of items


class Shown(NamedTuple):
    """An item as a reply shows it; `expires` is the second from which it is hidden."""

    body: bytes
    expires: float | None
    entity: Any = None
    tag: str = ""


class ItemDecoder(Protocol):
    """A decoder of one entity, or of several."""

    def with_expiry(self, raw: bytes | msgspec.Raw) -> tuple[Any, float | None]: ...


Key = tuple[int, bytes]


class Memory:
    """What was shown of late, by whom and of which bytes."""

    def __init__(self, generation: int = GENERATION) -> None:
        self._generation = generation
        self._young: dict[Key, Shown] = {}
        self._old: dict[Key, Shown] = {}
        self._size = 0

    def get(self, key: Key) -> Shown | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: Key, shown: Shown) -> None:
        if len(key[1]) > LARGEST_ITEM:
            return
        self._size += len(key[1])
        if self._size > self._generation:
            self._old, self._young, self._size = self._young, {}, len(key[1])
        self._young[key] = shown


def showing(
    memory: Memory, number: int, decoder: ItemDecoder, show: Callable[[Any, float | None], Shown]
) -> Callable[[msgspec.Raw, int | None], Shown | None]:
    """What the store's flows call in place of a decoder; `number` tells one way of showing from another."""

    def decode(raw: msgspec.Raw, now: int | None) -> Shown | None:
        key = (number, bytes(raw))
        shown = memory.get(key)
        if shown is None:
            shown = show(*decoder.with_expiry(raw))
            memory.put(key, shown)
        expired = shown.expires is not None and now is not None and shown.expires <= now
        return None if expired else shown

    return decode
