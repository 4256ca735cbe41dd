"""Gets of one state: TransactGetItems reads several items as they were at one moment."""

from collections.abc import Sequence
from typing import Any

from partita.design.reads import Get
from partita.dynamodb import limits
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import item_identity
from partita.dynamodb.exceptions import TransactionCanceledException
from partita.dynamodb.responses import TransactGetItemsOutput
from partita.errors import InvalidTransaction
from partita.plan.read_requests import checked_key, get_plan
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of
from partita.store.execution import ATTEMPTS, pause_after_conflict, retries_exhausted
from partita.store.flows import Flow
from partita.store.reading import now_seconds
from partita.store.retries import send_idempotent


def fetch_together(context: StoreContext, calls: Sequence[Get[Any]]) -> Flow[tuple[Any, ...]]:
    """The entities of the gets at one moment, None for those that do not exist; old keys are not looked up."""
    wanted = [(get_plan(call), checked_key(get_plan(call), call.arguments)) for call in calls]
    places = [item_identity(plan.table, key) for plan, key in wanted]
    distinct = dict(zip(places, wanted, strict=True))
    if len(distinct) > limits.TRANSACTION_ACTIONS:
        raise InvalidTransaction(f"{len(distinct)} gets; a transaction has at most {limits.TRANSACTION_ACTIONS}")
    if not distinct:
        return ()
    gets = [wire.TransactGetItem(get=wire.Get(table_name=plan.table, key=key)) for plan, key in distinct.values()]
    reply = yield from _send(context, wire.TransactGetItems(transact_items=gets), calls[0].read.name)
    now = now_seconds(context)
    found = {
        place: None if each.item is None else decoder_of(plan.model)(each.item, now)
        for (place, (plan, _)), each in zip(distinct.items(), reply.responses or (), strict=True)
    }
    return tuple(found[place] for place in places)


def _send(context: StoreContext, request: wire.TransactGetItems, name: str) -> Flow[TransactGetItemsOutput]:
    """The reply; a get that meets a write of the same item is sent again."""
    for attempt in range(ATTEMPTS):
        try:
            return (yield from send_idempotent(context, request))
        except TransactionCanceledException as error:
            if any(each.get("Code") not in ("None", "TransactionConflict") for each in error.reasons):
                raise
        yield pause_after_conflict(context, name, attempt)
    raise retries_exhausted(name)
