"""Writing items that are still stored under an old key: one rule for every write, alone, in a batch or a transaction.

    create, and a change of the key      nothing may be stored under an old key of the new item
    put, delete                          the item under an old key is replaced or deleted there, and so are its copies
    change, update, replace              the item moves to its current key, with its new values
    check                                the item is checked where it is

Each of them is one transaction, so a write that is rejected moves and deletes nothing. Only two are preceded by a move:
a write that counts in a parent or refers to it, if that is under an old key, and the deletion of an owner.

Only entities that declare `old_keys` are looked up before a write. A change or a deletion that finds nothing also looks
under the keys with a time in another format. An item that has expired counts as none, under any key.

An old key with a plain text may be the current key of another text, which is escaped there: `a$Sb` is the old key of
that text, and the current key of `a#b`. Such an item is never taken for the other. Before anything is written under the
key, it is moved to its own current key.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from partita.design.conditions import Condition
from partita.design.models import Model
from partita.dynamodb.canonical import ItemIdentity
from partita.dynamodb.values import Item
from partita.errors import AlreadyExists, ConditionFailed
from partita.plan.actions import Clause, ItemAction, equals
from partita.plan.changes import ItemChange, StoredItem, changed_values, completed_change
from partita.plan.condition_expressions import to_stored
from partita.plan.design import Design
from partita.plan.effects import OWNER, Guard, effects
from partita.plan.fences import whole_fence
from partita.plan.items import Values, encode_attributes, key_in_item, key_of, key_parts, old_keys, values_of
from partita.plan.races import Raced
from partita.store.batches import BatchWrite
from partita.store.context import StoreContext
from partita.store.decoding import can_be_of_another, decoder_of
from partita.store.execution import ATTEMPTS, execute, pause_after_conflict, retries_exhausted
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item
from partita.store.old_items import (
    fetch_all_under_old_keys,
    fetch_current_item,
    fetch_under_old_key,
    has_expired,
    old_place,
)
from partita.store.reading import fetch_stored_item


def has_old_keys(model: Model, values: Values) -> bool:
    """Whether the entity may be stored under another key than its current one."""
    return next(iter(old_keys(model, values)), None) is not None


def check_no_old_item(context: StoreContext, model: Model, values: Values) -> Flow[None]:
    """Raises AlreadyExists if the entity is stored under an old key."""
    if model.old_keys and (yield from fetch_under_old_key(context, model, values)) is not None:
        raise AlreadyExists(model.name, key_parts(model, values))


def fetch_for_write(context: StoreContext, design: Design, model: Model, values: Values) -> Flow[StoredItem | None]:
    """The item of an entity under its current key, or else under an old one; None if it has expired.

    Items move from old keys to current ones alone. So one that is under none of them when they are read in this order
    may have been moved, and is then under its current key.
    """
    found = yield from _fetch_current(context, model, values)
    if found is not None or not has_old_keys(model, values):
        return found
    raw = yield from fetch_under_old_key(context, model, values)
    if raw is not None:
        return (yield from _old_item(context, design, model, raw))
    return (yield from _fetch_current(context, model, values))


def _fetch_current(context: StoreContext, model: Model, values: Values) -> Flow[StoredItem | None]:
    found = yield from fetch_stored_item(context, model, key_of(model, values))
    is_another = found is not None and model.old_keys and old_place((model,), found.item) is not None
    return None if is_another else found


def _old_item(context: StoreContext, design: Design, model: Model, raw: msgspec.Raw) -> Flow[StoredItem]:
    item: Item = msgspec.json.decode(raw)
    entity = decoder_of(model).from_item(item)
    owners = yield from _guard_owners(context, design, model, values_of(model, entity))
    return StoredItem(item, entity, key_in_item(model, item), owners)


def _guard_owners(
    context: StoreContext, design: Design, model: Model, values: Values
) -> Flow[dict[ItemIdentity, Item]]:
    """The owners of the item's guards that name it, by its current key or an old one."""
    places = [key_of(model, values), *old_keys(model, values)]
    owners = {}
    for identity, guard in _guards(design, model, values).items():
        raw = yield from fetch_item(context, model.table.name, guard.key)
        owner = None if raw is None else msgspec.json.decode(raw).get(OWNER, {}).get("M")
        if owner in places:
            owners[identity] = owner
    return owners


def _guards(design: Design, model: Model, values: Values) -> dict[ItemIdentity, Guard]:
    if not model.uniques:
        return {}
    return effects(design, model, values, encode_attributes(model, values)).guards


def fetch_with_copies(
    context: StoreContext, design: Design, model: Model, values: Values
) -> Flow[tuple[StoredItem | None, list[ItemAction]]]:
    """The item of an entity under any key, and the deletions of its copies under other ones."""
    (old,) = yield from fetch_all_under_old_keys(context, [(model, values)])
    copies = list(old.values())
    found = yield from _fetch_current(context, model, values)  # last: items move from old keys to current ones
    if not copies:
        return found, []
    if found is None:
        found = yield from _old_item(context, design, model, copies.pop(0))
    else:
        owners = yield from _guard_owners(context, design, model, values_of(model, found.entity))
        found = msgspec.structs.replace(found, owners=owners)
    kept = _guards(design, model, values_of(model, found.entity))
    deletions: list[ItemAction] = []
    for copy in copies:
        deletions += yield from _copy_deletion(context, design, model, msgspec.json.decode(copy), kept)
    return found, deletions


