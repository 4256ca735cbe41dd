"""Flows that read: one item, a page, a batch.

A page merges the ranges of a declared fan-out by sort key; a plain query is a fan-out of one. Expired items are left
out and pages are refilled, so a page is short only at the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from partita.design.models import Model
from partita.design.reads import Get, Query, Read
from partita.dynamodb import limits
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.values import Item, sort_value
from partita.errors import InvalidValue
from partita.plan.changes import StoredItem
from partita.plan.items import Values, old_keys
from partita.plan.read_requests import (
    Plan,
    check_lengths,
    fan_out_values,
    get_item,
    get_key,
    key_values,
    plan_of,
    query,
    start_key,
)
from partita.store.cursors import DONE, START, State, binding, cursor_text, states_of
from partita.store.decoding import Recogniser, decoder_of
from partita.store.flows import Flow
from partita.store.retries import StoreContext, send_idempotent

E = TypeVar("E")
Decode = Callable[[msgspec.Raw, int | None], Any]


def as_stored(raw: msgspec.Raw, now: int | None) -> msgspec.Raw:
    """In the place of a decoder, for who wants a page of items that never expire as their bytes."""
    return raw


@dataclass(frozen=True)
class Page(Generic[E]):
    """Some items and, unless the range is at its end, the cursor of the next page."""

    items: list[E]
    cursor: str | None


def now_seconds(context: StoreContext) -> int:
    return int(context.clock().timestamp())


def fetch_one(
    context: StoreContext, call: Get[E], *, consistent: bool = False, decode: Decode | None = None
) -> Flow[E | None]:
    """The entity, or whatever else `decode` makes of the item's bytes."""
    plan = plan_of(call.read)
    try:
        reply = yield from send_idempotent(context, get_item(plan, call.arguments, consistent=consistent))
    except ValidationException:
        check_lengths(plan, call.arguments)
        raise
    item = reply.item
    if item is None and plan.model.old_keys:
        item = yield from fetch_old(context, plan.model, key_values(plan, call.arguments))
    if item is None:
        return None
    now = now_seconds(context) if decode is not None or plan.model.expires is not None else None
    found: E | None = (decode or decoder_of(plan.model))(item, now)
    return found


def fetch_old(context: StoreContext, model: Model, values: Values) -> Flow[msgspec.Raw | None]:
    """The item under one of the entity's old keys."""
    for key in old_keys(model, values):
        request = wire.GetItem(table_name=model.table.name, key=key, consistent_read=True)
        reply = yield from send_idempotent(context, request)
        if reply.item is not None:
            return reply.item
    return None


def fetch_found(context: StoreContext, model: Model, key: Item) -> Flow[StoredItem | None]:
    """An item for a fenced write: strongly read, with its bytes decoded both ways."""
    request = wire.GetItem(table_name=model.table.name, key=key, consistent_read=True)
    reply = yield from send_idempotent(context, request)
    if reply.item is None:
        return None
    entity = decoder_of(model)(reply.item, now_seconds(context))
    return None if entity is None else StoredItem(msgspec.json.decode(reply.item), entity)


@dataclass
class _Range:
    """One of the merged ranges: what was read of it and is not yet returned."""

    repeat: Any
    state: State
    waiting: list[msgspec.Raw] = field(default_factory=list)
    resume: Item | None = None  # where the next request of this range begins
    ended: bool = False
    next_key: Any = None

    def head(self, plan: Plan) -> Any:
        """The sort key of what comes next."""
        if self.next_key is None:
            item = msgspec.json.decode(self.waiting[0])
            self.next_key = tuple(sort_value(item[name]) for name in plan.sort_names)
        return self.next_key


def fetch_page(
    context: StoreContext,
    call: Query[E],
    *,
    size: int | None = None,
    cursor: str | None = None,
    consistent: bool = False,
    expired: bool = False,
    decode: Decode | None = None,
) -> Flow[Page[E]]:
    """The next page of a query, with expired items only where they are asked for; `decode` as for one item."""
    if size is not None and size < 1:
        raise InvalidValue(call.read.name, f"a page holds at least one item, not {size!r}")
    plan = plan_of(call.read)
    over = fan_out_values(plan, call.arguments)
    states: list[State] = [START] * len(over)
    if cursor:
        states = states_of(plan.read.name, cursor, binding(plan, call.arguments), len(over), context.secret)
    ranges = [_opened(repeat, state) for repeat, state in zip(over, states, strict=True)]
    wanted = size or call.read.page_size
    decode = decode or decoder_for_read(call.read)
    now = None if expired else now_seconds(context)
    items: list[E] = []
    while wanted is None or len(items) < wanted:
        for each in ranges:
            limit = None if wanted is None or plan.read.where is not None else wanted - len(items)
            yield from _fill(context, plan, call.arguments, each, limit, consistent)
        ready = [each for each in ranges if each.waiting]
        if not ready:
            break
        room = None if wanted is None else wanted - len(items)
        taken: list[Any] = _taken(plan, ready, room)
        items += taken if decode is as_stored else [each for raw in taken if (each := decode(raw, now)) is not None]
        if wanted is None and items and any(not each.waiting and not each.ended for each in ranges):
            break  # a page of DynamoDB's own size ends where the first of the ranges has to be read on
    states = [_state(each) for each in ranges]
    if all(state == DONE for state in states):
        return Page(items, None)
    return Page(items, cursor_text(binding(plan, call.arguments), states, context.secret))


