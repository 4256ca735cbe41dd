"""Conversion of values to types; the error of an invalid value as facts.

msgspec reports an error as a message. Only this module parses these messages; `tests/test_validation.py` provokes every
one of them, so it fails with a version of msgspec that has other messages.

>>> fault_in(msgspec.ValidationError("Expected `str` of length <= 20 - at `$.images[1].url`"))
(('images', 1, 'url'), Fault(kind='length', expected='str', got='', operator='<=', limit='20'))
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from partita.errors import Fault, InvalidValue, Step

__all__ = ["convert", "describe_pattern"]

T = TypeVar("T")

_PLACE = re.compile(r"(?P<what>.*) - at (?P<key>`key` in )?`\$(?P<way>.*)`", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>[^.\[\]]+)|\[(?P<index>\d+)\]|\[\.\.\.\]")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.+)`", re.DOTALL)
_OPERATORS = {"at least": ">=", "at most": "<="}
_SENTENCES: Mapping[str, Callable[[re.Match[str]], Fault]] = {
    r"Expected `([^`]+)`(?:, got `([^`]+)`)?": lambda found: Fault("type", found[1], found[2] or "another type"),
    r"Expected `(\w+)` ([<>]=?) (\S+)": lambda found: Fault("bound", found[1], operator=found[2], limit=found[3]),
    r"Expected `(\w+)` of length ([<>]=) (\d+)": lambda found: _length(found[1], found[2], found[3]),
    r"Expected `(\w+)` of length (\d+(?: to \d+)?)(?:, got \d+)?": lambda found: _length(found[1], "==", found[2]),
    r"Expected `(\w+)` of (at least|at most) length (\d+)(?:, got \d+)?": lambda found: _length(
        found[1], _OPERATORS[found[2]], found[3]
    ),
    r"Expected `str` matching regex (.+)": lambda found: _pattern(found[1]),
    r"Expected `\w+` that's a multiple of (.+)": lambda found: Fault("multiple", limit=found[1]),
    r"Expected `\w+` with a timezone component": lambda _: Fault("time zone", "a"),
    r"Expected `\w+` with no timezone component": lambda _: Fault("time zone", "no"),
    r"Invalid (?:enum )?value (.+)": lambda found: Fault("choice", got=found[1]),
    r"Invalid (.+)": lambda found: Fault("format", found[1]),
    r"Only units .+ are supported when parsing (.+)s": lambda found: Fault("format", found[1]),
    r"(?:Integer value|Number|Duration is|Timestamp is) out of range ?": lambda _: Fault("range"),
}


_PATTERN_WORDS: dict[str, str] = {}  # by the representation of a pattern, which is what msgspec reports


def describe_pattern(pattern: str, words: str) -> str:
    """The pattern; errors of text that does not match it say these words ("must be one line") instead of it.

    >>> from typing import Annotated
    >>> Line = Annotated[str, msgspec.Meta(pattern=describe_pattern("^[^\\n]+$", "must be one line"))]
    >>> convert("a\\nb", Line, "Post", "title")
    Traceback (most recent call last):
    partita.errors.InvalidValue: Post.title: must be one line
    """
    _PATTERN_WORDS[repr(pattern)] = words
    return pattern


def pattern_words(pattern: str) -> str:
    """The words of a described pattern; '' for any other."""
    return _PATTERN_WORDS.get(repr(pattern), "")


def _pattern(stated: str) -> Fault:
    words = _PATTERN_WORDS.get(stated)
    return Fault("pattern", limit=stated) if words is None else Fault("rule", words)


def _length(kind: str, operator: str, limit: str) -> Fault:
    return Fault("length", kind, operator=operator, limit=limit)


class FaultyValue(ValueError):
    """A value that cannot be written, with the facts; where its attribute is known it becomes an InvalidValue."""

    def __init__(self, fault: Fault, reason: str = "") -> None:
        super().__init__(reason or str(fault))
        self.fault = fault


def fault_in(error: msgspec.ValidationError) -> tuple[tuple[Step, ...], Fault]:
    """The place and the fault that msgspec found; a message that is not its own (of a `__post_init__`) is kept."""
    message = str(error)
    placed = _PLACE.fullmatch(message)
    what, way = (placed["what"], placed["way"]) if placed is not None else (message, "")
    path: list[Step] = [_step(each) for each in _STEP.finditer(way)]
    if placed is not None and placed["key"]:
        path.append(...)
    named = _FIELD.fullmatch(what)
    if named is not None:
        return (*path, named[2]), Fault("missing" if named[1].startswith("missing") else "unknown")
    for sentence, fault in _SENTENCES.items():
        found = re.fullmatch(sentence, what, re.DOTALL)
        if found is not None:
            return tuple(path), fault(found)
    return tuple(path), Fault("other", got=_lowered(what))


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _step(found: re.Match[str]) -> Step:
    if found["field"] is not None:
        return found["field"]
    return int(found["index"]) if found["index"] is not None else ...


def invalid_value(refusal: Exception, entity: str, *path: Step) -> InvalidValue:
    """The error of an invalid value, at this place or further in."""
    if isinstance(refusal, msgspec.ValidationError):
        further, fault = fault_in(refusal)
        return InvalidValue(entity, str(fault), *path, *further, fault=fault)
    if isinstance(refusal, FaultyValue):
        return InvalidValue(entity, str(refusal), *path, fault=refusal.fault)
    return InvalidValue(entity, _lowered(str(refusal)) if isinstance(refusal, TypeError) else str(refusal), *path)


def convert(value: Any, kind: type[T], entity: str, *path: Step) -> T:
    """The value (of JSON's types) as the type says, or an InvalidValue that names its place in the entity.

    >>> convert([1, 2], tuple[int, int], "Check", "range")
    (1, 2)
    >>> convert(["a", 1], list[str], "Check", "tags")
    Traceback (most recent call last):
    partita.errors.InvalidValue: Check.tags[1]: expected `str`, got `int`
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as refusal:
        raise invalid_value(refusal, entity, *path) from None


def json_fault(body: bytes, error: Exception) -> str:
    """Why a body could not be decoded as JSON, as the end of a sentence: "the body ..."."""
    if not body.strip():
        return "is missing; send JSON"
    if isinstance(error, UnicodeError):
        return "is not UTF-8"
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    message = str(error).removeprefix("JSON is malformed: ")
    truncated = message == "Input data was truncated"
    if "surrogate" in message or (truncated and _is_whole(body)):
        return "is not Unicode text: it holds half of a surrogate pair"
    if truncated:
        return f"is not JSON: it ends too early, after {len(body)} bytes"
    return f"is not JSON: {message}"


def _is_whole(body: bytes) -> bool:
    """Whether it ends where it should: msgspec looks for the other half of a surrogate pair beyond the end."""
    import json

    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
