"""Texts whose Korean words are split into morphemes by kiwipiepy, to measure whether that finds more.

kiwipiepy is not a dependency: `pip install kiwipiepy` (a model of 105 MB), and `python -m bench.matching` shows it.
"""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from bench.matching.full_text import FullText
from bench.matching.labelled_set import labelled_parts
from bench.matching.recall import RESULTS, Search, part_text
from partita.embeddings import Embedder, OfflineEmbedder, Purpose

IS_INSTALLED = find_spec("kiwipiepy") is not None
_DROPPED = ("J", "E", "X", "SF", "SP")  # particles, endings, affixes, punctuation


@cache
def _kiwi() -> Any:
    from kiwipiepy import Kiwi  # type: ignore[import-not-found, unused-ignore]

    return Kiwi()


@cache
def split(text: str) -> str:
    """The words of a text that carry meaning, each alone; lines stay."""
    return "\n".join(
        " ".join(each.form for each in _kiwi().tokenize(line) if not each.tag.startswith(_DROPPED))
        for line in text.splitlines()
    )


class MorphemeEmbedder(Embedder):
    """The offline embedder over morphemes, and over the text itself as well if it is `beside` them."""

    def __init__(self, *, beside: bool) -> None:
        self._embedder = OfflineEmbedder()
        self._beside = beside
        self.model = f"morphemes/{self._embedder.model}"
        self.dimensions = self._embedder.dimensions

    def vectors(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Sequence[float]]:
        return self._embedder.vectors([self._text(each) for each in texts], purpose)

    def _text(self, text: str) -> str:
        return f"{text}\n{split(text)}" if self._beside else split(text) or text


def by_morphemes() -> Search:
    """Full text over morphemes instead of pairs of syllables."""
    index = FullText(((part.id, split(part_text(part))) for part in labelled_parts()), prepare=str)
    return lambda query: index.search(split(query), RESULTS)
