"""What is stored, in plain Python: the identity of items, the texts of their keys, guards, and expiry."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.fuzz.designs import DesignSpec, EntitySpec, UniqueSpec
from tests.fuzz.forms import Place, escaped, folded, nfc, number_text, time_text
from tests.fuzz.keys import KeySpec

Values = Mapping[str, Any]
Identity = tuple[Any, ...]
Items = dict[Identity, tuple[EntitySpec, dict[str, Any]]]


def identity(entity: EntitySpec, values: Values) -> Identity:
    """Two items with the same identity are one: the parts of the table's key, as the key holds them."""
    parts = [(form, values[name]) for each in entity.key.attributes for name, form in each.parts]
    return (entity.name, *(None if value is None else _comparable(form.part(value)) for form, value in parts))


def _comparable(part: Any) -> Any:
    return (type(part).__name__, part) if isinstance(part, bool) else part


@dataclass(frozen=True)
class State:
    """All items, and the unique values that are kept after a deletion."""

    items: Items = field(default_factory=dict)
    kept: frozenset[tuple[str, str, Any]] = frozenset()

    def stored(self, entity: EntitySpec) -> list[dict[str, Any]]:
        return [values for each, values in self.items.values() if each is entity]


def settled(entity: EntitySpec, values: Values) -> dict[str, Any]:
    """Values as they are read back."""
    plain = entity.settled_fields
    return {name: nfc(value) if name in plain else value for name, value in values.items()}


def is_alive(entity: EntitySpec, values: Values, now: datetime) -> bool:
    """Whether an item has not expired."""
    second = expiry(entity, values)
    return second is None or second > int(now.timestamp())


def expiry(entity: EntitySpec, values: Values) -> int | None:
    if entity.expires is None or values[entity.expires] is None or (entity.expires_when and values["n"] != 0):
        return None
    return int(values[entity.expires].timestamp())


# Unique values


def unique_value(entity: EntitySpec, unique: UniqueSpec, values: Values) -> tuple[str, ...] | None:
    """The value that no other item may have, as text; None where the item has none."""
    if any(values[name] is None for name in unique.fields) or (unique.sparse and values["n"] != 0):
        return None
    texts = (_unique_text(values[name]) for name in unique.fields)
    return tuple(folded(each) if unique.case_insensitive else nfc(each) for each in texts)


def _unique_text(value: Any) -> str:
    if isinstance(value, datetime):
        return time_text(value)
    return number_text(value) if isinstance(value, Decimal) else str(getattr(value, "value", value))


def guards(spec: DesignSpec, state: State, now: datetime, old: Mapping[Identity, dict[str, str]]) -> dict[str, Any]:
    """The key of every guard, with the key of its item; None for a value that is kept after a deletion.

    `old` has the keys of the items that lie under old ones.
    """
    found: dict[str, Any] = {_guard(entity, unique, value): None for entity, unique, value in state.kept}
    for place, (entity, values) in state.items.items():
        if is_alive(entity, values, now):
            for unique in entity.uniques:
                value = unique_value(entity, unique, values)
                if value is not None:
                    key = old.get(place) or key_texts(entity.key, values, spec.separator)
                    found[_guard(entity.name, unique.name, value)] = key
    return found


def _guard(entity: str, unique: str, value: tuple[str, ...]) -> str:
    return "#".join(("UNIQUE", entity, unique, *(escaped(each, Place()) for each in value)))


# Keys


def key_texts(
    keys: KeySpec, values: Values, separator: str, time_format: str = "microseconds"
) -> dict[str, str] | None:
    """The key attributes that templates write; None where the item is not in the index."""
    if not keys.has_parts(values):
        return None
    found: dict[str, str] = {}
    for attribute in keys.attributes:
        if attribute.template is None:
            continue
        texts = []
        for at, each in enumerate(attribute.template):
            text = each.constant
            if each.field is not None and each.form is not None:
                if values[each.field] is None:
                    break
                continues = attribute in keys.sort and at + 1 < len(attribute.template)
                text += each.form.text(values[each.field], Place(separator, continues, time_format))
            texts.append(text)
        found[attribute.name] = separator.join(texts)
    return found


def keys_in(entity: EntitySpec, index: str | None, values: Values) -> KeySpec | None:
    """The keys of an item in an index: the first whose condition holds and whose parts are present."""
    return next((each for each in entity.keys(index) if each.holds(values) and each.has_parts(values)), None)


def has_old_text(entity: EntitySpec, values: Values, separator: str, time_format: str) -> bool:
    """Whether other code can have written such an old key. It may be the key of another text today."""
    place = Place(separator, time_format=time_format)
    assert entity.old is not None
    for attribute in entity.old.attributes:
        for at, each in enumerate(attribute.template or ()):
            if each.field is None or each.form is None or each.form.name != "old" or values[each.field] is None:
                continue
            text = each.form.text(values[each.field], place)
            continues = at + 1 < len(attribute.template or ())
            if separator in text and continues:
                return False
    return True


def derived_attributes(spec: DesignSpec, entity: EntitySpec, values: Values) -> dict[str, str]:
    """Every attribute of an item that follows from others: its index keys and its TTL."""
    found: dict[str, str] = {}
    for index in dict.fromkeys(each.index for each in entity.indexes):
        keys = keys_in(entity, index, values)
        found |= {} if keys is None else key_texts(keys, values, spec.separator) or {}
    second = expiry(entity, values)
    if second is not None:
        found["ttl"] = str(second)
    return {name: text for name, text in found.items() if name not in spec.key_names}


def stored_names(spec: DesignSpec, entity: EntitySpec, values: Values) -> set[str]:
    """The names of an item's attributes on disk."""
    fields = entity.fields
    own = {name for name, value in values.items() if value is not None and not (name in fields and fields[name].hidden)}
    return (
        own | set(spec.key_names) | set(derived_attributes(spec, entity, values)) | ({"type"} if spec.typed else set())
    )
