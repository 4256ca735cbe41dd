"""Whether an item can fulfil a condition: decided on representatives of the values that its attributes can have.

A condition cuts the values of an attribute into few cells, in each of which it is constant: `F.n > 5` is the same for
6 and for 7. So one value of each cell stands for all of them, and the condition is evaluated on these, as on an item.

A term that cuts no such cells (a size, `contains`, another attribute, a member inside) may be true or false whatever
the others are. An answer "no" is certain, then; an answer "yes" is so where there is no such term.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Context, Decimal
from itertools import pairwise
from math import ceil, floor
from typing import Any, TypeAlias

from partita.design.codecs import ScalarCodec
from partita.design.condition_text import condition_text
from partita.design.conditions import (
    All,
    AnyOf,
    Comparison,
    Condition,
    Exists,
    Field,
    FieldCondition,
    FunctionCondition,
    Not,
    OneOf,
)
from partita.design.markers import AUTOMATIC
from partita.design.models import Attribute, Model
from partita.dynamodb.values import AttributeValue
from partita.plan.predicates import evaluate
from partita.plan.stored_keys import listed_values

_MOST_STEPS = 20_000
"""Conditions that would take longer to decide count as ones that an item can fulfil."""

_STORED = Context(prec=38)
_LARGEST = Decimal("9E+125")
_LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)

Value: TypeAlias = AttributeValue | bool | None
"""The value of an attribute, None where it is absent; true or false for a term of its own."""


class _TooManySteps(Exception):
    pass


def is_satisfiable(model: Model, condition: Condition) -> bool:
    """Whether an item of the entity may fulfil a condition on stored attributes."""
    names = {each.name: each for each in model.attributes.values()}
    terms = list(_terms(condition))
    domains: dict[str, list[Value]] = {}
    for term in terms:
        variable = _variable(names, term)
        if variable not in domains:
            attribute = names.get(variable)
            same = [each for each in terms if _variable(names, each) == variable]
            domains[variable] = [True, False] if attribute is None else _representatives(attribute, same)
    try:
        return _Search(names, domains).finds(condition, {})
    except _TooManySteps:
        return True


class _Search:
    """Tries the values of one attribute after the other, until the condition is true or all are tried."""

    def __init__(self, names: Mapping[str, Attribute], domains: Mapping[str, list[Value]]) -> None:
        self._names = names
        self._domains = domains
        self._steps = 0

    def finds(self, condition: Condition, known: dict[str, Value]) -> bool:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooManySteps
        decided = self._truth(condition, known)
        if decided is not None:
            return decided
        variable = next(each for each in self._domains if each not in known)
        return any(self.finds(condition, {**known, variable: value}) for value in self._domains[variable])

    def _truth(self, condition: Condition, known: Mapping[str, Value]) -> bool | None:
        """Whether it is true of the known values; None where they do not decide it."""
        if isinstance(condition, Not):
            inner = self._truth(condition.term, known)
            return None if inner is None else not inner
        if isinstance(condition, All | AnyOf):
            deciding = isinstance(condition, AnyOf)
            found = [self._truth(term, known) for term in condition.terms]
            return deciding if deciding in found else None if None in found else not deciding
        variable = _variable(self._names, condition)
        if variable not in known:
            return None
        value = known[variable]
        return value if isinstance(value, bool) else evaluate(condition, {} if value is None else {variable: value})


def _terms(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, Not):
        yield from _terms(condition.term)
    elif isinstance(condition, All | AnyOf):
        for each in condition.terms:
            yield from _terms(each)
    else:
        yield condition


def _variable(names: Mapping[str, Attribute], term: Condition) -> str:
    """The stored attribute whose value decides a term; its text where nothing else does."""
    if isinstance(term, FieldCondition) and len(term.field.path) == 1 and term.field.path[0] in names:
        name = term.field.path[0]
        scalar = isinstance(names[name].codec, ScalarCodec) and names[name].codec.tag in _CELLS
        if isinstance(term, Exists) or (scalar and _constants(term)):
            return name
    return f"({condition_text(term)})"  # no attribute is named so


def _constants(term: Condition) -> list[AttributeValue]:
    """The constants at which the truth of a term may change; none where it is no matter of the value's order."""
    if isinstance(term, Comparison):
        return [] if isinstance(term.value, Field) else [term.value]
    if isinstance(term, OneOf):
        return list(term.values)
    if isinstance(term, FunctionCondition) and term.function == "begins_with" and "S" in term.value:
        prefix = term.value["S"]
        after = _after_all_beginning_with(prefix)
        return [{"S": prefix}, *([] if after is None else [{"S": after}])]
    return []


def _representatives(attribute: Attribute, terms: Iterable[Condition]) -> list[Value]:
    """A value in each of the cells into which the terms cut the values of an attribute."""
    absent: list[Value] = [None] if _may_be_absent(attribute) else []
    listed = listed_values(attribute.kind)
    if not isinstance(attribute.codec, ScalarCodec) or attribute.codec.tag not in _CELLS:
        return [*absent, {"S": "present"}]  # only its presence counts
    if listed is not None:
        return [*absent, *({attribute.codec.tag: each} for each in _stored_texts(attribute, listed))]
    tag = attribute.codec.tag
    constants = [each[tag] for term in terms for each in _constants(term) if tag in each]
    return [*absent, *({tag: each} for each in _CELLS[tag](attribute, constants))]


def _stored_texts(attribute: Attribute, listed: Iterable[Any]) -> Iterator[Any]:
    """The values of a type that has few of them, as they are stored."""
    tag = attribute.codec.tag
    for each in listed:
        yield str(each) if tag == "N" else bool(each) if tag == "BOOL" else each


def _may_be_absent(attribute: Attribute) -> bool:
    """Whether an item can lack the attribute: None, AUTO and an empty set are not stored."""
    if attribute.optional or not isinstance(attribute.codec, ScalarCodec):
        return True
    return any(attribute.marker(each) is not None for each in AUTOMATIC)


def _text_cells(attribute: Attribute, constants: list[str]) -> Iterator[str]:
    """Texts in order: the empty one, each constant, and the first one after each."""
    yield from sorted({"", *constants, *(each + "\0" for each in constants)})


def _number_cells(attribute: Attribute, constants: list[str]) -> Iterator[str]:
    """The constants, and a number in each gap between them that has one; older items may be out of today's bounds."""
    edges = {Decimal(0), *map(Decimal, constants)}
    if attribute.kind is int:
        found = {Decimal(each(edge) + step) for edge in edges for each in (floor, ceil) for step in (-1, 0, 1)}
    else:
        between = (_STORED.divide(_STORED.add(one, other), Decimal(2)) for one, other in pairwise(sorted(edges)))
        found = {*edges, *between, -_LARGEST, _LARGEST}
    for each in sorted(found):
        if _STORED.plus(each) == each:
            yield str(each)


def _bool_cells(attribute: Attribute, constants: list[bool]) -> Iterator[bool]:
    yield from (True, False)


_CELLS: dict[str, Any] = {"S": _text_cells, "N": _number_cells, "BOOL": _bool_cells}


def _after_all_beginning_with(prefix: str) -> str | None:
    """The first text after all that begin with this one; None where there is none."""
    kept = prefix.rstrip(chr(_LAST))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    return kept[:-1] + chr(_SURROGATES[1] + 1 if following == _SURROGATES[0] else following)
