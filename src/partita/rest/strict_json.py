"""The structure of a request body, read a second time: what msgspec accepts or does not place is an error with a field.

msgspec keeps the last of two members with the same name, and reports half of a surrogate pair without its place.
"""

import json
from collections.abc import Iterator
from typing import Any

from partita.rest.problems import Problem


class _Repeated(dict[str, Any]):
    """An object in which a name occurs twice."""

    name: str


def structure_of(body: bytes) -> Any:
    """The body as JSON, its numbers as text; raises where an object has two members with the same name."""
    repeated = False

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        repeated = True
        doubled = _Repeated(found)
        doubled.name = _first_repeated(name for name, _ in pairs)
        return doubled

    value = json.loads(body, object_pairs_hook=collect, parse_int=str, parse_float=str)
    if repeated:
        field = next(_member(place, held.name) for place, held in _places(value) if isinstance(held, _Repeated))
        raise Problem(400, "malformed", f"the member {field} occurs twice", field)
    return value


def _first_repeated(names: Iterator[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("no name is repeated")


def half_surrogate(body: bytes) -> Problem | None:
    """The problem of a body that has half of a surrogate pair in a text, with the text's place; None if it has none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    for place, held in _places(value):
        if isinstance(held, str) and _is_half(held):
            where = place or "the body"
            return Problem(
                422, "invalid", f"{where} is not Unicode text: it has half of a surrogate pair", place or None
            )
        if isinstance(held, dict) and any(map(_is_half, held)):
            where = place or "the body"
            return Problem(422, "invalid", f"a name in {where} has half of a surrogate pair", place or None)
    return None


def _is_half(text: str) -> bool:
    return any("\ud800" <= each <= "\udfff" for each in text)


def _places(value: Any) -> Iterator[tuple[str, Any]]:
    """Every value in some JSON with its place, the outer ones first."""
    waiting = [("", value)]
    while waiting:
        place, held = waiting.pop()
        yield place, held
        if isinstance(held, dict):
            waiting += [(_member(place, name), each) for name, each in held.items()]
        elif isinstance(held, list):
            waiting += [(f"{place}[{at}]", each) for at, each in enumerate(held)]


def _member(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
