"""Cached matches: the hash of a query, staleness, and hit counts.

A hit changes the index key of its match. So hits are counted in memory and written in batches: a frequent query costs
one write per batch, reads never write, and hits that a process has not written are lost when it ends.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from unicodedata import normalize

import msgspec
from msgspec.structs import replace

from partita import AlreadyExists, NotFound, Page, Store
from partita_systems.batched_counts import BatchedCounts
from partita_systems.eecar import design as d
from partita_systems.eecar.categories import ANY, Category, catalogue_of
from partita_systems.service_base import MakeId, ServiceBase


def query_hash(text: str, conditions: Mapping[str, Any], embedding_model: str, reason_model: str) -> str:
    """The hash of a query: its normalised words, its hard conditions and both models.

    >>> query_hash("ESS용  배터리", {}, "e1", "r1") == query_hash("ess용 배터리", {}, "e1", "r1")
    True
    >>> query_hash("배터리", {}, "e1", "r1") == query_hash("배터리", {"maxPrice": 1}, "e1", "r1")
    False
    """
    words = " ".join(normalize("NFC", text).casefold().split())
    whole = msgspec.json.encode([words, dict(conditions), embedding_model, reason_model], order="deterministic")
    return hashlib.blake2b(whole, digest_size=16).hexdigest()


class Matches(ServiceBase):
    def __init__(self, db: Store, make_id: MakeId) -> None:
        super().__init__(db, make_id)
        self._hits = BatchedCounts(self._add_hits)

    def catalogue_versions(self, categories: Iterable[Category] = ()) -> dict[str, int]:
        """The current versions of these categories, or of `ANY`: read before matching, and cached with the match."""
        wanted = list(categories) or [ANY]
        found = self.db.get_many([d.catalogue(category) for category in wanted])
        return {
            category.value: 0 if current is None else current.version
            for category, current in zip(wanted, found, strict=True)
        }

    def known_categories(self) -> list[Category]:
        """The categories of the document, and others that have had parts."""
        everywhere = self.db(d.catalogue(ANY))
        return [*Category, *(() if everywhere is None else everywhere.categories)]

    def catalogue(self, category: str) -> d.Catalogue:
        """The current version of a category, or of `ANY`."""
        word = catalogue_of(category)
        return self.db(d.catalogue(word), consistent=True) or d.Catalogue(category=word)

    def advance_catalogue(self, category: str) -> None:
        """Parts of the category have changed: matches of it, and of `ANY`, are stale."""
        for changed in {catalogue_of(category), ANY}:
            self._advance(changed)

    def _advance(self, category: Category) -> None:
        for _ in self.db.retrying("Catalogue"):
            with suppress(NotFound):
                with self.db.change(d.catalogue(category)) as draft:
                    draft.version += 1
                return
            with suppress(AlreadyExists):
                self.db.create(d.Catalogue(category=category, version=1))
                return

    def cache(self, match: d.Match) -> d.Match:
        """Cache a match; an existing one is replaced and keeps its hits.

        A match without catalogue versions gets the current version of `ANY`.
        """
        versions = {
            catalogue_of(word, "Match", "catalogue").value: version for word, version in match.catalogue.items()
        }
        match = replace(match, catalogue=versions or self.catalogue_versions())
        for _ in self.db.retrying("Match"):
            with suppress(AlreadyExists):
                return self.db.create(match)
            with suppress(NotFound):
                with self.db.change(d.match(match.query_hash)) as draft:
                    draft.query_embedding = match.query_embedding
                    draft.matched_parts = match.matched_parts
                    draft.model_used = match.model_used
                    draft.created_at = match.created_at
                    draft.catalogue = match.catalogue
                    draft.cut = match.cut
                    draft.embedding = match.embedding
                    draft.embedding_model = match.embedding_model
                return self.db.one(d.match(match.query_hash), consistent=True)
        raise AssertionError("retrying ends with an error")

    def lookup(self, query_hash: str) -> d.Match | None:
        """A cached match, unless parts of its categories have changed: one GetItem and one BatchGetItem."""
        found = self.db(d.match(query_hash))
        if found is None or self._is_stale(found):
            return None
        self._hits.add(query_hash)
        return found

    def most_hit(self, limit: int, cursor: str | None = None) -> Page[d.MatchSummary]:
        """Cached matches, most hits first, without stale ones: one Query and two BatchGetItem."""
        page = self.db(d.most_hit_matches()).page(limit, cursor)
        whole = [each for each in self.db.get_many([d.match(each.query_hash) for each in page.items]) if each]
        named = {word for each in whole for word in each.catalogue}
        current = self.catalogue_versions(map(Category, named)) if named else {}
        fresh = {each.query_hash for each in whole if each.catalogue.items() <= current.items()}
        return Page([each for each in page.items if each.query_hash in fresh], page.cursor)

    def _is_stale(self, match: d.Match) -> bool:
        versions = match.catalogue
        return bool(versions) and versions != self.catalogue_versions(map(Category, versions))

    def write_hits(self) -> int:
        """Write the counted hits; returns the number of matches with hits. Hits that fail stay counted."""
        return self._hits.flush()

    def _add_hits(self, query_hash: str, hits: int) -> None:
        with suppress(NotFound), self.db.change(d.match(query_hash), system_change=True) as draft:
            draft.hit_count += hits
