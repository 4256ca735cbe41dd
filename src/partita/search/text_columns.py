"""The columns of an index of words: one for each weight, with the tokens of all attributes that have it."""

from collections.abc import Mapping
from functools import cache

import msgspec

from partita.search.text_target import TextDocument
from partita.search.words import Analyzer

Weights = Mapping[str, Mapping[str, float]]  # of the attributes of entities, by their names
WORDS, FORMS, FILTERS = "w", "forms", "filters"  # the columns: w0, w1, ... for the weights, the highest first


class TextRow(msgspec.Struct, gc=False):
    """A document in columns.

    columns   For each weight, the texts, as tokens joined by spaces.
    forms     The words that differ from their tokens, each once.
    filters   The tokens of filters, and the one of the entity.
    """

    columns: list[list[str]]
    forms: list[str]
    filters: list[str]


class TextColumns:
    """The columns of one index, and the rows of documents in them."""

    def __init__(self, weights: Weights, analyzer: Analyzer) -> None:
        self.weights = tuple(sorted({each for fields in weights.values() for each in fields.values()}, reverse=True))
        self._column_of = {
            (entity, field): self.weights.index(weight)
            for entity, fields in weights.items()
            for field, weight in fields.items()
        }
        self._analyzer = analyzer

    def row(self, document: TextDocument) -> TextRow:
        columns: list[list[str]] = [[] for _ in self.weights]
        forms: list[str] = []
        entity, analyzer = document.entity, self._analyzer
        for field, texts in document.texts:
            column = columns[self._column_of[entity, field]]
            for text in texts:
                column.append(analyzer.joined_tokens(text, forms))
        return TextRow(columns, list(dict.fromkeys(forms)), [entity_token(entity), *document.filters])


@cache
def entity_token(entity: str) -> str:
    """The token of filters that all items of an entity have."""
    return f"entity{entity.encode().hex()}"


def word_columns(count: int) -> list[str]:
    return [f"{WORDS}{at}" for at in range(count)]
