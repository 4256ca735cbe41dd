"""A plain model of a text index: the tokens of each item, and which queries match them."""

from typing import Any

from partita import TextFields, TextIndex
from partita.search.query_text import Term, parsed
from partita.search.words import Analyzer


class ModelIndex:
    """The items that can be found, by a name of the test's."""

    def __init__(self, index: TextIndex[Any]) -> None:
        self._analyzer = Analyzer(index.languages)
        self._fields: dict[str, TextFields[Any]] = index.fields
        self.items: dict[str, Any] = {}

    def matches(self, text: str, *, complete: bool = False) -> set[str]:
        """The names of the items with all terms of a query."""
        query = parsed(text, self._analyzer, complete=complete)
        if not query.terms:
            return set()
        return {
            name
            for name, entity in self.items.items()
            if all(any(self._has(entity, term) for term in alternatives) for alternatives in query.terms)
        }

    def _has(self, entity: Any, term: Term) -> bool:
        fields = self._fields[type(entity).__name__]
        for _, texts in fields.texts(entity):
            for text in texts:
                tokens = list(self._analyzer.tokens(text))
                if any(True for _ in term.places([each.text for each in tokens], [each.form for each in tokens])):
                    return True
        return False
