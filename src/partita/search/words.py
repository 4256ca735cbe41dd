"""From text to tokens: the words of an index, and of a query, as they are compared.

A word is folded: lower case, without diacritics, in one Unicode form. English and Portuguese words become their stems.
Korean, Chinese and Japanese text has no reliable spaces (particles follow a Korean word at once), so a run of such
characters becomes all pairs of neighbours, and its last character alone:

    나사못을   ->   나사 사못 못을 을          Finishing cafés   ->   finish caf

A query of two or more syllables is a phrase of pairs, and finds the word wherever it stands in a run. Each character
begins a token, so a query of one syllable finds it as the beginning of a token.
"""

import re
from collections.abc import Iterator
from unicodedata import category, normalize

import msgspec

from partita.search.stems import stemmer_of

MAX_TOKEN = 64  # characters; the rest of a longer one is ignored
_MAX_KNOWN = 200_000  # pieces of texts whose tokens are remembered

_PAIRED = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
_UNITS = "\u2100-\u214f\u3300-\u33ff"  # ℃, ㎜ and ㎏ are symbols for Unicode, and words in a list of parts
_DIACRITICS = dict.fromkeys(range(0x300, 0x370))
_MARKED = (*range(0x300, 0x3100), *range(0xA600, 0xAC00), *range(0xFB00, 0xFE30))  # where Unicode's marks are
_MARKS = "".join(chr(code) for code in _MARKED if category(chr(code))[0] == "M")

_WORD = re.compile(rf"([\w{_UNITS}]+(?:[{_MARKS}]+[\w{_UNITS}]*)*)(?:['\u2019]s(?!\w))?")  # without an English genitive
_PART = re.compile(rf"([{_PAIRED}]+)|((?:[^\W_{_PAIRED}]|[{_MARKS}])+)")  # of a folded word: pairs, or others


class TextToken(msgspec.Struct, frozen=True):
    """A token of a text: how it is compared, the folded word, and where it stands.

    text     The stem of a word, or a pair of characters.
    form     The folded word itself; "" for pairs.
    ends     Whether a word, or a run of pairs, ends with it.
    """

    text: str
    form: str
    start: int
    end: int
    ends: bool = True


class _Part(msgspec.Struct, frozen=True):
    """A token inside a word: its place is relative to the word, or that of the whole word where -1."""

    text: str
    form: str
    start: int
    end: int
    ends: bool


def folded(word: str) -> str:
    """A word as it is compared: lower case, no diacritics, one Unicode form.

    >>> folded("Café"), folded("INSTALAÇÃO"), folded("ﬁn"), folded("\\u1102\\u1161")
    ('cafe', 'instalacao', 'fin', '나')
    """
    if word.isascii():
        return word.lower()
    plain = normalize("NFKD", normalize("NFKD", word).casefold()).translate(_DIACRITICS)
    return normalize("NFKC", plain)


class Analyzer:
    """Finds the tokens of texts in some languages."""

    def __init__(self, languages: tuple[str, ...] = ()) -> None:
        self.languages = languages
        self._stem = stemmer_of(languages)
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._placed: dict[str, list[_Part]] = {}

    def joined_tokens(self, text: str, forms: list[str]) -> str:
        """The tokens of a text in their order, joined by spaces; adds the forms that differ from them.

        No token contains a space, so each piece of a text between spaces is looked at once and remembered.
        """
        known = self._known
        found = [known.get(piece) or self._learn(piece) for piece in text.split()]
        for _, each in found:
            if each:
                forms += each
        return " ".join([tokens for tokens, _ in found if tokens])

    def tokens(self, text: str) -> Iterator[TextToken]:
        """The tokens of a text with their places in it."""
        for found in _WORD.finditer(text):
            start, end = found.span(1)
            parts = self._placed.get(found[1])
            if parts is None:
                parts = self._place(found[1])
            for part in parts:
                is_exact = part.start >= 0
                at = (start + part.start, start + part.end) if is_exact else (start, end)
                yield TextToken(part.text, part.form, *at, part.ends)

    def _learn(self, piece: str) -> tuple[str, tuple[str, ...]]:
        parts = [part for word in _WORD.findall(piece) for part in self._parts(word)]
        forms = tuple(each.form for each in parts if each.form and each.form != each.text)
        found = " ".join(each.text for each in parts), forms
        if len(piece) <= MAX_TOKEN:
            if len(self._known) >= _MAX_KNOWN:
                self._known = {}
            self._known[piece] = found
        return found

    def _place(self, word: str) -> list[_Part]:
        found = list(self._parts(word))
        if len(word) <= MAX_TOKEN:
            if len(self._placed) >= _MAX_KNOWN // 10:
                self._placed = {}
            self._placed[word] = found
        return found

    def _token(self, form: str) -> str:
        stem = self._stem(form)
        return stem if stem.isascii() else folded(stem)

    def _parts(self, word: str) -> Iterator[_Part]:
        plain = folded(word)
        is_exact = len(plain) == len(word)
        for found in _PART.finditer(plain):
            start, end = found.span() if is_exact else (-1, -1)
            if found[2] is not None:
                form = found[2][:MAX_TOKEN]
                yield _Part(self._token(form), form, start, end, True)
                continue
            pairs = found[1]
            for at in range(len(pairs)):
                pair = pairs[at : at + 2]
                place = (start + at, start + at + len(pair)) if is_exact else (-1, -1)
                yield _Part(pair, "", *place, len(pair) == 1)
