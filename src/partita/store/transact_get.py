"""Gets of one state: TransactGetItems reads several items as they were at one moment."""

from collections.abc import Sequence
from typing import Any

import msgspec

from partita.design.reads import Get
from partita.dynamodb import limits
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.exceptions import TransactionCanceledException
from partita.dynamodb.values import Item
from partita.errors import InvalidTransaction
from partita.plan.items import old_keys
from partita.plan.read_requests import Plan, checked_key, get_plan, key_values
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of
from partita.store.execution import ATTEMPTS, pause_after_conflict, retries_exhausted
from partita.store.flows import Flow
from partita.store.old_items import is_in_place, is_item_of, now_seconds
from partita.store.readiness import check_readable, without_unready_counters
from partita.store.retries import send_idempotent


def fetch_together(context: StoreContext, calls: Sequence[Get[Any]]) -> Flow[tuple[Any, ...]]:
    """The entities of the gets at one moment, None for those that do not exist."""
    plans = [get_plan(call) for call in calls]
    for plan in plans:
        check_readable(context.design, plan)
    keys = [_places(plan, call) for plan, call in zip(plans, calls, strict=True)]
    distinct = {place: key for several in keys for place, key in several.items()}
    if len(distinct) > limits.TRANSACTION_ACTIONS:
        most = limits.TRANSACTION_ACTIONS
        raise InvalidTransaction(f"{len(distinct)} gets; a transaction has at most {most}")
    if not distinct:
        return ()
    asked = [(place[0], key) for place, key in distinct.items()]
    found = dict(zip(distinct, (yield from fetch_at_one_moment(context, asked, calls[0].read.name)), strict=True))
    now = now_seconds(context)
    results = []
    for plan, call, several in zip(plans, calls, keys, strict=True):
        first, *old = (found[place] for place in several)
        if old and (first is None or not is_in_place(context, plan.model, first)):
            values = key_values(plan, call.arguments)
            first = next((raw for raw in old if raw and is_item_of(context, plan.model, values, raw)), None)
        entity = None if first is None else decoder_of(plan.model)(first, now)
        results.append(without_unready_counters(context.design, plan.models, entity))
    return tuple(results)


def _places(plan: Plan, call: Get[Any]) -> dict[ItemIdentity, Item]:
    """The keys under which the item of a get may be, by identity: the current one, then old ones."""
    key = checked_key(plan, call.arguments)
    others = old_keys(plan.model, key_values(plan, call.arguments)) if plan.model.old_keys else ()
    return {item_identity(plan.table, each): each for each in (key, *others)}


def fetch_at_one_moment(
    context: StoreContext, keys: Sequence[tuple[str, Item]], name: str
) -> Flow[list[msgspec.Raw | None]]:
    """Items by table and key, None for those that do not exist; a get that meets a write of an item is sent again."""
    gets = [wire.TransactGetItem(get=wire.Get(table_name=table, key=key)) for table, key in keys]
    for attempt in range(ATTEMPTS):
        try:
            reply = yield from send_idempotent(context, wire.TransactGetItems(transact_items=gets))
            return [each.item for each in reply.responses or ()]
        except TransactionCanceledException as error:
            if any(each.get("Code") not in ("None", "TransactionConflict") for each in error.reasons):
                raise
        yield pause_after_conflict(context, name, attempt)
    raise retries_exhausted(name)
