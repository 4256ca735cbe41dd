"""Adopting a table that other code filled: old key formats are rewritten, missing guards and counters are created.

Every item is read once. An item that differs from what the design stores is rewritten in a transaction, which fails if
the item changes meanwhile. A second run finishes an interrupted one, and then finds nothing to do. Counters are counted
over the whole run and then set: if other programs write meanwhile, run it again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from partita.design.key_parts import EXACT
from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import equal_items, item_identity
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import AlreadyExists, InvalidValue, NotFound, NotUnique, StoreError
from partita.plan.actions import Clause, ItemAction, SetAttribute, Step, equals, present
from partita.plan.changes import is_free, merged_with_unknown
from partita.plan.design import Counter, Design
from partita.plan.effects import OWNER, Effects, actions, effects, guard_has_expired
from partita.plan.fences import whole_fence
from partita.plan.items import GUARD, Values, key_in_item, key_of, key_parts, key_text, values_of
from partita.plan.races import Raced
from partita.store.arguments import check_function
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.execution import execute
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item
from partita.store.old_items import fetch_current_item, now_seconds
from partita.store.reading import fetch_stored_item
from partita.store.retries import send_idempotent


class Adoption(msgspec.Struct):
    """The result of an adoption, as numbers of items.

    `unknown` lists the keys of items that belong to no entity, `refused` the items that could not be adopted, each with
    the reason. `created` counts items that a system's own adoption added.
    """

    seen: int = 0
    rewritten: int = 0
    guards_created: int = 0
    counted: int = 0
    created: int = 0
    unknown: list[str] = msgspec.field(default_factory=list)
    refused: list[str] = msgspec.field(default_factory=list)

    @contextmanager
    def collecting_errors(self, name: str) -> Iterator[None]:
        """Records the error for this item and continues with the rest."""
        try:
            yield
        except (StoreError, InvalidValue) as error:
            self.refused.append(f"{name}: {error}")


class _Count(msgspec.Struct):
    counter: Counter
    key: Item
    total: Decimal = Decimal(0)


Counts = dict[Any, _Count]


def adopt(context: StoreContext, design: Design, progress: Callable[[Adoption], None] | None) -> Flow[Adoption]:
    """Rewrites every item of the design's tables as the design stores it."""
    check_function("adopt", "progress", progress, optional=True)
    done = Adoption()
    counts: Counts = {}
    for table in design.tables:
        start: Item | None = None
        while True:
            request = wire.Scan(table_name=table.name, exclusive_start_key=start, consistent_read=True)
            reply = yield from send_idempotent(context, request)
            for raw in reply.items or ():
                yield from _adopt_item(context, design, table, raw, done, counts)
            if progress is not None:
                progress(done)
            if reply.last_evaluated_key is None:
                break
            start = msgspec.json.decode(reply.last_evaluated_key)
    for count in counts.values():
        yield from _set_counter(context, count, done)
    return done


def _adopt_item(
    context: StoreContext, design: Design, table: Table, raw: msgspec.Raw, done: Adoption, counts: Counts
) -> Flow[None]:
    item: Item = msgspec.json.decode(raw)
    name = key_text({each: item[each] for each in table.key_names})
    if OWNER in item and name.startswith(GUARD):
        return
    done.seen += 1
    model = recogniser_of(table).model_of(raw)
    if model is None:
        done.unknown.append(name)
        return
    with done.collecting_errors(f"{model.name} {name}"):
        entity = decoder_of(model)(raw, now_seconds(context))
        if entity is None:
            return  # it has expired: it is hidden, and its unique values are free
        values = values_of(model, entity)
        if (yield from _is_copy(context, model, item, values)):
            raise AlreadyExists(model.name, key_parts(model, values))  # so it counts for nothing
        _count(effects(design, model, values, merged_with_unknown(model, item, values, values)), counts)
        _include_stored_counters(design, model, values, counts)
        rewritten, guarded = yield from adopt_item(context, design, model, item)
        done.rewritten += rewritten
        done.guards_created += guarded


def _is_copy(context: StoreContext, model: Model, item: Item, values: Values) -> Flow[bool]:
    """Whether the item is stored under its current key as well, and has not expired there."""
    key = key_of(model, values)
    return key != key_in_item(model, item) and (yield from fetch_current_item(context, model, values)) is not None


def move_item(context: StoreContext, design: Design, model: Model, item: Item) -> Flow[None]:
    """Moves an item to its current key, for another write that needs it there or has to delete it.

    It takes the unique values that are free. One that another item holds stays with that: the two were equal before.
    """
    try:
        yield from adopt_item(context, design, model, item, leaves_held=True)
    except NotUnique:
        raise Raced(model.name) from None  # another writer has taken the value since its guard was read