def _copy_deletion(
    context: StoreContext, design: Design, model: Model, item: Item, kept: Iterable[ItemIdentity] = ()
) -> Flow[list[ItemAction]]:
    """Deletes an item under an old key and the guards that name it there, other than those of the item itself."""
    stored_key = key_in_item(model, item)
    clauses = whole_fence(model, item)
    actions = [ItemAction("delete", model.table.name, stored_key, model.name, clauses=clauses, at_old_key=True)]
    values = values_of(model, decoder_of(model).from_item(item))
    for identity, guard in _guards(design, model, values).items():
        raw = yield from fetch_item(context, model.table.name, guard.key)
        owner = None if raw is None else msgspec.json.decode(raw).get(OWNER)
        if owner == {"M": stored_key} and identity not in kept:
            same = Clause(equals(OWNER, owner), lambda _: Raced(model.name))
            actions.append(ItemAction("delete", model.table.name, guard.key, model.name, clauses=(same,), own=False))
    return actions


def deletions_under_old_keys(context: StoreContext, model: Model, values: Values) -> Flow[list[ItemAction]]:
    """The deletions of what an entity without invariants has under old keys."""
    if not model.old_keys:
        return []
    (old,) = yield from fetch_all_under_old_keys(context, [(model, values)])
    items: list[Item] = [msgspec.json.decode(raw) for raw in old.values()]
    return [
        ItemAction(
            "delete",
            model.table.name,
            key_in_item(model, item),
            model.name,
            clauses=whole_fence(model, item),
            at_old_key=True,
        )
        for item in items
    ]


def settle_key_change(
    context: StoreContext, design: Design, change: ItemChange, found: StoredItem
) -> Flow[list[ItemAction]]:
    """Before a change of the key: the deletions of copies under old keys; the new item may be under none of its own.

    Only an entity that declares old keys needs it.
    """
    change = completed_change(change, found)
    model = change.model
    if change.edits.keys().isdisjoint(model.key.fields):
        return []
    before = values_of(model, found.entity)
    after = {**before, **changed_values(change, found)}
    if key_of(model, before) == key_of(model, after):
        return []
    _, deletions = yield from fetch_with_copies(context, design, model, before)
    yield from check_no_old_item(context, model, after)
    return deletions


def move_from_old_key(
    context: StoreContext,
    design: Design,
    model: Model,
    values: Values,
    *,
    only: bool = False,
    when: Condition | None = None,
    check: Callable[[Any], None] | None = None,
) -> Flow[bool]:
    """Moves the item under an old key to its current key; false if there is no such item. Repeated after a conflict.

    With `only`, no copy is left under an old key: what is stored under the current key is the item. Before anything is
    moved, `when` has to be true of the item, and `check` receives the entity, and may raise.
    """
    from partita.store.adoption import move_item

    moved = False
    for attempt in range(ATTEMPTS):
        raw = yield from fetch_under_old_key(context, model, values)
        if raw is None:
            return moved
        item: Item = msgspec.json.decode(raw)
        if not moved and (when is not None or check is not None):
            current = yield from fetch_current_item(context, model, values)
            _check_item(model, values, item if current is None else msgspec.json.decode(current), when, check)
        try:
            if only:
                yield from move_or_delete_copy(context, design, model, item)
            else:
                with suppress(AlreadyExists):
                    yield from move_item(context, design, model, item)
        except Raced:
            yield pause_after_conflict(context, model.name, attempt)
            continue
        moved = True
        if not only:
            return True
    raise retries_exhausted(model.name)


def move_or_delete_copy(context: StoreContext, design: Design, model: Model, item: Item) -> Flow[bool]:
    """Moves an item to its current key; false if one is stored there: then this is its copy, and is deleted."""
    from partita.store.adoption import move_item

    try:
        yield from move_item(context, design, model, item)
        return True
    except AlreadyExists:
        values = values_of(model, decoder_of(model).from_item(item))
        current = yield from _fetch_current(context, model, values)
        kept = {} if current is None else _guards(design, model, values_of(model, current.entity))
        yield from execute(context, (yield from _copy_deletion(context, design, model, item, kept)))
        return False


def _check_item(
    model: Model, values: Values, item: Item, when: Condition | None, check: Callable[[Any], None] | None
) -> None:
    """ConditionFailed where the condition is false for the item as it would be stored now."""
    found = StoredItem(item, decoder_of(model).from_item(item))
    if when is not None:
        failed = ConditionFailed(model.name, key_parts(model, values))
        found.check(model, [Clause(to_stored(model, when), lambda _: failed)])
    if check is not None:
        check(found.entity)


def free_keys(context: StoreContext, design: Design, keys: Iterable[tuple[Model, Item]]) -> Flow[None]:
    """Moves every item that is stored under one of these current keys, but under an old key of its own."""
    for model, key in keys:
        if not can_be_of_another(model, key):
            continue
        for attempt in range(ATTEMPTS):
            raw = yield from fetch_item(context, model.table.name, key)
            item: Item = {} if raw is None else msgspec.json.decode(raw)
            if raw is None or old_place((model,), item) is None or has_expired(context, model, raw):
                break
            try:
                yield from move_or_delete_copy(context, design, model, item)
            except Raced:
                yield pause_after_conflict(context, model.name, attempt)
        else:
            raise retries_exhausted(model.name)


def deletions_of_old_items(context: StoreContext, wanted: Iterable[tuple[Model, Values]]) -> Flow[Sequence[BatchWrite]]:
    """The deletions, for a batch, of what entities without invariants have under old keys."""
    declared = [(model, values) for model, values in wanted if model.old_keys]
    found = yield from fetch_all_under_old_keys(context, declared)
    return [
        BatchWrite(model, key_in_item(model, msgspec.json.decode(raw)))
        for (model, _), items in zip(declared, found, strict=True)
        for raw in items.values()
    ]
