"""Separators of key segments: which character divides a key, and how values that contain it are escaped.

A value is escaped so that it contains no separator, and so that escaped texts sort as the values do. The escape
character is a neighbour of the separator, and the two are written as the escape character and a letter:

    #    `#` is `$S`, `$` is `$T`              |    `|` is `}S`, `}` is `}T`              /    `.` is `.S`, `/` is `.T`

Where a key goes on after a text, `al` and `al b` are compared as `al#...` and `al b#...`. Their order survives only if
no character of a text is at or below the separator. In front of a separator below the digits that is done by escaping
(`keeps_order`): every character up to the escape character, a space as `$P`. In front of others, such as `|`, texts
stay readable, and the proof rejects an order or a range of them.
"""

import re
import string
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import msgspec

from partita.design.key_languages import LAST, Language, characters, literal, one_of, repeated, sequence
from partita.errors import DesignError

_SHIFT = 0x30  # from a character to the letter of its escape
_ALLOWED = "".join(each for each in string.punctuation if each not in "{}\\")
_SURROGATES = (0xD800, 0xDFFF)


class Separator(msgspec.Struct, frozen=True, dict=True):
    """A separator, and everything that follows from it."""

    character: str

    @cached_property
    def after(self) -> str:
        """The next character: `PREFIX$` is above every key that begins with `PREFIX#`."""
        return chr(ord(self.character) + 1)

    @cached_property
    def escape(self) -> str:
        """The character in front of an escaped one: the next character, or the one before where that is not a sign."""
        return self.after if self.after in string.punctuation else chr(ord(self.character) - 1)

    @property
    def keeps_order(self) -> bool:
        """Whether texts can be escaped so that they keep their order in front of it."""
        return self.after < "0"

    @cached_property
    def _pair(self) -> tuple[str, str]:
        return min(self.character, self.escape), max(self.character, self.escape)

    @cached_property
    def _letters(self) -> dict[str, str]:
        """The letter of each character that can be escaped."""
        if self.keeps_order:
            return {chr(code): chr(code + _SHIFT) for code in range(ord(self.escape) + 1)}
        return dict(zip(self._pair, "ST", strict=True))

    @cached_property
    def light_escapes(self) -> dict[int, str]:
        """For `str.translate`: the separator and the escape character."""
        return str.maketrans({each: self.escape + self._letters[each] for each in self._pair})

    @cached_property
    def full_escapes(self) -> dict[int, str]:
        """For `str.translate`: every character up to the escape character, where that keeps the order."""
        return str.maketrans({each: self.escape + letter for each, letter in self._letters.items()})

    @cached_property
    def _characters(self) -> dict[str, str]:
        return {letter: each for each, letter in self._letters.items()}

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.escape) + "(.)", re.DOTALL)

    def unescaped(self, text: str) -> str:
        """The text of a value, from its text in a key."""
        if self.escape not in text:
            return text
        return self._escaped.sub(lambda found: self._characters.get(found[1], found[0]), text)

    @cached_property
    def plain_class(self) -> str:
        """The characters that need no escape, without those beyond ASCII: for a regular expression."""
        first = chr(ord(self.escape) + 1) if self.keeps_order else "!"
        plain = (chr(code) for code in range(ord(first), ord("~") + 1) if chr(code) not in self._pair)
        return f"[{re.escape(''.join(plain))}]"

    @cached_property
    def is_plain(self) -> Callable[[str], Any]:
        """Whether a text needs no escape, like most ids: a function."""
        return re.compile(f"{self.plain_class}+").fullmatch

    @cached_property
    def light_language(self) -> Language:
        """The texts of values of which the separator and the escape character are escaped."""
        low, high = map(ord, self._pair)
        letters = "".join(self._letters[each] for each in self._pair)
        return repeated(one_of(_plain(low, high), sequence(literal(self.escape), characters(*letters))))

    @cached_property
    def full_language(self) -> Language:
        """The texts of values of which every character up to the escape character is escaped."""
        if not self.keeps_order:
            return self.light_language
        letters = f"{chr(_SHIFT)}{self._letters[self.escape]}"
        return repeated(one_of(_plain(0, ord(self.escape)), sequence(literal(self.escape), characters(letters))))

    @cached_property
    def verbatim_language(self) -> Language:
        """The texts without a separator."""
        code = ord(self.character)
        return repeated(_plain(code, code))


def _plain(low: int, high: int) -> Language:
    """A character that is not between the two."""
    spans = [(high + 1, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, LAST), (0, low - 1)]
    return characters(*(span for span in spans if span[0] <= span[1]))


def separator_of(where: str, character: object) -> Separator:
    """The separator, or a DesignError where the character cannot be one."""
    if not isinstance(character, str) or character not in _ALLOWED or len(character) != 1:
        raise DesignError(where, f"{character!r} cannot separate the segments of a key", f"use one of {_ALLOWED}")
    return _separator(character)


@cache
def _separator(character: str) -> Separator:
    return Separator(character)


HASH = Separator("#")
