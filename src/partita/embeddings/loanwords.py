"""The consonants of a word as Korean hears them, so that `서스펜션` meets `suspension`.

Much of the Korean vocabulary of parts is English written in Hangul. Vowels differ between transcriptions, and Korean
has one consonant where English has several (b, p, f and v; l and r; d and t), so only classes of consonants remain. An
r before a consonant or at the end is silent in Korean, as in `컨버터` for `converter`.
"""

import re

from partita.embeddings.jamo import letters_of

_HANGUL = {
    **dict.fromkeys("ㄱㄲㅋ", "k"),
    **dict.fromkeys("ㄷㄸㅌ", "t"),
    **dict.fromkeys("ㅂㅃㅍ", "p"),
    **dict.fromkeys("ㅅㅆ", "s"),
    **dict.fromkeys("ㅈㅉㅊ", "j"),
    "ㄹ": "l",
    "ㄴ": "n",
    "ㅇ": "n",
    "ㅁ": "m",
}
_SPELLINGS = [
    (re.compile(r"(?<=[a-z])[cst]i(?=on|al|an)|sh|th"), "s"),
    (re.compile(r"t(?=ure)|tch|ch|dg(?=e)|g(?=[eiy])|j"), "j"),
    (re.compile(r"gh|(?<=[aeiouy])r(?![aeiouy])|(?<=[aeiouy])h|\bk(?=n)|\bw(?=r)"), ""),
    (re.compile(r"x"), "ks"),
    (re.compile(r"c(?=[eiy])|z"), "s"),
    (re.compile(r"ck|[cqg]"), "k"),
    (re.compile(r"ph|[bfv]"), "p"),
    (re.compile(r"d"), "t"),
    (re.compile(r"r"), "l"),
    (re.compile(r"n[k](?![aeiouy])"), "n"),
    (re.compile(r"[aeiouywh]"), ""),
]
_VOWELS = frozenset("aeiouwyㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ")
_REPEATED = re.compile(r"(.)\1+")


def consonants_of(word: str) -> str:
    """The consonants of a word in Hangul or Latin letters, in lower case.

    >>> [consonants_of(each) for each in ("서스펜션", "suspension", "커패시터", "capacitor", "어댑터", "adapter")]
    ['spnsn', 'spnsn', 'kpst', 'kpst', '-tpt', '-tpt']

    A vowel at the beginning is marked.
    """
    first = "-" if letters_of(word[:1])[:1] in _VOWELS else ""
    if word.isascii():
        for pattern, sound in _SPELLINGS:
            word = pattern.sub(sound, word)
    else:
        word = "".join(_HANGUL.get(letter, "") for letter in letters_of(word))
    return first + _REPEATED.sub(r"\1", word)
