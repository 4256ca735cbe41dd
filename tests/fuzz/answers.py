"""The answers of reads, in plain Python over all items."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tests.fuzz.designs import EntitySpec
from tests.fuzz.keys import KeySpec, Slot
from tests.fuzz.patterns import PatternSpec
from tests.fuzz.stored import State, Values, identity, is_alive, keys_in

_LOW = {"since": False, "after": True, "above": True, "between": False}
_HIGH = {"until": False, "before": True, "below": True, "between": False}
"""The methods that bound a range from below and from above, and whether they exclude the bound."""


def answer(
    pattern: PatternSpec, state: State, given: list[Any], bounds: list[Any], now: datetime
) -> list[tuple[str, Values]]:
    """The items of a read, in no order."""
    found: list[tuple[str, Values]] = []
    for each, values in state.items.values():
        for entity, keys in pattern.sources:
            if each is entity and is_alive(each, values, now) and _matches(pattern, each, keys, values, given, bounds):
                name = pattern.result(each, keys)
                found.append((name, values if name == each.name else _seen(each, name, values)))
    return found


def _seen(entity: EntitySpec, view: str, values: Values) -> Values:
    return {name: values[name] for name in entity.view(view).fields}


def _matches(
    pattern: PatternSpec, entity: EntitySpec, keys: KeySpec, values: Values, given: list[Any], bounds: list[Any]
) -> bool:
    """Parts are compared by their position in the key: entities of a collection may name them differently."""
    if pattern.where is not None and not pattern.where.test(values):
        return False
    if pattern.single:
        wanted = dict(zip(entity.key.fields, given, strict=True))
        return identity(entity, wanted) == identity(entity, values)
    if keys_in(entity, keys.index, values) is not keys or not keys.contains(values):
        return False
    slots = keys.slots
    if len(slots) < len(given):
        return False
    for at, (slot, wanted) in enumerate(zip(slots, given, strict=False)):
        if pattern.all_shards(at) and values[slot.field] is not None:
            continue
        choices = wanted if pattern.fan == at else [wanted]
        parts = choices if slot.form.query_type else [slot.form.part(each) for each in choices]
        if values[slot.field] is None or slot.form.part(values[slot.field]) not in parts:
            return False
    if not bounds:
        return True
    return pattern.given < len(slots) and _in_range(pattern.bound, slots[pattern.given], values, bounds)


def _in_range(methods: tuple[str, ...], slot: Slot, values: Values, bounds: list[Any]) -> bool:
    if values[slot.field] is None:
        return False
    part: Any = slot.form.part(values[slot.field])
    rank = slot.form.order or (lambda value: value)
    left = iter(bounds)
    for each in methods:
        if each == "starts_with":
            return bool(part.startswith(slot.form.part(next(left))))
        if each in _LOW and not _is_after(rank(_bound(slot, left)), rank(part), strict=_LOW[each]):
            return False
        if each in _HIGH and not _is_after(rank(part), rank(_bound(slot, left)), strict=_HIGH[each]):
            return False
    return True


def has_reversed_bounds(pattern: PatternSpec, bounds: list[Any]) -> bool:
    """Whether a range ends before it begins, which is an error of the caller."""
    slot = pattern.free
    if slot is None or len(bounds) < 2:
        return False
    rank = slot.form.order or (lambda value: value)
    left = iter(bounds)
    low = high = None
    strict = False
    for each in pattern.bound:
        if each in _LOW:
            low, strict = rank(_bound(slot, left)), strict or _LOW[each]
        if each in _HIGH:
            high, strict = rank(_bound(slot, left)), strict or _HIGH[each]
    return not _is_after(low, high, strict=strict)


def _bound(slot: Slot, left: Iterator[Any]) -> Any:
    value = next(left)
    return value if slot.form.query_type else slot.form.part(value)


def _is_after(low: Any, high: Any, *, strict: bool) -> bool:
    return bool(low < high if strict else low <= high)
