"""What a store should answer, in plain Python over all items: the reference that every answer is compared with."""

import unicodedata
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.designs import EntitySpec, PatternSpec
from tests.fuzz.forms import Form

Values = dict[str, Any]
Identity = tuple[Any, ...]


def identity(entity: EntitySpec, values: Values) -> Identity:
    """Two items with the same identity are one: the parts of the table's key, as the key holds them."""
    return (entity.name, *(_comparable(entity.forms[name].part(values[name])) for name in entity.key.fields))


def _comparable(part: Any) -> Any:
    return (type(part).__name__, part) if isinstance(part, bool) else part


@dataclass
class Reference:
    items: dict[Identity, tuple[EntitySpec, Values]] = field(default_factory=dict)

    def stored(self, entity: EntitySpec) -> list[Values]:
        return [values for each, values in self.items.values() if each is entity]

    def holder(self, entity: EntitySpec, values: Values) -> Identity | None:
        """The item that holds the entity's unique value."""
        if entity.unique is None:
            return None
        form, wanted = entity.forms[entity.unique], values[entity.unique]
        for key, (each, held) in self.items.items():
            if each is entity and _unique(form, held[entity.unique]) == _unique(form, wanted):
                return key
        return None

    def answer(self, pattern: PatternSpec, given: list[Any], bounds: list[Any]) -> list[tuple[str, Values]]:
        """The items of a read, in no order."""
        return [
            (each.name, values)
            for each, values in self.items.values()
            if each in pattern.entities and _matches(pattern, each, values, given, bounds)
        ]


def _unique(form: Form, value: Any) -> Any:
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def _matches(pattern: PatternSpec, entity: EntitySpec, values: Values, given: list[Any], bounds: list[Any]) -> bool:
    """Parts are compared by their position in the key: entities of a collection may name them differently."""
    keys = entity.keys(pattern.index)
    if keys.sparse and values["n"] != 0:
        return False
    for name, wanted in zip(keys.fields, given, strict=False):
        form = entity.forms[name]
        if form.part(values[name]) != (wanted if form.query_type else form.part(wanted)):
            return False
    if len(keys.fields) < len(given):
        return False
    if not bounds:
        return True
    name = keys.fields[pattern.given]
    form = entity.forms[name]
    held: Any = form.part(values[name])
    if pattern.bound == "starts_with":
        return bool(held.startswith(form.part(bounds[0])))
    rank = form.order or (lambda value: value)
    low = bounds[0] if pattern.bound in ("since", "between") else None
    high = bounds[-1] if pattern.bound in ("until", "between") else None
    return (low is None or rank(low) <= rank(held)) and (high is None or rank(held) <= rank(high))
