"""Why a value does not fit its type, or a body is no JSON, in plain words: msgspec says it in those of its own types.

>>> misfit("Expected `int`, got `str`")
'must be a whole number'
>>> misfit("Expected `str` of length <= 200")
'must have at most 200 characters'
"""

import json
import re
from collections.abc import Callable, Mapping

IN_A_MAP = "[...]"  # how msgspec says where: it does not tell the key
FIELD = re.compile(r"field `([^`]+)`")
_LED = re.compile(r"([A-Za-z_][\w.\[\]]*): (.+)", re.DOTALL)  # a place, and what is said of it

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "datetime": "a time such as 2025-01-31T12:00:00Z",
    "date": "a date such as 2025-01-31",
    "decimal": "a number",
    "uuid": "a UUID",
}
_INVALID = {
    "RFC3339 encoded datetime": _KINDS["datetime"],
    "RFC3339 encoded date": _KINDS["date"],
    "RFC3339 encoded time": "a time of day such as 12:00:00Z",
    "ISO8601 duration": "a duration such as PT15M",
    "UUID": _KINDS["uuid"],
    "decimal string": _KINDS["decimal"],
    "base64 encoded string": "bytes in Base64",
}
_COUNTED = {"str": "character", "array": "element", "object": "member"}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_SENTENCES: Mapping[str, Callable[[re.Match[str]], str]] = {
    r"Expected `([^`]+)`, got `[^`]+`": lambda found: f"must be {_kinds(found[1])}",
    r"Expected `\w+` ([<>]=?) (\S+)": lambda found: f"must be {_BOUNDS[found[1]]} {found[2]}",
    r"Expected `(str|array|object)` of length ([<>]=) (\d+)": lambda found: (
        f"must have {_BOUNDS[found[2]]} {found[3]} {_COUNTED[found[1]]}{'' if found[3] == '1' else 's'}"
    ),
    r"Expected `str` matching regex (.+)": lambda found: f"must match {found[1]}",
    r"Expected `\w+` that's (a multiple of .+)": lambda found: f"must be {found[1]}",
    r"Expected `datetime` with a timezone component": lambda _: "must say its time zone: 2025-01-31T12:00:00Z",
    r"\S+ has no time zone; .+": lambda _: "must say its time zone: 2025-01-31T12:00:00Z",
    r"It may not be None": lambda _: "must not be null",
    r"Object missing required field `(.+)`": lambda _: "is missing",
    r"Object contains unknown field `(.+)`": lambda _: "is not known here",
    r"Invalid enum value (.+)": lambda found: f"has a value that is not known here: {found[1]}",
    r"Invalid (.+)": lambda found: f"must be {_INVALID.get(found[1], 'valid: it is no ' + found[1])}",
}


def misfit(message: str) -> str:
    """What a validation error says, to be put behind the name of what it is about."""
    return known_misfit(message) or f"cannot be taken: {message}"


def known_misfit(message: str) -> str | None:
    for sentence, told in _SENTENCES.items():
        found = re.fullmatch(sentence, message, re.DOTALL)
        if found is not None:
            return told(found)
    return None


def misfit_inside(message: str) -> tuple[str, str] | None:
    """The place further in that a message names, and what it says of it; None where it is nobody's but its author's.

    >>> misfit_inside("maxPrice: Expected `decimal | null`, got `bool`")
    ('.maxPrice', 'must be a number or null')
    >>> misfit_inside("Object missing required field `url` - at `$.images[0]`")
    ('.images[0].url', 'is missing')
    """
    message, _, way = message.partition(" - at `$")
    led = _LED.fullmatch(message)
    place, message = (f".{led[1]}", led[2]) if led is not None else ("", message)
    said = known_misfit(message[:1].upper() + message[1:])
    named = FIELD.search(message)
    return None if said is None else (f"{place}{way.rstrip('`')}{f'.{named[1]}' if named else ''}", said)


def _kinds(named: str) -> str:
    """`int | null`: a whole number or null."""
    return " or ".join(_KINDS.get(kind, kind) for kind in named.split(" | "))


def not_json(body: bytes, error: Exception) -> str:
    """Why a body could not be read, and where."""
    if not body.strip():
        return "the body is missing; send JSON"
    if isinstance(error, UnicodeError):
        return "the body is not UTF-8"
    if isinstance(error, RecursionError):
        return "the body is nested too deeply"
    message = str(error).removeprefix("JSON is malformed: ")
    truncated = message == "Input data was truncated"
    if "surrogate" in message or (truncated and _is_whole(body)):
        return "the body is not Unicode text: it holds half of a surrogate pair"
    if truncated:
        return f"the body is not JSON: it ends too early, after {len(body)} bytes"
    return f"the body is not JSON: {message}"


def _is_whole(body: bytes) -> bool:
    """Whether it ends where it should: msgspec looks for the other half of a surrogate pair beyond the end."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
