"""Matching: the parts that fit a query or a company's need, with a score and a reason for each.

query -> embedding -> the nearest 100 parts of each category          SearchVectors
      -> without those that miss a hard condition                     price, quantity, measures
      -> ranked by similarity, preferred materials first              score
      -> the best, with reasons, cached until the catalogue changes   Match
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from partita import InvalidValue, SearchResult, Store
from partita_systems.eecar import design as d
from partita_systems.eecar import ports
from partita_systems.eecar.categories import ANY, Category, category_of
from partita_systems.eecar.conditions import checked_condition
from partita_systems.eecar.matches import Matches, query_hash
from partita_systems.eecar.measures import check_measures
from partita_systems.eecar.part_texts import need_text, vector_bytes
from partita_systems.eecar.reasons import Fit, NoReasons, TemplateReasons
from partita_systems.eecar.spec_conditions import meets
from partita_systems.service_base import MakeId, ServiceBase

# Below it a part has nothing to do with the query: hashed vectors of unrelated texts are that similar by chance, two
# standard deviations from 0.
LEAST_SIMILARITY = 2 / math.sqrt(d.DIMENSION)
PREFERENCE = 0.1  # of the score, for all preferred materials
MAX_RESULTS = 50


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A query with hard conditions, and materials that are preferred."""

    query: str
    category: str | None = None
    condition: str | None = None
    max_price: float | None = None
    min_quantity: int | None = None
    min_specs: Mapping[str, Any] = field(default_factory=dict)
    material_preferences: tuple[str, ...] = ()
    limit: int = 10


class Candidate(NamedTuple):
    part: d.Part
    spec: d.Spec | None
    similarity: float
    preferred: list[str]

    def score(self, preferences: int) -> float:
        bonus = PREFERENCE * len(self.preferred) / preferences if preferences else 0.0
        return round(min(1.0, self.similarity + bonus), 4)


class Matching(ServiceBase):
    def __init__(self, db: Store, make_id: MakeId, matches: Matches) -> None:
        super().__init__(db, make_id)
        self._matches = matches

    def of_need(self, company_id: str, need_id: str, limit: int = 10) -> d.Match:
        """The parts that fit a company's need."""
        need = self.db.one(d.need(company_id, need_id))
        required = need.required_specs
        return self.of_query(
            Wanted(
                query=need_text(need),
                category=required.category,
                max_price=required.max_price,
                min_quantity=required.min_quantity,
                material_preferences=tuple(required.material_preferences),
                limit=limit,
            )
        )

    def of_query(self, wanted: Wanted) -> d.Match:
        """The parts that fit a query, from the cache unless the catalogue has changed since."""
        category = None if wanted.category is None else category_of(wanted.category, "Match")
        condition = None if wanted.condition is None else checked_condition(wanted.condition)
        check_measures(wanted.min_specs, "Match", "minSpecs")
        if not wanted.query.strip():
            raise InvalidValue("Match", "must not be empty", "query")
        embedder = ports.embedder()
        conditions = _conditions(wanted, category, condition)
        key = query_hash(wanted.query, conditions, embedder.model, ports.reasons().model)
        cached = self._matches.lookup(key)
        if cached is not None:
            return cached
        versions = self._matches.catalogue_versions([] if category is None else [category])
        embedding = embedder.embed_one(wanted.query, "query")
        categories = self._matches.known_categories() if category is None else [category]
        vector = list(embedding.vector)
        results = [self._nearest(vector, each, embedding.model, condition) for each in categories]
        best = self._ranked([hit for hits in results for hit in hits], wanted)
        model_used, reasons = _reasons(wanted.query, best)
        key = query_hash(wanted.query, conditions, embedder.model, model_used)  # of the template: asked again next time
        archived = f"queries/{key}.f32"
        ports.objects().put(archived, vector_bytes(vector))
        return self._matches.cache(
            d.Match(
                query_hash=key,
                query=wanted.query,
                query_embedding=archived,
                matched_parts=_matched(best, reasons, len(wanted.material_preferences)),
                model_used=model_used,
                created_at=self.now(),
                catalogue=versions,
                cut=any(len(hits) == d.BEST for hits in results),
                embedding=vector,
                embedding_model=embedding.model,
            )
        )

    def similar_queries(self, query: str) -> list[SearchResult[d.MatchSummary]]:
        """Earlier queries like this one, most similar first."""
        embedding = ports.embedder().embed_one(query, "query")
        found = self.db(d.similar_queries(list(embedding.vector), embedding.model))
        return [each for each in found if 1 - each.score >= LEAST_SIMILARITY]

    def _nearest(
        self, vector: list[float], category: Category, model: str, condition: d.PartCondition | None
    ) -> list[SearchResult[d.PartMeaning]]:
        if condition is None:
            return self.db(d.parts_by_meaning(vector, category, model))
        return self.db(d.parts_by_meaning_in(vector, category, model, condition))

    def _ranked(self, hits: list[SearchResult[d.PartMeaning]], wanted: Wanted) -> list[Candidate]:
        near = {hit.item.part_id: 1 - hit.score for hit in hits if 1 - hit.score >= LEAST_SIMILARITY}
        parts = self.db.get_many([d.part(part_id) for part_id in near])
        specs = self.db.get_many([d.spec(part_id) for part_id in near])
        candidates = [
            Candidate(part, spec, min(1.0, near[part.part_id]), _preferred(spec, wanted.material_preferences))
            for part, spec in zip(parts, specs, strict=True)
            if part is not None
            and meets(
                part,
                spec,
                max_price=wanted.max_price,
                min_quantity=wanted.min_quantity,
                min_specs=wanted.min_specs,
            )
        ]
        count = len(wanted.material_preferences)
        candidates.sort(key=lambda each: (-each.score(count), each.part.part_id))
        return candidates[: wanted.limit]


def _reasons(query: str, best: list[Candidate]) -> tuple[str, list[str]]:
    """The model that wrote the reasons, and the reasons; the template where the model gives none."""
    fits = [Fit(each.part, each.similarity, each.preferred) for each in best]
    writer = ports.reasons()
    try:
        return writer.model, writer.write(query, fits)
    except NoReasons:
        template = TemplateReasons()
        return template.model, template.write(query, fits)


def _matched(best: list[Candidate], reasons: list[str], preferences: int) -> list[d.MatchedPart]:
    return [
        d.MatchedPart(part_id=each.part.part_id, score=each.score(preferences), reason=reason)
        for each, reason in zip(best, reasons, strict=True)
    ]


def _conditions(wanted: Wanted, category: Category | None, condition: d.PartCondition | None) -> dict[str, Any]:
    return {
        "category": (category or ANY).value,
        "condition": None if condition is None else condition.value,
        "maxPrice": wanted.max_price,
        "minQuantity": wanted.min_quantity,
        "minSpecs": dict(wanted.min_specs),
        "materialPreferences": sorted(wanted.material_preferences),
        "limit": wanted.limit,
    }


def _preferred(spec: d.Spec | None, preferences: tuple[str, ...]) -> list[str]:
    """The preferred materials that the part has."""
    if spec is None or spec.material_composition is None:
        return []
    materials = {each.casefold() for each in (spec.material_composition.primary, *spec.material_composition.secondary)}
    return [each for each in preferences if each.casefold() in materials]
