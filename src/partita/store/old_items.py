"""Items under old keys: finding the one of an entity, and leaving out those that have been replaced.

An item is stored under one key, its current one or an old one. Other programs may have stored it under both: then the
one under the current key is the item, for every read and write. One that has expired counts as none, under any key.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import TypeVar

import msgspec

from partita.design.models import Model
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import Item
from partita.errors import StoredItemInvalid
from partita.plan.items import Values, key_in_item, key_of, old_keys, values_of
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of, is_current_form, is_old_form
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item, fetch_items

T = TypeVar("T")


def now_seconds(context: StoreContext) -> int:
    """The store's time in whole seconds since 1970, as TTL attributes have it."""
    return int(context.clock().timestamp())


def fetch_under_old_key(context: StoreContext, model: Model, values: Values) -> Flow[msgspec.Raw | None]:
    """The bytes of the entity's item under the first of its old keys that has it; None if it has expired."""
    for key in old_keys(model, values):
        raw = yield from fetch_item(context, model.table.name, key)
        if raw is not None and is_item_of(context, model, values, raw):
            return raw
    return None


def fetch_all_under_old_keys(
    context: StoreContext, wanted: Sequence[tuple[Model, Values]], *, consistent: bool = True
) -> Flow[list[dict[ItemIdentity, msgspec.Raw]]]:
    """For each entity, its items under old keys by their identities, in the order of the old keys."""
    keys = [[(model.table.name, key) for key in old_keys(model, values)] for model, values in wanted]
    found = yield from fetch_items(context, [each for several in keys for each in several], consistent=consistent)
    results = []
    for (model, values), several in zip(wanted, keys, strict=True):
        places = (item_identity(table, key) for table, key in several)
        there = {place: found[place] for place in places if place in found}
        results.append({place: raw for place, raw in there.items() if is_item_of(context, model, values, raw)})
    return results


def fetch_old_or_moved(context: StoreContext, model: Model, values: Values) -> Flow[msgspec.Raw | None]:
    """The bytes of an entity's item that was not under its current key.

    Items move from old keys to current ones alone. So one that is under none of them when they are read in this order
    may have been moved, and is then under its current key.
    """
    raw = yield from fetch_under_old_key(context, model, values)
    return raw if raw is not None else (yield from fetch_current_item(context, model, values))


def fetch_all_old_or_moved(
    context: StoreContext, wanted: Sequence[tuple[Model, Values]], *, consistent: bool = True
) -> Flow[list[msgspec.Raw | None]]:
    """The same for many entities."""
    old = yield from fetch_all_under_old_keys(context, wanted, consistent=consistent)
    results = [next(iter(several.values()), None) for several in old]
    keys = [(model.table.name, key_of(model, values)) for model, values in wanted]
    missing = [key for key, raw in zip(keys, results, strict=True) if raw is None]
    found = yield from fetch_items(context, missing, consistent=consistent)
    for at, ((model, _), key) in enumerate(zip(wanted, keys, strict=True)):
        moved = found.get(item_identity(*key))
        if results[at] is None and moved is not None and is_in_place(context, model, moved):
            results[at] = moved
    return results


def has_expired(context: StoreContext, model: Model, raw: msgspec.Raw) -> bool:
    """Whether an item that is still stored has expired; one that cannot be decoded has not."""
    if model.expires is None:
        return False
    try:
        return decoder_of(model)(raw, now_seconds(context)) is None
    except StoredItemInvalid:
        return False


def is_in_place(context: StoreContext, model: Model, raw: msgspec.Raw) -> bool:
    """Whether what is stored under a current key is its item: not expired, nor another one under its old key.

    An old key with a plain text may be the current key of another text, which is escaped there.
    """
    if has_expired(context, model, raw):
        return False
    return not model.old_keys or old_place((model,), msgspec.json.decode(raw)) is None


def fetch_current_item(context: StoreContext, model: Model, values: Values) -> Flow[msgspec.Raw | None]:
    """The bytes of the entity's item under its current key; None if it has expired."""
    raw = yield from fetch_item(context, model.table.name, key_of(model, values))
    return None if raw is None or not is_in_place(context, model, raw) else raw


