"""The terms of a glossary that texts use: a term that only held-out queries use would measure itself."""

from collections.abc import Iterable

from bench.matching.labelled_set import HELD_OUT, TUNING, labelled_parts, labelled_queries
from bench.matching.recall import part_text
from partita.embeddings import Glossary
from partita.embeddings.glossary import terms_in


def terms_of_held_out_queries_only(glossary: Glossary) -> set[str]:
    """The terms that held-out queries contain, and neither a tuning query nor a part does."""
    held_out = _terms(glossary, (each.query for each in labelled_queries(HELD_OUT)))
    tuning = _terms(glossary, (each.query for each in labelled_queries(TUNING)))
    return held_out - tuning - _terms(glossary, map(part_text, labelled_parts()))


def _terms(glossary: Glossary, texts: Iterable[str]) -> set[str]:
    return {term for text in texts for term in terms_in(text, glossary)}
