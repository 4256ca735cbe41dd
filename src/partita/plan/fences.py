"""Fences: conditions of a write that the values on which it relies have not changed since they were read.

A fence is an optimistic lock on single attributes. Where it fails, the write raises `Raced`, reads again and retries.
"""

from functools import lru_cache

from partita.design.models import Model
from partita.dynamodb.values import Item
from partita.plan.actions import Clause, equals, present
from partita.plan.design import Design
from partita.plan.races import Raced


def dependencies(design: Design, model: Model) -> set[str]:
    """The attributes on which other items depend: guards, counters and referenced entities."""
    fields: set[str] = set()
    for unique in model.uniques:
        fields |= {*unique.fields, *(unique.when.fields if unique.when is not None else ())}
        if model.expires is not None:
            fields |= {model.expires.at, *(model.expires.when.fields if model.expires.when is not None else ())}
    for counter in design.counters.get(model, ()):
        fields |= counter.fields
    for reference in design.references.get(model, ()):
        fields |= set(reference.parts.values())
    return fields


@lru_cache(maxsize=4096)
def condition_fields(design: Design, model: Model) -> frozenset[str]:
    """The attributes in the conditions of the design on an entity: of index keys, expiry, unique values, counters."""
    keys = [each.when for several in model.indexes.values() for each in several]
    expiry = [model.expires.when] if model.expires is not None else []
    uniques = [unique.when for unique in model.uniques]
    counters = [counter.marker.when for counter in design.counters.get(model, ())]
    every = (*keys, *expiry, *uniques, *counters)
    return frozenset(field for when in every if when is not None for field in when.fields)


def fence(model: Model, item: Item, fields: set[str] | frozenset[str]) -> tuple[Clause, ...]:
    """A clause for each attribute that the key does not tell: it equals the value in `item`."""

    def raced(_: Item) -> Raced:
        return Raced(model.name)

    return tuple([Clause(equals(name, item.get(name)), raced) for name in _fenced_names(model, frozenset(fields))])


def whole_fence(model: Model, item: Item) -> tuple[Clause, ...]:
    """The clauses that an item is stored exactly as it was read."""

    def raced(_: Item) -> Raced:
        return Raced(model.name)

    names = (name for name in item if name not in model.table.key_names)
    return (Clause(present(model.table.pk), raced), *(Clause(equals(name, item[name]), raced) for name in names))


@lru_cache(maxsize=4096)
def _fenced_names(model: Model, fields: frozenset[str]) -> tuple[str, ...]:
    return model.fenced_names(each for each in fields if each not in model.known_fields)