def _opened(repeat: Any, state: State) -> _Range:
    resume = None if isinstance(state, int) else state
    return _Range(repeat, state, resume=resume, ended=state == DONE)


def _state(each: _Range) -> State:
    return DONE if each.ended and not each.waiting else each.state


def _fill(
    context: StoreContext,
    plan: Plan,
    arguments: tuple[Any, ...],
    each: _Range,
    limit: int | None,
    consistent: bool,
) -> Flow[None]:
    """Read on until the range has something waiting or ends."""
    while not each.waiting and not each.ended:
        request = query(
            plan, arguments, fan_out_value=each.repeat, limit=limit, start=each.resume, consistent=consistent
        )
        reply = yield from send_idempotent(context, request)
        each.waiting = list(reply.items or ())
        if reply.last_evaluated_key is None:
            each.ended = True
        else:
            each.resume = msgspec.json.decode(reply.last_evaluated_key)
            if not each.waiting and each.resume is not None:
                each.state = each.resume


def _taken(plan: Plan, ready: list[_Range], room: int | None) -> list[msgspec.Raw]:
    """What comes first of all the ranges, taken out of its own."""
    if len(ready) == 1:
        first = ready[0]
        taken, first.waiting = first.waiting[:room], first.waiting[len(first.waiting[:room]) :]
    else:
        choose = min if plan.proof.forward else max
        first = choose(ready, key=lambda each: each.head(plan))
        taken, first.waiting = first.waiting[:1], first.waiting[1:]
    first.next_key = None
    if first.waiting:
        first.state = start_key(plan, msgspec.json.decode(taken[-1]))
    elif first.resume is not None:
        first.state = first.resume
    return taken


def decoder_for_read(read: Read) -> Decode:
    """How the items of a read become entities."""
    if read.view is not None:
        return decoder_of(read.view)
    if len(read.sources) == 1:
        return decoder_of(read.sources[0].model)
    return Recogniser(tuple(source.model for source in read.sources))


def fetch_batch(context: StoreContext, calls: Sequence[Get[E]]) -> Flow[list[E | None]]:
    """Many gets in as few BatchGetItem as they need; the result is in the order of the calls."""
    wanted = [(plan_of(call.read), get_key(plan_of(call.read), call.arguments)) for call in calls]
    found = yield from _fetch_keys(context, wanted)
    results = [found.get(item_identity(plan.table, key)) for plan, key in wanted]
    old = {
        at: [(plan, key) for key in old_keys(plan.model, key_values(plan, call.arguments))]
        for at, (call, (plan, _)) in enumerate(zip(calls, wanted, strict=True))
        if results[at] is None and plan.model.old_keys
    }
    if old:
        found = yield from _fetch_keys(context, [each for several in old.values() for each in several])
    for at, several in old.items():
        there = (found.get(item_identity(plan.table, key)) for plan, key in several)
        results[at] = next((each for each in there if each is not None), None)
    return results


def _fetch_keys(context: StoreContext, wanted: Sequence[tuple[Plan, Item]]) -> Flow[dict[ItemIdentity, Any]]:
    """What is stored under the keys."""
    found: dict[ItemIdentity, Any] = {}
    waiting = list({item_identity(plan.table, key): (plan, key) for plan, key in wanted}.values())
    decoders = {item_identity(plan.table, key): decoder_of(plan.model) for plan, key in waiting}
    names = {plan.table: plan.model.table.key_names for plan, _ in waiting}
    now = now_seconds(context)
    while waiting:
        batch, waiting = waiting[: limits.BATCH_GET_KEYS], waiting[limits.BATCH_GET_KEYS :]
        asked: dict[str, wire.KeysAndAttributes] = {}
        for plan, key in batch:
            keys = asked.setdefault(plan.table, wire.KeysAndAttributes(keys=[])).keys
            assert keys is not None
            keys.append(key)
        for table, raw in (yield from _batch(context, asked)):
            key = msgspec.json.decode(raw)
            identity = item_identity(table, {name: key[name] for name in names[table]})
            found[identity] = decoders[identity](raw, now)
    return found


def _batch(context: StoreContext, asked: dict[str, wire.KeysAndAttributes]) -> Flow[list[tuple[str, msgspec.Raw]]]:
    """One BatchGetItem, and again for what it left unprocessed."""
    found: list[tuple[str, msgspec.Raw]] = []
    attempt = 0
    while asked:
        reply = yield from send_idempotent(context, wire.BatchGetItem(request_items=asked))
        got = [(table, raw) for table, items in (reply.responses or {}).items() for raw in items]
        found += got
        left = reply.unprocessed_keys
        asked = msgspec.json.decode(left, type=dict[str, wire.KeysAndAttributes]) if left is not None else {}
        attempt = 0 if got else attempt + 1
        if asked:
            yield context.pause(min(attempt, context.retries))
    return found
