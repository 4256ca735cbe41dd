"""Writing items that are still stored under an old key: one rule for every write, alone, in a batch or a transaction.

    create, and a change of the key      nothing may be stored under an old key of the new item
    put, delete                          the item is moved to its current key first, and copies are deleted
    change, update, replace, check       the item is moved to its current key first

Only entities that declare `old_keys` are looked up before a write. A change or a deletion that finds nothing also looks
under the keys with a time in another format. An item that has expired counts as none, under any key. A write whose
condition is false for the item moves and deletes nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from partita.design.conditions import Condition
from partita.design.models import Model
from partita.dynamodb.values import Item
from partita.errors import AlreadyExists, ConditionFailed, NotFound, ReservedKey
from partita.plan.actions import Clause, ItemAction, equals
from partita.plan.changes import ItemChange, StoredItem, changed_values, merged_with_unknown
from partita.plan.condition_expressions import to_stored
from partita.plan.design import Design
from partita.plan.effects import OWNER, effects
from partita.plan.items import Values, encode_attributes, key_in_item, key_of, key_parts, old_keys, values_of
from partita.plan.predicates import evaluate
from partita.plan.races import Raced
from partita.store.batches import BatchWrite
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of
from partita.store.execution import ATTEMPTS, execute, pause_after_conflict, retries_exhausted
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item
from partita.store.old_items import fetch_all_under_old_keys, fetch_live_item, fetch_under_old_key

R = TypeVar("R")


def with_old_keys(
    context: StoreContext,
    design: Design,
    model: Model,
    values: Values,
    act: Callable[[], Flow[R]],
    when: Condition | None = None,
) -> Flow[R]:
    """Runs `act`; if the item is not found, moves it from its old key and runs `act` again."""
    try:
        return (yield from act())
    except ReservedKey:
        raise NotFound(model.name, key_parts(model, values)) from None
    except NotFound:
        if next(iter(old_keys(model, values)), None) is None:
            raise
    yield from move_from_old_key(context, design, model, values, when=when)
    return (yield from act())  # even if another writer has moved it


def check_no_old_item(context: StoreContext, model: Model, values: Values) -> Flow[None]:
    """Raises AlreadyExists if the entity is stored under an old key."""
    if model.old_keys and (yield from fetch_under_old_key(context, model, values)) is not None:
        raise AlreadyExists(model.name, key_parts(model, values))


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
    from partita.store.adoption import adopt_item

    moved = False
    for attempt in range(ATTEMPTS):
        raw = yield from fetch_under_old_key(context, model, values)
        if raw is None:
            return moved
        item: Item = msgspec.json.decode(raw)
        if not moved and (when is not None or check is not None):
            current = yield from fetch_live_item(context, model, key_of(model, values))
            _check_item(model, values, item if current is None else msgspec.json.decode(current), when, check)
        try:
            try:
                yield from adopt_item(context, design, model, item)
            except AlreadyExists:
                if only:
                    yield from _delete_copy(context, design, model, item)
        except Raced:
            yield pause_after_conflict(context, model.name, attempt)
            continue
        moved = True
        if not only:
            return True
    raise retries_exhausted(model.name)


def _check_item(
    model: Model, values: Values, item: Item, when: Condition | None, check: Callable[[Any], None] | None
) -> None:
    """ConditionFailed where the condition is false for the item as it would be stored now."""
    entity = decoder_of(model).from_item(item)
    now = values_of(model, entity)
    if when is not None and not evaluate(to_stored(model, when), merged_with_unknown(model, item, now, now)):
        raise ConditionFailed(model.name, key_parts(model, values))
    if check is not None:
        check(entity)


def settle_move(context: StoreContext, design: Design, change: ItemChange, found: StoredItem) -> Flow[None]:
    """Before a change of the key: no copy of the item may stay under an old key, and none of the new one be there."""
    model = change.model
    if change.edits.keys().isdisjoint(model.key.fields):
        return
    before = values_of(model, found.entity)
    after = {**before, **changed_values(change, found)}
    if key_of(model, before) != key_of(model, after):
        yield from move_from_old_key(context, design, model, before, only=True)
        yield from check_no_old_item(context, model, after)


def _delete_copy(context: StoreContext, design: Design, model: Model, item: Item) -> Flow[None]:
    """Deletes an item under an old key that exists under its current key as well, and the guards that name it."""
    stored_key = key_in_item(model, item)
    others = (name for name in item if name not in stored_key)
    unchanged = tuple(Clause(equals(name, item[name]), lambda _: Raced(model.name)) for name in others)
    actions = [ItemAction("delete", model.table.name, stored_key, model.name, clauses=unchanged)]
    values = values_of(model, decoder_of(model).from_item(item))
    for guard in effects(design, model, values, encode_attributes(model, values)).guards.values():
        raw = yield from fetch_item(context, model.table.name, guard.key)
        owner = None if raw is None else msgspec.json.decode(raw).get(OWNER)
        if owner == {"M": stored_key}:
            same = Clause(equals(OWNER, owner), lambda _: Raced(model.name))
            actions.append(ItemAction("delete", model.table.name, guard.key, model.name, clauses=(same,), own=False))
    yield from execute(context, actions)


def deletions_of_old_items(context: StoreContext, wanted: Iterable[tuple[Model, Values]]) -> Flow[Sequence[BatchWrite]]:
    """The deletions, for a batch, of what entities without invariants have under old keys."""
    declared = [(model, values) for model, values in wanted if model.old_keys]
    found = yield from fetch_all_under_old_keys(context, declared)
    return [
        BatchWrite(model, key_in_item(model, msgspec.json.decode(raw)))
        for (model, _), items in zip(declared, found, strict=True)
        for raw in items.values()
    ]
