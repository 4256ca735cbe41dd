"""Searches of vector indexes as values: the vector, the values that attributes must equal, and how many results.

    by_meaning = Keys("ByMeaning")                      # in the entity
    Part.by_meaning.nearest(10, embedding=vector, category="brakes")

The values are named by attribute: the vector, every part of the index's partition key, and any of its filters. Those
that a pattern declares without a value are its parameters.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from partita.design.key_slots import Slot, SlotRole, key_slots
from partita.design.models import Attribute, Model
from partita.design.reads import Read, SearchTerms
from partita.design.tables import VectorIndex
from partita.design.vector_values import Vector
from partita.dynamodb import limits
from partita.errors import DesignError


def vector_index(read: Read) -> VectorIndex:
    """The vector index that a search reads."""
    source = read.sources[0]
    index = None if source.keys.index is None else source.model.table.index(read.name, source.keys.index)
    if not isinstance(index, VectorIndex):
        wrong = f"{source.keys.where} is not a vector index, so it has no nearest items"
        raise DesignError(read.name, wrong, 'declare Keys("...") of a VectorIndex, and search it by them')
    return index


def attribute_on_disk(model: Model, name: str) -> Attribute | None:
    """The attribute of an entity that is stored under this name."""
    return next((each for each in model.attributes.values() if each.name == name and not each.in_key), None)


def search_of(read: Read, count: int, values: Mapping[str, Any]) -> Read:
    """The read as a search for the nearest `count` items."""
    if type(count) is not int or not 1 <= count <= limits.SEARCH_RESULTS:
        wrong = f"a search cannot return {count!r} items"
        raise DesignError(read.name, wrong, f"use 1 to {limits.SEARCH_RESULTS}, as in nearest(10)")
    return with_values(msgspec.structs.replace(read, search=SearchTerms(count)), values)


def with_values(read: Read, values: Mapping[str, Any]) -> Read:
    """The search with further values, by attribute."""
    assert read.search is not None
    known = dict(read.search.values)
    places = {slot.field: slot for slot in search_slots(read)}
    for name, value in values.items():
        if name not in places:
            wrong = (
                f"{name!r} is neither the vector, nor a part of the key, nor a filter of {vector_index(read).name!r}"
            )
            raise DesignError(read.name, wrong, f"it compares {', '.join(places)}")
        if name in known:
            raise DesignError(read.name, f"{name!r} has two values", "remove one of them")
        known[name] = value
    parts = [slot.field for slot in places.values() if slot.role is SlotRole.PARTITION]
    given = tuple(known[name] for name in parts) if all(name in known for name in parts) else ()
    search = msgspec.structs.replace(read.search, values=tuple(known.items()))
    return msgspec.structs.replace(read, search=search, given=given)


def search_slots(read: Read) -> Iterator[Slot]:
    """The places for values in a search: the vector, the parts of the partition key, the filters."""
    index, source = vector_index(read), read.sources[0]
    vector = attribute_on_disk(source.model, index.vector)
    assert vector is not None  # the keys of an entity in a vector index need it
    yield Slot(f"{source.model.name}.{vector.field}", vector.field, Vector, None, SlotRole.VECTOR)
    parts = key_slots(source.model, source.keys, whole=False)
    yield from parts
    taken = {vector.field, *(part.field for part in parts)}
    for name in index.filters:
        attribute = attribute_on_disk(source.model, name)
        if attribute is not None and attribute.field not in taken:
            where = f"{source.model.name}.{attribute.field}"
            yield Slot(where, attribute.field, attribute.kind, None, SlotRole.SEARCH_FILTER)


def search_values(read: Read) -> Iterator[tuple[Slot, Any]]:
    """Every value of a search with its slot."""
    assert read.search is not None
    known = dict(read.search.values)
    return ((slot, known[slot.field]) for slot in search_slots(read) if slot.field in known)
