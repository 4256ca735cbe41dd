"""Filters of a search: conditions of equality as tokens, which an index finds as it finds words.

An item has one token for each value of an attribute to filter by, and one for each element of a list or set.
"""

from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from partita.design.condition_checks import check_condition
from partita.design.conditions import (
    All,
    AnyOf,
    Comparison,
    Condition,
    Field,
    FieldCondition,
    FunctionCondition,
    OneOf,
    conjuncts,
)
from partita.design.untyped_values import any_value
from partita.dynamodb.canonical import canonical_value
from partita.dynamodb.values import AttributeValue
from partita.errors import InvalidValue
from partita.search.text_fields import TextFields

MAX_TOKENS = 200  # of one condition

_ELEMENTS = {"L": None, "SS": "S", "NS": "N", "BS": "B"}


class TextSelection(msgspec.Struct, frozen=True):
    """The items of one entity that have at least one token of each group."""

    entity: str
    groups: tuple[tuple[str, ...], ...] = ()


def filter_tokens(fields: TextFields[Any], entity: Any) -> list[str]:
    """The tokens of an entity."""
    found: list[str] = []
    for name in fields.filters:
        value = getattr(entity, name)
        if value is None:
            continue
        try:
            found += _known_tokens(name, value)
        except TypeError:  # a value that is not hashable
            found += _tokens(name, value)
    return found


@lru_cache(10_000, typed=True)
def _known_tokens(name: str, value: Any) -> list[str]:
    return _tokens(name, value)


def _tokens(name: str, value: Any) -> list[str]:
    stored = any_value(value)
    return [_token(name, "=", stored), *(_token(name, "contains", each) for each in _elements(stored))]


def selection(index: str, fields: TextFields[Any], where: Condition | None) -> TextSelection:
    """A condition as groups of tokens; an InvalidValue for a condition that a text index cannot answer."""
    model = fields.model
    if where is None:
        return TextSelection(model.name)
    check_condition(f"{index}.find", model, where)
    groups = tuple(tuple(_alternatives(index, fields, each)) for each in conjuncts(where))
    if sum(map(len, groups)) > MAX_TOKENS:
        raise InvalidValue(f"{index}.find", f"more than {MAX_TOKENS} values in a condition", argument="where")
    return TextSelection(model.name, groups)


def names_known_filters(fields: TextFields[Any], where: Condition | None) -> bool:
    """Whether an entity has all attributes of a condition, and can be filtered by them."""
    return where is None or set(where.fields) <= set(fields.filters)


def _alternatives(index: str, fields: TextFields[Any], condition: Condition) -> Iterator[str]:
    match condition:
        case AnyOf(terms):
            for term in terms:
                yield from _alternatives(index, fields, term)
        case All((term,)):
            yield from _alternatives(index, fields, term)
        case Comparison("=", field, value) if not isinstance(value, Field) and value is not None:
            yield _token(_name(field), "=", any_value(value))
        case OneOf(field, values) if None not in values:
            for value in values:
                yield _token(_name(field), "=", any_value(value))
        case FunctionCondition("contains", field, value) if value is not None:
            yield _token(_name(field), "contains", any_value(value))
        case _:
            name = ".".join(condition.field.path) if isinstance(condition, FieldCondition) else "this"
            raise InvalidValue(
                f"{index}.find",
                f"{name}: a search is filtered by ==, is_in and contains, joined by & (and | inside)",
                argument="where",
            )


def _name(field: Field) -> str:
    return ".".join(field.path)


def _elements(stored: AttributeValue) -> Iterator[AttributeValue]:
    ((kind, values),) = stored.items()
    if kind in _ELEMENTS:
        inner = _ELEMENTS[kind]
        for each in values:
            yield each if inner is None else {inner: each}


def _token(name: str, relation: str, stored: AttributeValue) -> str:
    value = msgspec.json.encode(canonical_value(stored), order="deterministic")
    return blake2b(f"{name}\0{relation}\0".encode() + value, digest_size=10).hexdigest()
