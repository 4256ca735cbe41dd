"""Pages of a table, item by item, with the work that each needs."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import Item
from partita.errors import ConfigurationError, InvalidValue, StoredItemInvalid
from partita.evolution.item_work import (
    STALE_OWNER,
    ItemWork,
    StoredEntity,
    is_guard,
    item_work,
    stored_entity,
    wanted_effects,
)
from partita.plan.design import Design
from partita.plan.effects import OWNER, Effects
from partita.plan.items import key_text
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item, fetch_items
from partita.store.old_items import has_expired, now_seconds
from partita.store.retries import send_idempotent

Removed = Mapping[str, frozenset[str]]
"""By entity, the attributes of the earlier design that it no longer has."""

ITEMS_PER_SECOND = 250
"""The default rate of `partita apply`, at which the p99 of writes hardly grows (`bench.evolution`)."""

LOWEST_RATE = 0.1
"""An item every ten seconds: a run keeps its place for thirty."""

PAGE = 200
SLICE = 0.016
"""Seconds of a page at the rate that is asked for: a short piece of work lets other requests pass."""


def page_limit(items_per_second: float | None) -> int:
    """How many items are read at a time, at a rate; ConfigurationError for one at which nothing would go on."""
    if items_per_second is None:
        return PAGE
    if not items_per_second >= LOWEST_RATE:  # NaN is not either
        raise ConfigurationError(f"items_per_second={items_per_second}: it must be at least {LOWEST_RATE}")
    return max(1, int(min(PAGE, items_per_second * SLICE)))


class PageItem(msgspec.Struct, frozen=True, gc=False):
    """One item of a page: its entity and what it needs, or why it cannot be judged."""

    table: Table
    key: Item
    item: Item
    size: int
    model: Model | None = None
    stored: StoredEntity | None = None
    effects: Effects | None = None
    work: ItemWork | None = None
    is_guard: bool = False
    is_expired: bool = False
    error: str = ""
    fits: bool = True  # false for an item that is read and cannot be stored by the design

    @property
    def name(self) -> str:
        return key_text(self.key) if self.model is None else f"{self.model.name} {key_text(self.key)}"


class ScannedPage(msgspec.Struct, frozen=True):
    """A page of a scan, and the key after which the next one begins."""

    items: list[PageItem]
    next_key: Item | None
    units: float


def scan_request(table: Table, start: Item | None, **more: Any) -> wire.Scan:
    return wire.Scan(
        table_name=table.name,
        exclusive_start_key=start,
        consistent_read=True,
        return_consumed_capacity="TOTAL",
        **more,
    )


def fetch_page(
    context: StoreContext, design: Design, removed: Removed, request: wire.Scan, table: Table
) -> Flow[ScannedPage]:
    """The items of one page of a scan, with their work."""
    reply = yield from send_idempotent(context, request)
    judged = yield from judge_items(context, design, removed, table, list(reply.items or ()))
    last = reply.last_evaluated_key
    capacity = reply.consumed_capacity
    units = 0.0 if capacity is None else float(getattr(capacity, "capacity_units", 0) or 0)
    return ScannedPage(judged, None if last is None else msgspec.json.decode(last), units)


def judge_items(
    context: StoreContext, design: Design, removed: Removed, table: Table, raws: list[msgspec.Raw]
) -> Flow[list[PageItem]]:
    """Stored items with the work that they need; the guards of all of them are read together."""
    found = [_judged(context, design, removed, table, raw) for raw in raws]
    keys = [
        (table.name, guard.key) for each in found if each.effects is not None for guard in each.effects.guards.values()
    ]
    guards: dict[ItemIdentity, Item] = {}
    if keys:
        fetched = yield from fetch_items(context, keys, consistent=True)
        guards = {identity: msgspec.json.decode(raw) for identity, raw in fetched.items()}
        guards = yield from _with_valid_owners(context, design, found, guards)
    now = context.clock()
    return [
        each
        if each.stored is None or each.effects is None
        else msgspec.structs.replace(each, work=item_work(design, each.stored, each.effects, guards, now))
        for each in found
    ]


def _with_valid_owners(
    context: StoreContext, design: Design, found: list[PageItem], guards: dict[ItemIdentity, Item]
) -> Flow[dict[ItemIdentity, Item]]:
    """The guards; one whose owner does not hold the value (any more) has it as its `STALE_OWNER` too."""
    for each in found:
        for identity, guard in each.effects.guards.items() if each.effects is not None else ():
            owner = guards.get(identity, {}).get(OWNER, {}).get("M")
            if owner is None or owner in (guard.owner, each.key):
                continue
            raw = yield from fetch_item(context, each.table.name, owner)
            if raw is None and guard.unique.keep_after_delete:
                continue
            if raw is None or not _holds(design, guard.model, msgspec.json.decode(raw), identity):
                guards[identity] = guards[identity] | {STALE_OWNER: {"M": owner}}
    return guards


def _holds(design: Design, model: Model, item: Item, guard: ItemIdentity) -> bool:
    """Whether an item holds the unique value of a guard; one that cannot be read may."""
    try:
        return guard in wanted_effects(design, stored_entity(model, item)).guards
    except (StoredItemInvalid, InvalidValue):
        return True


def _judged(context: StoreContext, design: Design, removed: Removed, table: Table, raw: msgspec.Raw) -> PageItem:
    item: Item = msgspec.json.decode(raw)
    key = {name: item[name] for name in table.key_names}
    size = len(bytes(raw))
    if is_guard(table, item):
        return PageItem(table, key, item, size, is_guard=True)
    model = recogniser_of(table).model_of_key(key)
    if model is None:
        return PageItem(table, key, item, size)
    if has_expired(context, model, raw):
        return PageItem(table, key, item, size, model, is_expired=True)
    try:
        stored = stored_entity(model, item, removed.get(model.name, frozenset()))
        return PageItem(table, key, item, size, model, stored, wanted_effects(design, stored))
    except StoredItemInvalid as error:
        return PageItem(table, key, item, size, model, error=error.reason)
    except InvalidValue as error:
        return PageItem(table, key, item, size, model, error=str(error), fits=False)


def fetch_one_item(
    context: StoreContext, design: Design, removed: Removed, table: Table, key: Item
) -> Flow[PageItem | None]:
    """One item as it is now, with its work; None if it does not exist."""
    found = yield from fetch_items(context, [(table.name, key)], consistent=True)
    raw = found.get(item_identity(table.name, key))
    if raw is None:
        return None
    (judged,) = yield from judge_items(context, design, removed, table, [raw])
    return judged


def is_live(context: StoreContext, model: Model, item: Item) -> bool:
    """Whether an item has not expired."""
    return decoder_of(model)(msgspec.json.encode(item), now_seconds(context)) is not None


def attributes_in(fact: str | None) -> Iterator[str]:
    """The attributes on disk that a fact about keys names: `GSI1PK = STATUS#{status} | GSI1SK = ...`."""
    for alternative in (fact or "").split("; "):
        for part in alternative.split(" | "):
            name, equals, _ = part.partition(" = ")
            if equals and " " not in name:
                yield name