def is_item_of(context: StoreContext, model: Model, values: Values, raw: msgspec.Raw) -> bool:
    """Whether an item is the entity's, and has not expired: another one's current key may look like its old key.

    One that cannot be decoded counts as the entity's, so that the caller meets the error.
    """
    try:
        entity = decoder_of(model)(raw, now_seconds(context))
    except StoredItemInvalid:
        return True
    return entity is not None and key_of(model, values_of(model, entity)) == key_of(model, values)


class OldPlace(msgspec.Struct, frozen=True):
    """An item under an old key: its entity, the key under which it is stored, and its values.

    The values are None where the attributes that were read are not all, such as those of a view.
    """

    model: Model
    stored: Item
    values: Values | None

    @property
    def current_key(self) -> Item | None:
        return None if self.values is None else key_of(self.model, self.values)

    @property
    def preferred(self) -> Iterator[Item]:
        """The keys under which a copy would be found before this one."""
        if self.values is not None:
            every = chain((key_of(self.model, self.values),), old_keys(self.model, self.values))
            yield from takewhile(lambda key: key != self.stored, every)


def old_place(models: Iterable[Model], item: Item) -> OldPlace | None:
    """None for an item that is not under an old key of one of the entities."""
    for model in models:
        stored = key_in_item(model, item)
        if not is_old_form(model, stored):
            continue
        values = _values_in(model, item)
        key = None if values is None else key_of(model, values)
        if key != stored and (key is not None or not is_current_form(model, stored)):
            return OldPlace(model, stored, values)
    return None


def _old_place_of_a_part(models: Iterable[Model], part: Item) -> OldPlace | None:
    """The place of an item of which only a part was read: what is missing there may still be stored."""
    for model in models:
        stored = key_in_item(model, part)
        if is_old_form(model, stored):
            return OldPlace(model, stored, None)
    return None


def _values_in(model: Model, item: Item) -> Values | None:
    try:
        return values_of(model, decoder_of(model).from_item(item))
    except StoredItemInvalid:
        return None


def replaced_items(
    context: StoreContext, places: Mapping[T, OldPlace | None], *, consistent: bool
) -> Flow[frozenset[T]]:
    """Those of the items, by any name, that are under an old key, and under a key that is looked up before it."""
    whole = yield from _with_values(context, places, consistent=consistent)
    old = {name: (place, list(place.preferred)) for name, place in whole.items()}
    wanted = ((place.model.table.name, key) for place, keys in old.values() for key in keys)
    found = yield from fetch_items(context, wanted, consistent=consistent)
    copies = set()
    for name, (place, keys) in old.items():
        there = [found.get(item_identity(place.model.table.name, key)) for key in keys]
        values = place.values or {}
        if any(raw is not None and is_item_of(context, place.model, values, raw) for raw in there):
            copies.add(name)
    return frozenset(copies)


def _with_values(
    context: StoreContext, places: Mapping[T, OldPlace | None], *, consistent: bool
) -> Flow[dict[T, OldPlace]]:
    """The places with their values: the whole item is read where an index or a view does not hold all of them."""
    old = {name: place for name, place in places.items() if place is not None}
    partial = {name: place for name, place in old.items() if place.values is None}
    wanted = ((place.model.table.name, place.stored) for place in partial.values())
    found = yield from fetch_items(context, wanted, consistent=consistent)
    for name, place in partial.items():
        raw = found.get(item_identity(place.model.table.name, place.stored))
        values = None if raw is None else _values_in(place.model, msgspec.json.decode(raw))
        old[name] = msgspec.structs.replace(place, values=values)
    return old


def without_replaced(
    context: StoreContext,
    models: Iterable[Model],
    items: Iterable[msgspec.Raw],
    *,
    consistent: bool,
    whole: bool = True,
) -> Flow[list[msgspec.Raw]]:
    """The items without those that have been replaced; not `whole` are those of an index that holds a part of them."""
    every, wanted = list(items), tuple(models)
    find = old_place if whole else _old_place_of_a_part
    places = {at: find(wanted, msgspec.json.decode(raw)) for at, raw in enumerate(every)}
    replaced = yield from replaced_items(context, places, consistent=consistent)
    return [raw for at, raw in enumerate(every) if at not in replaced]
