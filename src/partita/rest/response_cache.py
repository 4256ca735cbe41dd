"""What was shown of late, so that it need not be made again: items and pages by their bytes, replies by a version.

What a reply says of an item follows from its bytes and nothing else. So its JSON is kept under them: whoever writes the
item, in this process or another, writes other bytes and is never answered with the old ones. A page is kept with the
bytes of its items, and given again when the same bytes are read again. A whole reply is kept with the version that the
data had before it was read, and used while the data still has it.

Memory is bounded by two generations: when the younger is full the older one goes, and what is asked for again moves to
the younger.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from partita.rest.etags import digest

V = TypeVar("V")
Decode = Callable[[msgspec.Raw, int | None], "RenderedItem | None"]

GENERATION = 8 * 1024 * 1024  # bytes


class RenderedItem(NamedTuple):
    """An item as a reply shows it; `expires` is the second from which it is hidden."""

    body: bytes
    expires: float | None
    entity: Any = None
    tag: str = ""


class RenderedPage(NamedTuple):
    """A page as a reply shows it, and what it was made from."""

    items: list[msgspec.Raw]
    cursor: str | None
    body: bytes
    tag: str

    @property
    def size(self) -> int:
        return len(self.body) + sum(memoryview(item).nbytes for item in self.items)


class ItemDecoder(Protocol):
    """A decoder of one entity, or of several."""

    def with_expiry(self, raw: bytes | msgspec.Raw) -> tuple[Any, float | None]: ...


class TwoGenerationCache(Generic[V]):
    """Values by key, each of a size in bytes."""

    def __init__(self, generation: int = GENERATION) -> None:
        self._generation = generation
        self.young: dict[Any, tuple[V, int]] = {}  # read by who cannot wait for `get`
        self._old: dict[Any, tuple[V, int]] = {}
        self._size = 0

    def get(self, key: Any) -> V | None:
        found = self.young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                return None
            self.put(key, *found)
        return found[0]

    def put(self, key: Any, value: V, size: int) -> None:
        if size > self._generation // 16:
            return
        self._size += size
        if self._size > self._generation:
            self._old, self.young, self._size = self.young, {}, size
        self.young[key] = (value, size)


def caching_decoder(
    memory: TwoGenerationCache[RenderedItem],
    number: int,
    decoder: ItemDecoder,
    show: Callable[[Any, float | None], RenderedItem],
) -> Decode:
    """What the store's flows call in place of a decoder; `number` tells one way of showing from another."""

    def decode(raw: msgspec.Raw, now: int | None) -> RenderedItem | None:
        key = (number, bytes(raw))
        found = memory.young.get(key)
        shown = found[0] if found is not None else memory.get(key)
        if shown is None:
            shown = show(*decoder.with_expiry(raw))
            memory.put(key, shown, len(key[1]))
        expired = shown.expires is not None and now is not None and shown.expires <= now
        return None if expired else shown

    return decode


def page_body(items: list[RenderedItem], cursor: str | None) -> tuple[bytes, str]:
    """A page's JSON and its tag."""
    shown = b",".join([each.body for each in items])
    body = b'{"items":[%b],"cursor":%b}' % (shown, msgspec.json.encode(cursor))
    return body, digest("".join([*(each.tag for each in items), cursor or ""]).encode())


def listing(
    memory: TwoGenerationCache[RenderedPage], key: Any, items: list[msgspec.Raw], cursor: str | None, decode: Decode
) -> RenderedPage:
    """The page of these items, which never expire; given again where it was made from the same bytes."""
    last = memory.get(key)
    if last is None or last.items != items or last.cursor != cursor:
        shown = [each for raw in items if (each := decode(raw, None)) is not None]
        last = RenderedPage(items, cursor, *page_body(shown, cursor))
        memory.put(key, last, last.size)
    return last
