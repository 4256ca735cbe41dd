"""Plain full text to compare with: SQLite FTS5 by words, Hangul by pairs of syllables, ranked by BM25."""

import re
from collections.abc import Callable, Iterable
from unicodedata import normalize

import apsw

_HANGUL = re.compile("[가-힣]+")
_WORD = re.compile(r"\w+")


def with_pairs(text: str) -> str:
    """The text with its Hangul split into pairs of syllables that overlap.

    >>> with_pairs("고전압 battery 팩")
    ' 고전 전압  battery  팩 '
    """
    return _HANGUL.sub(lambda found: f" {_pairs(found[0])} ", normalize("NFC", text))


def _pairs(word: str) -> str:
    return " ".join(word[at : at + 2] for at in range(max(1, len(word) - 1)))


class FullText:
    """An index of texts by id. A query matches every text that has one of its words."""

    def __init__(self, texts: Iterable[tuple[str, str]], prepare: Callable[[str], str] = with_pairs) -> None:
        self._prepare = prepare
        self._connection = apsw.Connection(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(id UNINDEXED, content, tokenize='unicode61 remove_diacritics 2')"
        )
        rows = ((key, prepare(text)) for key, text in texts)
        self._connection.executemany("INSERT INTO texts VALUES (?, ?)", rows)

    def search(self, query: str, limit: int) -> list[str]:
        """The ids of the best texts, best first."""
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(self._prepare(query)))
        rows = self._connection.execute(
            "SELECT id FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), rowid LIMIT ?", (words, limit)
        )
        return [str(row[0]) for row in rows]
