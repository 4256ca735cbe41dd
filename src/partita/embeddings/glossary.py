"""A glossary: terms of several languages that stand for the same concepts.

A text is searched for terms without its spaces, hyphens and case, so that `battery-pack` and `배터리팩` are found in
whatever way they are written. A term of Hangul may be part of a longer word, as in `고전압배터리팩용`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from itertools import accumulate, combinations
from typing import NamedTuple, Self
from unicodedata import category, normalize

from partita.embeddings.jamo import is_hangul
from partita.embeddings.loanwords import consonants_of
from partita.embeddings.spelling import Spelling
from partita.errors import ConfigurationError

_LINE = re.compile(r"(?P<concepts>[\w+ ]+?)(?: (?P<weight>\d(?:\.\d+)?))?: (?P<terms>.+)")
MAX_TERM = 40
MIN_SOUND = 3  # consonants; fewer are shared by too many words


def plain_text(text: str) -> str:
    """The text in lower case, in one normalisation form, without accents.

    >>> plain_text("Ⅲ Évacuation ㎾")
    'iii evacuation kw'
    """
    decomposed = normalize("NFD", normalize("NFKC", text).casefold())
    return normalize("NFC", "".join(each for each in decomposed if category(each) != "Mn"))


def squeezed(text: str) -> str:
    """The letters and digits of a text.

    >>> squeezed("DC-DC 컨버터")
    'dcdc컨버터'
    """
    return "".join(filter(str.isalnum, plain_text(text)))


class Glossary:
    """Terms and the concepts that they stand for; `weights` has those of concepts that decide more or less than others.

    >>> glossary = Glossary({"battery": ["battery", "배터리"], "pack": ["팩"]})
    >>> glossary.concepts("배터리")
    ('battery',)
    """

    def __init__(
        self, terms: Mapping[str | tuple[str, ...], Iterable[str]], weights: Mapping[str, float] | None = None
    ) -> None:
        self.weights = dict(weights or {})
        self._concepts: dict[str, tuple[str, ...]] = {}
        self._words: set[str] = set()
        for concepts, words in terms.items():
            for word in words:
                self._add(squeezed(word), (concepts,) if isinstance(concepts, str) else concepts)
                self._words.update(_TOKEN.findall(plain_text(word)))

    def _add(self, term: str, concepts: tuple[str, ...]) -> None:
        if not 0 < len(term) <= MAX_TERM:
            raise ConfigurationError(f"glossary: {term!r} is not a valid term; use 1 to {MAX_TERM} letters and digits")
        known = self._concepts.get(term, ())
        self._concepts[term] = tuple(dict.fromkeys((*known, *concepts)))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The glossary that a text describes, one concept a line: `battery 0.6: 배터리, battery`.

        >>> Glossary.from_text("pack + battery: 배터리 팩").concepts("배터리팩")
        ('pack', 'battery')
        """
        terms: dict[str | tuple[str, ...], list[str]] = {}
        weights: dict[str, float] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            found = _LINE.fullmatch(line.strip())
            if found is None:
                raise ConfigurationError(f"glossary, line {number}: use 'concept: term, term', not {line!r}")
            concepts = tuple(each.strip() for each in found["concepts"].split("+"))
            terms.setdefault(concepts, []).extend(each.strip() for each in found["terms"].split(","))
            if found["weight"]:
                weights[concepts[0]] = float(found["weight"])
        return cls(terms, weights)

    @property
    def terms(self) -> Iterable[str]:
        """All terms, as they are compared: without spaces, in lower case."""
        return self._concepts.keys()

    def concepts(self, term: str) -> tuple[str, ...]:
        """The concepts of a term; none if it is not in the glossary."""
        return self._concepts.get(term, ())

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The first two letters of each term."""
        return frozenset(term[:2] for term in self._concepts)

    @cached_property
    def longest(self) -> int:
        return max(map(len, self._concepts), default=0)

    def correction(self, word: str) -> str | None:
        """The known word that an unknown one stands for, misspelt or in Hangul; None if there is none.

        >>> glossary = Glossary({"inverter": ["인버터"], "damper": ["suspension"]})
        >>> [glossary.correction(each) for each in ("인벌터", "서스펜션", "인버터", "pump")]
        ['인버터', 'suspension', None, None]
        """
        if word in self._words or _singular(word) in self._words:
            return None
        meant = self._spelling.nearest(word)
        return meant or (self._by_sound.get(consonants_of(word)) if is_hangul(word) else None)

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(self._words)

    @cached_property
    def _by_sound(self) -> dict[str, str]:
        """Terms in Latin letters by their consonants; without terms that sound alike."""
        found: dict[str, str] = {}
        ambiguous = set()
        for term, concepts in self._concepts.items():
            if term.isascii():
                sound = consonants_of(term)
                if self.concepts(found.setdefault(sound, term)) != concepts:
                    ambiguous.add(sound)
        return {sound: term for sound, term in found.items() if sound not in ambiguous and len(sound) >= MIN_SOUND}

    @cached_property
    def fingerprint(self) -> str:
        """Changes with every term, concept and weight."""
        content = sorted(self._concepts.items()), sorted(self.weights.items())
        return sha256(repr(content).encode()).hexdigest()[:8]


class TextPiece(NamedTuple):
    """A piece of a text: a term of the glossary with its concepts, or a word without."""

    text: str
    concepts: tuple[str, ...]


_TOKEN = re.compile(r"[가-힣]+|[a-z]+|\d+(?:\.\d+)?|[^\W\d_가-힣a-z]+")
_ENDINGS = tuple("용 은 는 이 가 을 를 의 에 로 와 과 도 만".split())


def pieces_in(text: str, glossary: Glossary) -> Iterator[TextPiece]:
    """The terms and other words of a plain text, in order; the longest term wins.

    >>> [each.text for each in pieces_in("ioniq5 고전압배터리팩용", Glossary({"pack": ["배터리 팩"]}))]
    ['ioniq', '5', '고전압', '배터리팩', '용']

    A word that is not known is also taken for the known one that it is nearest to.

    >>> [each.text for each in pieces_in("heet pump", Glossary({"heat_pump": ["heat pump"]}))]
    ['heet', 'heatpump']
    """
    tokens = []
    corrections: dict[str, str | None] = {}
    for found in _TOKEN.finditer(text):
        token = found[0].replace(".", "")
        if token not in corrections:
            corrections[token] = glossary.correction(token) if token.isascii() else None
        meant = corrections[token]
        if meant is not None:
            yield TextPiece(token, ())
        tokens.append(meant or token)
    yield from _Scan(tokens, glossary).pieces()


def terms_in(text: str, glossary: Glossary) -> set[str]:
    """All terms that a text contains, also those inside of longer terms.

    >>> sorted(terms_in("Battery packs", Glossary({"battery": ["battery"], "pack": ["battery pack", "pack"]})))
    ['battery', 'batterypack', 'pack']
    """
    return set(_Scan([found[0].replace(".", "") for found in _TOKEN.finditer(plain_text(text))], glossary).all_terms())


class _Scan:
    """The search for terms in the letters of several tokens."""

    def __init__(self, tokens: list[str], glossary: Glossary) -> None:
        self.glossary = glossary
        self.whole = "".join(tokens)
        self.ends = set(accumulate(map(len, tokens)))
        self.starts = {0} | self.ends

    def pieces(self) -> Iterator[TextPiece]:
        at = word = after_term = 0
        while at < len(self.whole):
            may_begin = at in self.starts or is_hangul(self.whole[at])
            term = self.term_at(at, at in self.starts or at == after_term) if may_begin else ""
            if word < at and (term or at in self.starts):
                yield TextPiece(self.whole[word:at], ())
                word = at
            if term:
                yield TextPiece(term, self.glossary.concepts(term) or self.glossary.concepts(_singular(term)))
                at = word = after_term = at + len(term)
            else:
                at += 1
        if word < at:
            yield TextPiece(self.whole[word:at], ())

    def all_terms(self) -> Iterator[str]:
        for at, end in combinations(range(len(self.whole) + 1), 2):
            piece = self.whole[at:end]
            begins = at in self.starts or is_hangul(piece[0])
            if begins and (end in self.ends or is_hangul(piece[-1])):
                yield from (term for term in (piece, _singular(piece)) if self.glossary.concepts(term))

    def term_at(self, at: int, is_start: bool) -> str:
        """The longest term that begins here; empty if none does."""
        if self.whole[at : at + 2] not in self.glossary.beginnings and self.whole[at] not in self.glossary.beginnings:
            return ""
        for end in range(min(at + self.glossary.longest + 2, len(self.whole)), at, -1):
            term = self.whole[at:end]
            known = self.glossary.concepts(term)
            if is_hangul(term[-1]):
                if known and (len(term) > 1 or (is_start and self.is_end(end))):
                    return term
            elif end in self.ends and (known or self.glossary.concepts(_singular(term))):
                return term
        return ""

    def is_end(self, at: int) -> bool:
        """Whether a word ends here, but for a particle: a syllable alone may be part of any other word."""
        return at in self.ends or (at + 1 in self.ends and self.whole[at] in _ENDINGS)


def _singular(term: str) -> str:
    return term[:-2] if term.endswith(("xes", "ches", "shes")) else term.removesuffix("s") if len(term) > 3 else term


def parts_glossary() -> Glossary:
    """The glossary of parts of electric cars, in Korean and English."""
    return Glossary.from_text(files("partita.embeddings").joinpath("parts_glossary.txt").read_text(encoding="utf-8"))
