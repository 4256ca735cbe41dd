"""The terms of a glossary that texts use: a term that only held-out queries use would measure itself."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from bench.matching.labelled_set import LATER, TUNING, labelled_parts, labelled_queries
from bench.matching.recall import part_text
from partita.embeddings import Glossary, parts_glossary
from partita.embeddings.glossary import squeezed, terms_in


def terms_only_of(half: str, glossary: Glossary) -> set[str]:
    """The terms that the queries of a half contain, and neither a tuning query nor a part does."""
    found = _terms(glossary, (each.query for each in labelled_queries(half)))
    tuning = _terms(glossary, (each.query for each in labelled_queries(TUNING)))
    return found - tuning - _terms(glossary, map(part_text, labelled_parts()))


@cache
def later_glossary() -> Glossary:
    """The default glossary without the terms that later queries contain, and neither a tuning query nor a part does."""
    terms = terms_only_of(LATER, parts_glossary())
    text = files("partita.embeddings").joinpath("parts_glossary.txt").read_text(encoding="utf-8")
    return Glossary.from_text("\n".join(_without(line, terms) for line in text.splitlines()))


def _without(line: str, terms: set[str]) -> str:
    """A line of a glossary without some of its terms; empty if no other is left."""
    concepts, _, rest = line.partition(":")
    kept = [each for each in rest.split(",") if squeezed(each) not in terms]
    return f"{concepts}:{','.join(kept)}" if kept and rest else ""


def _terms(glossary: Glossary, texts: Iterable[str]) -> set[str]:
    return {term for text in texts for term in terms_in(text, glossary)}