def adopt_item(
    context: StoreContext, design: Design, model: Model, item: Item, *, leaves_held: bool = False
) -> Flow[tuple[bool, int]]:
    """Rewrites one item as the design stores it; returns whether it changed, and how many guards were created.

    A unique value that another item holds is an error, unless it `leaves_held` values to their holders.
    """
    values = values_of(model, decoder_of(model).from_item(item))
    wanted = merged_with_unknown(model, item, values, values)
    wanted |= {name: with_all_members(item[name], wanted[name]) for name in item.keys() & wanted.keys()}
    stored_key = key_in_item(model, item)
    after = effects(design, model, values, wanted)
    outdated, missing = yield from _guards(context, model, stored_key, after, leaves_held=leaves_held)
    now = context.clock()
    rewriting = [] if equal_items(wanted, item) else list(_rewrite_actions(model, item, wanted, values, now))
    guarding = actions(design, model, outdated, missing, set(), now)
    yield from execute(context, [*rewriting, *guarding])
    return bool(rewriting), len(missing.guards) - len(outdated.guards)


def with_all_members(old: AttributeValue, new: AttributeValue) -> AttributeValue:
    """The new value with the members of maps that the design does not know; null members are dropped."""
    if "M" in old and "M" in new:
        known = {name: with_all_members(old["M"].get(name, each), each) for name, each in new["M"].items()}
        return {"M": {name: each for name, each in old["M"].items() if "NULL" not in each} | known}
    if "L" in old and "L" in new and len(old["L"]) == len(new["L"]):
        return {"L": [with_all_members(before, after) for before, after in zip(old["L"], new["L"], strict=True)]}
    return new


def _rewrite_actions(model: Model, old: Item, new: Item, values: Values, now: datetime) -> Iterator[ItemAction]:
    """Replaces an item, fenced by everything that was read; an expired one under its new key counts as absent."""
    old_key, new_key = key_in_item(model, old), key_in_item(model, new)
    seen = whole_fence(model, old)
    if old_key == new_key:
        here = Clause(present(model.table.pk), lambda _: NotFound(model.name, key_parts(model, values)))
        yield ItemAction("put", model.table.name, new_key, model.name, item=new, clauses=(here, *seen))
        return
    yield ItemAction("delete", model.table.name, old_key, model.name, clauses=seen, at_old_key=True)
    free = Clause(is_free(model, now), lambda _: AlreadyExists(model.name, key_parts(model, values)))
    yield ItemAction("put", model.table.name, new_key, model.name, item=new, clauses=(free,))


def _guards(
    context: StoreContext, model: Model, stored_key: Item, after: Effects, *, leaves_held: bool
) -> Flow[tuple[Effects, Effects]]:
    """The guards that name the item by its old key, and those to be created or to replace them."""
    outdated, missing = Effects(), Effects()
    for identity, guard in after.guards.items():
        raw = yield from fetch_item(context, model.table.name, guard.key)
        held: Item = {} if raw is None else msgspec.json.decode(raw)
        owner = held.get(OWNER)
        if owner == {"M": guard.owner}:
            continue
        if owner == {"M": stored_key}:
            outdated.guards[identity] = msgspec.structs.replace(guard, owner=stored_key)
        elif leaves_held and held and not guard_has_expired(model, held, context.clock()):
            continue
        missing.guards[identity] = guard
    return outdated, missing


def _count(after: Effects, counts: Counts) -> None:
    for where, (counter, parent, amount) in after.counts.items():
        count = counts.setdefault(where, _Count(counter, parent.key))
        count.total = EXACT.add(count.total, amount)


def _include_stored_counters(design: Design, model: Model, values: Values, counts: Counts) -> None:
    """Includes the counters of an entity that are not zero, though they may have nothing to count."""
    key = key_of(model, values)
    identity = item_identity(model.table.name, key)
    for counter in (each for children in design.counters.values() for each in children if each.parent is model):
        if values[counter.attribute.field]:
            counts.setdefault((identity, counter.attribute.name), _Count(counter, key))


def _set_counter(context: StoreContext, count: _Count, done: Adoption) -> Flow[None]:
    parent, attribute = count.counter.parent, count.counter.attribute
    found = yield from fetch_stored_item(context, parent, count.key)
    if found is None or getattr(found.entity, attribute.field) == count.total:
        return
    text = key_text(key_of(parent, values_of(parent, found.entity)))
    unchanged = Clause(equals(attribute.name, found.item.get(attribute.name)), lambda _: Raced(parent.name))
    steps: dict[str, Step] = {attribute.name: SetAttribute({"N": str(count.total)})}
    setting = ItemAction("update", parent.table.name, count.key, parent.name, steps=steps, clauses=(unchanged,))
    with done.collecting_errors(f"{parent.name} {text}"):
        yield from execute(context, [setting])
        done.counted += 1
