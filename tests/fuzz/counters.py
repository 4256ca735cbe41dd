"""Counters and sums, computed from all items."""

from decimal import Decimal
from typing import Any

from tests.fuzz.designs import CounterSpec, DesignSpec, Link
from tests.fuzz.stored import Identity, Items, Values, identity


def zero_of(counter: CounterSpec) -> Any:
    return {"int": int, "Decimal": Decimal, "float": float}[counter.type](0)


def target(spec: DesignSpec, link: Link, values: Values) -> Identity | None:
    """The item that a link names; None where one of its parts is None."""
    found = {part: values[source] for part, source in link.parts.items()}
    return None if None in found.values() else identity(spec.entities[link.other], found)


def contribution(spec: DesignSpec, counter: CounterSpec, values: Values) -> tuple[Identity | None, Decimal]:
    """What an item adds to which parent."""
    if counter.sparse and values["n"] != 0:
        return None, Decimal(0)
    amount = Decimal(1) if counter.amount is None else Decimal(str(values[counter.amount] or 0))
    return target(spec, counter.link, values), amount


def total(spec: DesignSpec, counter: CounterSpec, items: Items, place: Identity) -> Decimal:
    """A counter, computed from the items."""
    child = spec.entities[counter.child]
    amounts = (contribution(spec, counter, values) for each, values in items.values() if each is child)
    return sum((amount for parent, amount in amounts if parent == place), Decimal(0))


def recounted(spec: DesignSpec, items: Items) -> Items:
    """The items with every counter computed from them."""
    counted = dict(items)
    for place, (entity, values) in items.items():
        fresh = {each.name: type(zero_of(each))(total(spec, each, items, place)) for each in entity.counters}
        if any(values[name] != value for name, value in fresh.items()):
            counted[place] = (entity, values | fresh)
    return counted
