"""A cache of replies: items by the bytes that they are made from, whole replies by the reads that they are made from.

The JSON of an item follows from its stored bytes alone, so it is cached under them: a write by any process changes the
bytes, and the old JSON is never used again. A whole reply is cached with its reads and with the version that the data
had before them. It is used while the data has this version, and after any write if the reads find the same rows.

Memory is bounded by two generations: when the recent one is full, the previous one is dropped, and an entry that is
used again moves to the recent one.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from partita.rest.etags import digest

V = TypeVar("V")
Decode = Callable[[msgspec.Raw, int | None], "RenderedItem | None"]

GENERATION = 8 * 1024 * 1024  # bytes


class RenderedItem(NamedTuple):
    """An item as JSON; from the second `expires` on it is hidden."""

    body: bytes
    expires: float | None
    entity: Any = None
    tag: str = ""


class Expiry:
    """The second from which the first of the items is hidden that a reply is made from; None for never."""

    __slots__ = ("second",)

    def __init__(self) -> None:
        self.second: float | None = None

    def add(self, second: float) -> None:
        if self.second is None or second < self.second:
            self.second = second


class ItemDecoder(Protocol):
    """A decoder of one entity class, or of several."""

    def with_expiry(self, raw: bytes | msgspec.Raw) -> tuple[Any, float | None]: ...


class TwoGenerationCache(Generic[V]):
    """Values by key, each of a size in bytes."""

    def __init__(self, generation: int = GENERATION) -> None:
        self._generation = generation
        self.recent: dict[Any, tuple[V, int]] = {}  # `caching_decoder` reads it without the call of `get`
        self._previous: dict[Any, tuple[V, int]] = {}
        self._size = 0

    def get(self, key: Any) -> V | None:
        found = self.recent.get(key)
        if found is None:
            found = self._previous.get(key)
            if found is None:
                return None
            self.put(key, *found)
        return found[0]

    def put(self, key: Any, value: V, size: int) -> None:
        if size > self._generation // 16:
            return
        self._size += size
        if self._size > self._generation:
            self._previous, self.recent, self._size = self.recent, {}, size
        self.recent[key] = (value, size)


def caching_decoder(
    cache: TwoGenerationCache[RenderedItem],
    expiry: Expiry,
    number: int,
    decoder: ItemDecoder,
    render: Callable[[Any, float | None], RenderedItem],
) -> Decode:
    """A decoder for the store's flows that renders items and caches them; `number` identifies the way of rendering.

    The expiry of each item that is not hidden is added to `expiry`.
    """
    return partial(_decode_cached, cache, expiry, number, decoder, render)


def _decode_cached(
    cache: TwoGenerationCache[RenderedItem],
    expiry: Expiry,
    number: int,
    decoder: ItemDecoder,
    render: Callable[[Any, float | None], RenderedItem],
    raw: msgspec.Raw,
    now: int | None,
) -> RenderedItem | None:
    key = (number, bytes(raw))
    found = cache.recent.get(key)
    rendered = found[0] if found is not None else cache.get(key)
    if rendered is None:
        rendered = render(*decoder.with_expiry(raw))
        cache.put(key, rendered, len(key[1]))
    if rendered.expires is not None:
        if now is not None and rendered.expires <= now:
            return None
        expiry.add(rendered.expires)
    return rendered


def page_body(items: list[RenderedItem], cursor: str | None) -> tuple[bytes, str]:
    """A page's JSON and its tag."""
    body = joined_page([each.body for each in items], cursor)
    return body, digest("".join([*(each.tag for each in items), cursor or ""]).encode())


def joined_page(items: Iterable[bytes], cursor: str | None) -> bytes:
    """The JSON of a page of items that are encoded already."""
    return b'{"items":[%b],"cursor":%b}' % (b",".join(items), msgspec.json.encode(cursor))
