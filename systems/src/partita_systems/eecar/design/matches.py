"""Matches: answers to queries, cached until the catalogue changes."""

from datetime import datetime
from typing import Annotated

import msgspec

from partita import (
    Entity,
    Expires,
    F,
    InKey,
    Internal,
    Item,
    Items,
    Keys,
    Nearest,
    Untracked,
    Vector,
    View,
    pattern,
)
from partita_systems.eecar.categories import Category
from partita_systems.eecar.design.table import table
from partita_systems.eecar.design.values import (
    CACHE,
    EVERY_CACHE,
    KEEP_MATCHES,
    SCANNED,
    Count,
    Embedding,
    Line,
    Score,
    Text,
)


class MatchedPart(msgspec.Struct, kw_only=True, rename="camel"):
    part_id: Line
    score: Score
    reason: Text


class MatchSummary(View, naming="camel"):
    query_hash: Annotated[str, InKey()]
    query: Text
    model_used: Line
    created_at: datetime
    hit_count: Annotated[Count, Untracked()] = 0
    embedding_model: Line | None = None

    by_meaning = Keys("ByMeaning", "QUERY", when=F.embedding_model.exists())
    by_hits = Keys("GSI1", CACHE, "HIT_COUNT#{hit_count:12}")


class Match(MatchSummary, Entity, table=table, key=("MATCH#{query_hash}", "RESULT")):
    """`catalogue` has the versions of its categories; the match is stale when one changes, never if it is empty.

    `cut` is true if a category has more parts than a search returns: a part behind the first 100 may fit, too.
    """

    query_embedding: Line
    matched_parts: list[MatchedPart]
    catalogue: dict[str, Count] = msgspec.field(default_factory=dict)
    cut: bool = False
    embedding: Annotated[Embedding | None, Internal()] = None

    expiry = Expires("created_at", after=KEEP_MATCHES)


class Catalogue(Entity, table=table, key=("CATALOGUE#{category}", "VERSION")):
    """A version that goes up when parts of a category, or of any category (`ANY`), change; written in batches."""

    category: Annotated[Category, InKey()]
    version: Count = 0
    categories: Annotated[list[Category], Internal()] = msgspec.field(default_factory=list)
    """Of `ANY`: the categories beside those of the document that have had parts."""


@pattern(MatchSummary.by_hits.query(*EVERY_CACHE).largest_first("hit_count"))
def most_hit_matches() -> Items[MatchSummary]:
    """4. Cached matches, most hits first."""


@pattern
def match(query_hash: str) -> Item[Match]: ...


@pattern(MatchSummary.by_meaning.nearest(10).or_scan(SCANNED))
def similar_queries(embedding: Vector, embedding_model: str) -> Nearest[MatchSummary]:
    """Earlier queries like this one."""


@pattern
def catalogue(category: Category) -> Item[Catalogue]: ...
