"""Recall@5 on the labelled set: of the parts that answer a query, the share among the first five results."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import fmean

import numpy as np

from bench.matching.full_text import FullText
from bench.matching.labelled_set import LabelledPart, LabelledQuery, labelled_parts
from partita.embeddings import Embedder

Search = Callable[[str], Sequence[str]]
RESULTS = 5


def part_text(part: LabelledPart) -> str:
    """A part as the text that is searched: its name, then everything else."""
    attributes = [part.category, part.manufacturer, part.model, part.condition, *part.specs.values()]
    return f"{part.name}\n{' '.join(filter(None, attributes))}\n{part.description}"


def by_words() -> Search:
    """Plain full text."""
    index = FullText((part.id, part_text(part)) for part in labelled_parts())
    return lambda query: index.search(query, RESULTS)


def by_meaning(embedder: Embedder) -> Search:
    """The nearest vectors by cosine, exactly."""
    parts = labelled_parts()
    matrix = np.array([each.vector for each in embedder.embed([part_text(part) for part in parts])])
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)

    def search(query: str) -> list[str]:
        scores = matrix @ np.array(embedder.embed_one(query, "query").vector)
        return [parts[row].id for row in np.argsort(-scores, kind="stable")[:RESULTS]]

    return cache(search)


def recall(search: Search, queries: Sequence[LabelledQuery]) -> float:
    """The mean over the queries."""
    return fmean(len({*search(each.query)} & {*each.relevant}) / len(each.relevant) for each in queries)


def recall_by_group(search: Search, queries: Sequence[LabelledQuery]) -> Mapping[str, float]:
    """The recall of the queries of each language and trait."""
    groups: dict[str, list[LabelledQuery]] = {}
    for each in queries:
        for group in (each.language, *each.traits):
            groups.setdefault(group, []).append(each)
    return {group: recall(search, members) for group, members in sorted(groups.items())}
