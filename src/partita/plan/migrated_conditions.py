"""Conditions on items that may have an attribute as it was before its migration.

A renamed attribute is stored under its old name, where an item has that, or else under its new one: the condition is
about the one or the other. DynamoDB cannot convert a value, so a condition on a converted attribute is rejected.
"""

from typing import Any

import msgspec

from partita.design.conditions import All, AnyOf, Condition, Exists, Field, Not
from partita.design.migrations import Migration
from partita.design.models import Model
from partita.errors import InvalidValue


def of_stored_items(model: Model, condition: Condition) -> Condition:
    """A condition on stored names that holds for items of both designs."""
    if isinstance(condition, All | AnyOf):
        return type(condition)(tuple(of_stored_items(model, term) for term in condition.terms))
    if isinstance(condition, Not):
        return Not(of_stored_items(model, condition.term))
    for migration in model.migrations:
        names = _names(condition)
        if not names & {migration.new.name, migration.old.name}:
            continue
        if not migration.is_rename or migration.marker.member is not None or len(names) > 1:
            field = migration.old.field if migration.old.name in names else migration.new.field
            wrong = "it is being converted, so DynamoDB cannot compare it; compare it after a read"
            raise InvalidValue(model.name, wrong, field)
        return _either(migration, condition)
    return condition


def _either(migration: Migration, condition: Condition) -> Condition:
    first, second = migration.old.name, migration.new.name
    if migration.marker.removed:
        first, second = second, first
    has_first = Exists(Field((first,)))
    return AnyOf((All((has_first, _about(condition, first))), All((Not(has_first), _about(condition, second)))))


def _names(condition: Condition) -> set[str]:
    """The stored attributes that a simple condition names."""
    return {str(each.path[0]) for each in _fields(condition)}


def _fields(condition: Any) -> list[Field]:
    values = [getattr(condition, name) for name in condition.__struct_fields__]
    return [each for each in values if isinstance(each, Field)]


def _about(condition: Any, name: str) -> Condition:
    """The condition about another attribute."""
    changed = {
        each: Field((name, *getattr(condition, each).path[1:]))
        for each in condition.__struct_fields__
        if isinstance(getattr(condition, each), Field)
    }
    made: Condition = msgspec.structs.replace(condition, **changed)
    return made
