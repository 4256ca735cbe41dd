"""Stems of English and Portuguese words, so that `finishes` finds `finish`, by Snowball's algorithms.

A word arrives in lower case and without diacritics, since many people type it so: `instalacao` and `instalação` are one
word. The Portuguese algorithm recognises endings by their diacritics, so these are put back first, and plurals whose
ending differs from the singular's become the singular: `instalações` and `instalacoes` become `instalação`.

With both languages, a word goes through English and then through Portuguese. In this order words with one English stem
stay together: `chairs` becomes `chair`, and both become `cha`. The other order would separate one of six such pairs.
Endings that English has not, and would destroy, are left to Portuguese alone.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache

from partita.errors import DesignError
from partita.extras import needs

ALGORITHMS = {"en": "english", "pt": "portuguese", "ko": None}  # Korean has no stems: its words are split into pairs
MIN_LENGTH = 4  # of a word that is stemmed: shorter ones become ambiguous

Stem = Callable[[str], str]

_PORTUGUESE = (
    (re.compile("[cç](?:ao|oes)$"), "ção"),
    (re.compile("soes$"), "são"),
    (re.compile("ave(?:l|is)$"), "ável"),
    (re.compile("ive(?:l|is)$"), "ível"),
    (re.compile("ancias?$"), "ância"),
    (re.compile("encias?$"), "ência"),
    (re.compile("(..[^aeiou])([aeo])is$"), r"\1\2l"),  # papéis, metais, lençóis
    (re.compile("iais$"), "ial"),
)
# English has other plurals with these endings: pens, tomatoes.
_PORTUGUESE_ALONE = (
    (re.compile("(..[^aeiou])oes$"), r"\1ão"),
    (re.compile("(..)ens$"), r"\1em"),
)
_PORTUGUESE_ENDING = re.compile("(?:..[aei]mos|..mente)$")  # falamos, lentamente
_ENDINGS = ("ao", "oes", "vel", "ncia", "ncias", "is", "ens")  # a word with none of them stays as it is


def checked_languages(where: str, language: str | Sequence[str]) -> tuple[str, ...]:
    """The codes of languages, in the order in which they are applied; a DesignError for another one."""
    given = (language,) if isinstance(language, str) else tuple(language)
    for each in given:
        if each not in ALGORITHMS:
            raise DesignError(where, f"language={each!r} is not known", f"use {', '.join(map(repr, ALGORITHMS))}")
    return tuple(code for code in ALGORITHMS if code in given)


@cache
def stemmer_of(languages: tuple[str, ...]) -> Stem:
    """The function from a folded word to its stem in these languages."""
    names = [(code, name) for code in languages if (name := ALGORITHMS[code]) is not None]
    if not names:
        return lambda word: word
    with needs("stemming of English and Portuguese words", "text"):
        from Stemmer import Stemmer  # type: ignore[import-not-found, unused-ignore]
    endings = _PORTUGUESE + (() if "en" in languages else _PORTUGUESE_ALONE)
    stems: dict[str, Stem] = {code: Stemmer(name, 0).stemWord for code, name in names}
    english, portuguese = stems.get("en"), stems.get("pt")

    def stem(word: str) -> str:
        if len(word) < MIN_LENGTH or not word.isalpha():
            return word
        if portuguese is None:
            return word if english is None else english(word)
        word = _with_diacritics(word, endings)
        if english is not None and not _PORTUGUESE_ENDING.search(word):
            word = english(word)
        return portuguese(word)

    return stem


def stemming_version(languages: tuple[str, ...]) -> str:
    """Changes when the stems of these languages do, so that an index of other stems is built again."""
    if not any(ALGORITHMS[code] for code in languages):
        return ""
    with needs("stemming of English and Portuguese words", "text"):
        import Stemmer  # type: ignore[import-not-found, unused-ignore]
    return f"{Stemmer.version()}/2"


def _with_diacritics(word: str, endings: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    if not word.endswith(_ENDINGS):
        return word
    for pattern, replacement in endings:
        found, count = pattern.subn(replacement, word)
        if count:
            return found
    return word
