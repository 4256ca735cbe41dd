"""A search: hits of the index, the items that they stand for, and a cursor to go on with.

The index follows the data by some milliseconds. So each item is read from the store: one that exists no longer, that
must not be found, or that does not pass the filter any more is left out, whatever the index says.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import msgspec

from partita.design.conditions import Condition
from partita.dynamodb.canonical import item_identity
from partita.dynamodb.values import Item
from partita.errors import InvalidCursor
from partita.plan.condition_expressions import to_stored
from partita.plan.predicates import evaluate
from partita.search.highlights import Highlight, highlights_of
from partita.search.query_text import TextQuery
from partita.search.text_fields import TextFields
from partita.search.text_filters import TextSelection
from partita.search.text_target import TextHit, TextHits, TextSearch, TextTarget
from partita.search.words import Analyzer
from partita.store.context import StoreContext
from partita.store.cursors import cursor_text, states_of
from partita.store.decoding import decoder_of
from partita.store.flows import Flow
from partita.store.item_reads import fetch_items
from partita.store.reading import skipping_unreadable

E_co = TypeVar("E_co", covariant=True)

MAX_ROUNDS = 10  # of a page whose items were left out

_encode = msgspec.json.encode


class TextMatch(msgspec.Struct, Generic[E_co], frozen=True):
    """An entity that was found, as it is stored now.

    score       How well it fits; comparable within one search only.
    highlights  For each searched attribute with a match, excerpts of its text.
    """

    entity: E_co
    score: float
    highlights: Mapping[str, tuple[Highlight, ...]]


class TextPage(msgspec.Struct, Generic[E_co], frozen=True):
    """A page of a search, the best match first.

    cursor   For the next page; None at the end.
    total    How many documents of the index match, counted up to 5,000.
    """

    items: list[TextMatch[E_co]]
    cursor: str | None
    total: int

    def __iter__(self) -> Iterator[TextMatch[E_co]]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def entities(self) -> list[E_co]:
        """The entities alone."""
        return [each.entity for each in self.items]


class TextRequest(msgspec.Struct, frozen=True):
    """What is searched for, checked."""

    index: str
    query: TextQuery
    fields: Mapping[str, TextFields[Any]]  # by the name of the entity
    selections: tuple[TextSelection, ...] | None
    where: Condition | None

    def binding(self) -> bytes:
        """Identifies the search, so that a cursor is valid for it alone."""
        parts = _encode((self.index, self.query, sorted(self.fields), self.selections))
        return blake2b(parts, digest_size=16, person=b"partita search").digest()


class TextFinder:
    """Collects one page: `search` and `fetch` in turns, while it `wants_more`."""

    def __init__(
        self,
        context: StoreContext,
        target: TextTarget,
        analyzer: Analyzer,
        request: TextRequest,
        size: int,
        cursor: str | None,
    ) -> None:
        self._context = context
        self._target = target
        self._analyzer = analyzer
        self._request = request
        self._size = size
        self._bound = request.binding()
        self._position = None if cursor is None else self._position_in(cursor)
        self._matches: list[TextMatch[Any]] = []
        self._total: int | None = None
        self._has_more = bool(request.query.terms)
        self._rounds = 0

    @property
    def wants_more(self) -> bool:
        return self._has_more and len(self._matches) < self._size and self._rounds < MAX_ROUNDS

    def search(self) -> list[TextHit]:
        """The next hits of the index."""
        self._rounds += 1
        room = self._size - len(self._matches)
        request = self._request
        found: TextHits = self._target.search(TextSearch(request.query, request.selections, room + 1, self._position))
        if self._total is None:
            self._total = found.total
        self._has_more = len(found.hits) > room
        hits = found.hits[:room]
        if hits:
            self._position = (hits[-1].score, hits[-1].id)
        return hits

    def fetch(self, hits: list[TextHit]) -> Flow[None]:
        """Adds the entities of hits to the page."""
        keys: list[tuple[str, Item]] = [(each.table, msgspec.json.decode(each.key)) for each in hits]
        found = yield from fetch_items(self._context, keys, consistent=False)
        for hit, key in zip(hits, keys, strict=True):
            raw = found.get(item_identity(*key))
            match = None if raw is None else self._match(hit, raw)
            if match is not None:
                self._matches.append(match)

    def page(self) -> TextPage[Any]:
        cursor = None
        if self._has_more and self._position is not None:
            score, identity = self._position
            state: Item = {"score": {"N": repr(score)}, "id": {"S": identity}}
            cursor = cursor_text(self._request.index, self._bound, [state], self._context.cursor_keys)
        return TextPage(self._matches, cursor, self._total or 0)

    def _match(self, hit: TextHit, raw: msgspec.Raw) -> TextMatch[Any] | None:
        fields = self._request.fields.get(hit.entity)
        if fields is None:
            return None
        decode = skipping_unreadable(self._context, decoder_of(fields.model))
        entity = decode(raw, int(self._context.clock().timestamp()))
        if entity is None or not self._is_visible(fields, raw):
            return None
        excerpts = (
            (path, highlights_of(texts, self._request.query, self._analyzer)) for path, texts in fields.texts(entity)
        )
        return TextMatch(entity, hit.score, {path: each for path, each in excerpts if each})

    def _is_visible(self, fields: TextFields[Any], raw: msgspec.Raw) -> bool:
        where = self._request.where
        if fields.when is None and where is None:
            return True
        item = msgspec.json.decode(raw)
        predicate = fields.predicate
        if predicate is not None and not predicate(item):
            return False
        return where is None or evaluate(to_stored(fields.model, where), item)

    def _position_in(self, cursor: str) -> tuple[float, str]:
        index = self._request.index
        (state,) = states_of(index, cursor, self._bound, self._context.cursor_keys)
        if not isinstance(state, dict):
            raise InvalidCursor(index, "it is not a cursor of a search; start again without a cursor")
        return float(state["score"]["N"]), str(state["id"]["S"])
