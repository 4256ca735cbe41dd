"""Batches: many puts or deletes of entities without invariants; unprocessed requests are sent again."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from partita.design.models import Model
from partita.dynamodb import limits
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import ItemIdentity, equal_items, item_identity
from partita.dynamodb.values import Item
from partita.errors import InvalidValue, PartitaError, item_name
from partita.plan.design import Design
from partita.plan.effects import check_limits
from partita.plan.item_compiler import compiled_item
from partita.plan.items import Values, key_in_item, validate_entity, values_of
from partita.plan.migrated_edits import stored_item
from partita.plan.writes import can_delete_without_read, has_no_invariants, with_initial_values
from partita.store import log
from partita.store.arguments import as_list
from partita.store.context import StoreContext
from partita.store.flows import Flow
from partita.store.item_reads import fetch_item
from partita.store.rejections import check_item_size
from partita.store.retries import PerhapsApplied, outcome_unknown, send

_decode_item = msgspec.json.Decoder(dict).decode
_decode_left = msgspec.json.Decoder(dict[str, list[wire.WriteRequest]]).decode


class BatchWrite(msgspec.Struct, frozen=True):
    """A put of an item, or its deletion where `item` is None."""

    model: Model
    key: Item
    item: Item | None = None

    @property
    def request(self) -> wire.WriteRequest:
        if self.item is None:
            return wire.WriteRequest(delete_request=wire.DeleteRequest(key=self.key))
        return wire.WriteRequest(put_request=wire.PutRequest(item=self.item))


class BatchPuts(msgspec.Struct, frozen=True):
    """The puts of a batch: their items while they wait, and the values of entities that may have old keys."""

    items: list[tuple[Model, Item | bytes]]
    values: list[tuple[Model, dict[str, Any]]]

    def writes(self) -> Iterator[BatchWrite]:
        return (_put_of(model, each) for model, each in self.items)


def puts_of(context: StoreContext, design: Design, entities: Iterable[Any]) -> BatchPuts:
    """The puts of entities without invariants; an InvalidValue if one of them is invalid."""
    entities = as_list("put_many", "entities", entities)
    models = {kind: design.model_of(each) for kind, each in {type(each): each for each in entities}.items()}
    for model in models.values():
        if not has_no_invariants(design, model):
            raise InvalidValue(model.name, "a batch cannot keep its invariants; create it, or use a transaction")
    packed: dict[ItemIdentity, tuple[Model, Item | bytes]] = {}
    with_old_keys: list[tuple[Model, dict[str, Any]]] = []
    for entity in entities:
        model = models[type(entity)]
        values = values_of(model, with_initial_values(model, validate_entity(model, entity), context.clock()))
        item = stored_item(design.data, model.name, _item_of(model, values))
        identity = item_identity(model.table.name, key_in_item(model, item))
        if identity in packed:
            name = item_name(model.name, {name: getattr(entity, name) for name in model.key.fields})
            raise InvalidValue(model.name, f"{name} is in the batch twice; put it once")
        packed[identity] = (model, _packed(model, item))
        if model.old_keys:
            with_old_keys.append((model, values))
    return BatchPuts(list(packed.values()), with_old_keys)


def _item_of(model: Model, values: Values) -> Item:
    check_limits(model, {}, values)
    return compiled_item(model, values)


def _packed(model: Model, item: Item) -> Item | bytes:
    """The item as bytes: they need less memory than objects, and no work of the garbage collector, while they wait."""
    try:
        packed = msgspec.json.encode(item)
    except (UnicodeEncodeError, RecursionError):  # the backend rejects it with its own error
        return item
    check_item_size(model.name, item, len(packed))
    return packed


def _put_of(model: Model, packed: Item | bytes) -> BatchWrite:
    item: Item = _decode_item(packed) if isinstance(packed, bytes) else packed
    return BatchWrite(model, key_in_item(model, item), item)


def deletions(design: Design, keys: Iterable[tuple[Model, Item]]) -> dict[ItemIdentity, BatchWrite]:
    """The deletions of items without invariants, by identity; an item may be named twice."""
    writes = {}
    for model, key in keys:
        if not can_delete_without_read(design, model) or design.ownerships.get(model) or model.counters:
            raise InvalidValue(model.name, "a batch cannot keep its invariants; delete it, or use a transaction")
        writes[item_identity(model.table.name, key)] = BatchWrite(model, key)
    return writes


def batch_write(context: StoreContext, writes: Iterable[BatchWrite]) -> Flow[None]:
    """Sends all writes, 25 in a batch, and the unprocessed ones again; no two may be of the same item."""
    attempt = 0
    waiting = iter(writes)
    again: list[BatchWrite] = []
    while batch := [*again, *islice(waiting, limits.BATCH_WRITE_REQUESTS - len(again))]:
        asked: dict[str, list[wire.WriteRequest]] = {}
        for each in batch:
            asked.setdefault(each.model.table.name, []).append(each.request)
        sending = wire.BatchWriteItem(request_items=asked)
        try:
            reply = yield from send(context, sending, once=True)
        except PerhapsApplied as lost:
            yield from _verify(context, sending, batch, lost)
            again = []
            continue
        left = {} if reply.unprocessed_items is None else _decode_left(reply.unprocessed_items)
        again = _unprocessed(context, batch, left)
        attempt = 0 if len(again) < len(batch) else attempt + 1
        if again:
            pause = context.pause(attempt)
            log.unprocessed(sending, len(again), pause.seconds)
            yield pause


def _unprocessed(
    context: StoreContext, batch: list[BatchWrite], left: dict[str, list[wire.WriteRequest]]
) -> list[BatchWrite]:
    """The writes of a batch that DynamoDB has returned."""
    models = {each.model.table.name: each.model for each in batch}
    found = []
    for table, requests in left.items():
        model = models[context.declared_table_name(table)]
        for each in requests:
            if each.put_request is not None and each.put_request.item is not None:
                found.append(BatchWrite(model, key_in_item(model, each.put_request.item), each.put_request.item))
            elif each.delete_request is not None and each.delete_request.key is not None:
                found.append(BatchWrite(model, each.delete_request.key))
    return found


def _verify(
    context: StoreContext, sent: wire.BatchWriteItem, batch: list[BatchWrite], lost: PerhapsApplied
) -> Flow[None]:
    """OutcomeUnknown unless the stored items show that every write of the batch was applied."""
    for each in batch:
        try:
            raw = yield from fetch_item(context, each.model.table.name, each.key)
        except (PartitaError, OSError):
            raise outcome_unknown(sent, each.model.name, lost.__cause__) from lost.__cause__
        stored = None if raw is None else msgspec.json.decode(raw)
        done = stored is None if each.item is None else equal_items(each.item, stored or {})
        if not done:
            raise outcome_unknown(sent, each.model.name, lost.__cause__) from lost.__cause__
