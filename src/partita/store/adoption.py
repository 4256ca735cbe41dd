"""Adopting a table that other code filled: old key formats are rewritten, missing guards and counters are made.

Every item is read once. One that is not as the design writes it is rewritten in a transaction that fails if somebody
changed it meanwhile. Running it again finishes what was interrupted and finds nothing more to do. Counters are counted
over the whole run and then set; let nobody write meanwhile, or run it again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import msgspec

from partita.design.key_parts import EXACT
from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import equal_items, item_identity
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import AlreadyExists, InvalidValue, NotFound, StoreError
from partita.plan.actions import Clause, ItemAction, SetAttribute, Step, absent, equals, present
from partita.plan.changes import merged_with_unknown
from partita.plan.design import Counter, Design
from partita.plan.effects import OWNER, Effects, actions, effects
from partita.plan.items import Values, key_in_item, key_of, key_parts, key_text, values_of
from partita.plan.races import Raced
from partita.plan.stored_keys import GUARD
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.execution import execute
from partita.store.flows import Flow
from partita.store.reading import fetch_found, now_seconds
from partita.store.retries import send_idempotent


class Adoption(msgspec.Struct):
    """What was found and done; `unknown` items are of no entity, `refused` ones stand as they were, with the reason.

    `made` are items that a system's own adoption added: what its documents' rows lack.
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
        """What cannot be mended is told under its name, and the others go on."""
        try:
            yield
        except (StoreError, InvalidValue) as refusal:
            self.refused.append(f"{name}: {refusal}")


class _Count(msgspec.Struct):
    counter: Counter
    key: Item
    total: Decimal = Decimal(0)


Counts = dict[Any, _Count]


def adopt(context: StoreContext, design: Design, progress: Callable[[Adoption], None] | None) -> Flow[Adoption]:
    """Bring every item of the design's tables to what the design says."""
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
            return  # it has expired: nobody sees it, and what it held is free
        values = values_of(model, entity)
        _count(effects(design, model, values, merged_with_unknown(model, item, values, values)), counts)
        _expect(design, model, values, counts)
        rewritten, guarded = yield from adopt_item(context, design, model, item)
        done.rewritten += rewritten
        done.guards_created += guarded


def adopt_item(context: StoreContext, design: Design, model: Model, item: Item) -> Flow[tuple[bool, int]]:
    """Bring one item to what the design says; whether it was rewritten, and how many guards were made."""
    values = values_of(model, decoder_of(model).from_item(item))
    wanted = merged_with_unknown(model, item, values, values)
    wanted |= {name: _with_all_members(item[name], wanted[name]) for name in item.keys() & wanted.keys()}
    lies_at = key_in_item(model, item)
    held, wanting = yield from _guards(context, model, lies_at, effects(design, model, values, wanted))
    rewriting = [] if equal_items(wanted, item) else list(_rewriting(model, item, wanted, values))
    guarding = actions(model, held, wanting, set(), context.clock())
    yield from execute(context, [*rewriting, *guarding])
    return bool(rewriting), len(wanting.guards) - len(held.guards)


def _with_all_members(old: AttributeValue, new: AttributeValue) -> AttributeValue:
    """The new value with those members of maps that only other code knows; one that is null says nothing."""
    if "M" in old and "M" in new:
        known = {name: _with_all_members(old["M"].get(name, each), each) for name, each in new["M"].items()}
        return {"M": {name: each for name, each in old["M"].items() if "NULL" not in each} | known}
    if "L" in old and "L" in new and len(old["L"]) == len(new["L"]):
        return {"L": [_with_all_members(before, after) for before, after in zip(old["L"], new["L"], strict=True)]}
    return new


def _rewriting(model: Model, old: Item, new: Item, values: Values) -> Iterator[ItemAction]:
    """The item as it should be, in place of what it was; fenced by all that was read."""
    old_key, new_key = key_in_item(model, old), key_in_item(model, new)
    seen = tuple(Clause(equals(name, old[name]), lambda _: Raced(model.name)) for name in old if name not in old_key)
    if old_key == new_key:
        here = Clause(present(model.table.pk), lambda _: NotFound(model.name, key_parts(model, values)))
        yield ItemAction("put", model.table.name, new_key, model.name, item=new, clauses=(here, *seen))
        return
    yield ItemAction("delete", model.table.name, old_key, model.name, clauses=seen)
    free = Clause(absent(model.table.pk), lambda _: AlreadyExists(model.name, key_parts(model, values)))
    yield ItemAction("put", model.table.name, new_key, model.name, item=new, clauses=(free,))


def _guards(context: StoreContext, model: Model, lies_at: Item, after: Effects) -> Flow[tuple[Effects, Effects]]:
    """The guards that name the item by its old key, and those that it is to have in place of them or of none."""
    held, wanting = Effects(), Effects()
    for identity, guard in after.guards.items():
        request = wire.GetItem(table_name=model.table.name, key=guard.key, consistent_read=True)
        reply = yield from send_idempotent(context, request)
        owner = None if reply.item is None else msgspec.json.decode(reply.item).get(OWNER)
        if owner == {"M": guard.owner}:
            continue
        wanting.guards[identity] = guard
        if owner == {"M": lies_at}:
            held.guards[identity] = msgspec.structs.replace(guard, owner=lies_at)
    return held, wanting


def _count(after: Effects, counts: Counts) -> None:
    for where, (counter, parent, amount) in after.counts.items():
        count = counts.setdefault(where, _Count(counter, parent.key))
        count.total = EXACT.add(count.total, amount)


def _expect(design: Design, model: Model, values: Values, counts: Counts) -> None:
    """A counter that says something is looked at, though nothing that it counts may be there."""
    key = key_of(model, values)
    place = item_identity(model.table.name, key)
    for counter in (each for children in design.counters.values() for each in children if each.parent is model):
        if values[counter.attribute.field]:
            counts.setdefault((place, counter.attribute.name), _Count(counter, key))


def _set_counter(context: StoreContext, count: _Count, done: Adoption) -> Flow[None]:
    parent, attribute = count.counter.parent, count.counter.attribute
    found = yield from fetch_found(context, parent, count.key)
    if found is None or getattr(found.entity, attribute.field) == count.total:
        return
    text = key_text(key_of(parent, values_of(parent, found.entity)))
    unchanged = Clause(equals(attribute.name, found.item.get(attribute.name)), lambda _: Raced(parent.name))
    steps: dict[str, Step] = {attribute.name: SetAttribute({"N": str(count.total)})}
    setting = ItemAction("update", parent.table.name, count.key, parent.name, steps=steps, clauses=(unchanged,))
    with done.collecting_errors(f"{parent.name} {text}"):
        yield from execute(context, [setting])
        done.counted += 1
