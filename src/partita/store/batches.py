"""Batches: many puts or deletes of entities without invariants; unprocessed requests are sent again."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from partita.design.models import Model
from partita.dynamodb import limits
from partita.dynamodb import requests as wire
from partita.dynamodb.values import Item
from partita.errors import InvalidValue
from partita.plan.design import Design
from partita.plan.item_compiler import compiled_item
from partita.plan.items import validate_entity, values_of
from partita.plan.writes import can_delete_without_read, has_no_invariants, with_initial_values
from partita.store import log
from partita.store.context import StoreContext
from partita.store.flows import Flow
from partita.store.retries import send_idempotent

_decode_item = msgspec.json.Decoder(dict).decode
_decode_left = msgspec.json.Decoder(dict[str, list[wire.WriteRequest]]).decode


def put_many(context: StoreContext, design: Design, entities: Sequence[Any]) -> Flow[None]:
    """Puts entities without invariants, in batches; if one of them is invalid, nothing is sent."""
    models = {kind: design.holding(kind) for kind in set(map(type, entities))}
    for model in models.values():
        if not has_no_invariants(design, model):
            raise InvalidValue(model.name, "a batch cannot keep its invariants; create it, or use a transaction")
    packed = [_packed(models[type(entity)], entity, context.clock()) for entity in entities]
    puts = (wire.WriteRequest(put_request=wire.PutRequest(item=_item(each))) for each in packed)
    yield from batch_write(context, zip((models[type(entity)].table.name for entity in entities), puts, strict=True))


def _packed(model: Model, entity: Any, now: datetime) -> Item | bytes:
    """The item as bytes: they need less memory than objects, and no work of the garbage collector, while they wait."""
    item = compiled_item(model, values_of(model, with_initial_values(model, validate_entity(model, entity), now)))
    try:
        return msgspec.json.encode(item)
    except (UnicodeEncodeError, RecursionError):  # the backend rejects it with its own error
        return item


def _item(packed: Item | bytes) -> Item:
    item: Item = _decode_item(packed) if isinstance(packed, bytes) else packed
    return item


def delete_many(context: StoreContext, design: Design, keys: Iterable[tuple[Model, Item]]) -> Flow[None]:
    """Deletes items without invariants, in batches."""
    requests = []
    for model, key in keys:
        if not can_delete_without_read(design, model) or design.ownerships.get(model):
            raise InvalidValue(model.name, "a batch cannot keep its invariants; delete it, or use a transaction")
        requests.append(deletion_of(model, key))
    yield from batch_write(context, requests)


def deletion_of(model: Model, key: Item) -> tuple[str, wire.WriteRequest]:
    """The request that deletes an item, with its table, for `batch_write`."""
    return model.table.name, wire.WriteRequest(delete_request=wire.DeleteRequest(key=key))


def batch_write(context: StoreContext, requests: Iterable[tuple[str, wire.WriteRequest]]) -> Flow[None]:
    """Sends all requests, 25 in a batch, and the unprocessed ones again."""
    attempt = 0
    waiting = iter(requests)
    again: list[tuple[str, wire.WriteRequest]] = []
    while batch := [*again, *islice(waiting, limits.BATCH_WRITE_REQUESTS - len(again))]:
        asked: dict[str, list[wire.WriteRequest]] = {}
        for table, request in batch:
            asked.setdefault(table, []).append(request)
        sending = wire.BatchWriteItem(request_items=asked)
        reply = yield from send_idempotent(context, sending)
        left = {} if reply.unprocessed_items is None else _decode_left(reply.unprocessed_items)
        again = [
            (context.declared_table_name(table), request) for table, requests in left.items() for request in requests
        ]
        attempt = 0 if len(again) < len(batch) else attempt + 1
        if again:
            pause = context.pause(attempt)
            log.unprocessed(sending, len(again), pause.seconds)
            yield pause
