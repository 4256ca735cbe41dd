"""Data of which no design is recorded: a part of it is compared with the design of a program, and a difference logged.

Such data was stored by other code, or before designs were recorded. It is not refused: whatever a read finds is checked
when it is read. But an index whose keys nobody wrote gives fewer items, which nothing else would notice.
"""

from collections.abc import Mapping

import msgspec

from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import equal_items
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.values import Item
from partita.errors import PartitaError
from partita.plan.changes import merged_with_unknown
from partita.plan.design import Design
from partita.plan.effects import OWNER
from partita.plan.items import values_of
from partita.plan.table_definitions import differences
from partita.store import log
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.flows import Flow
from partita.store.old_items import has_expired
from partita.store.retries import send_idempotent

SAMPLE = 100
"""How many items of each table are compared."""


def compare_unrecorded_data(context: StoreContext, design: Design, recorded: Mapping[str, object]) -> Flow[bool]:
    """Compares tables without a record with the design; False if one does not exist yet, or may not be read."""
    is_known = True
    for table in design.tables:
        if context.table_name(table.name) in recorded:
            continue
        try:
            yield from _compare(context, table)
        except DynamoDBError:
            is_known = False
    return is_known


def _compare(context: StoreContext, table: Table) -> Flow[None]:
    name = context.table_name(table.name)
    described = yield from send_idempotent(context, wire.DescribeTable(table_name=name))
    missing = [] if described.table is None else [each.sentence for each in differences(table, described.table)]
    reply = yield from send_idempotent(context, wire.Scan(table_name=table.name, limit=SAMPLE))
    items = list(reply.items or ())
    differing = sum(not _is_as_designed(context, table, raw) for raw in items)
    if differing or missing:
        log.unrecorded_data(name, len(items), differing, missing)


def _is_as_designed(context: StoreContext, table: Table, raw: msgspec.Raw) -> bool:
    """Whether an item is stored as the design stores it: keys, index keys, TTL, attributes."""
    item: Item = msgspec.json.decode(raw)
    if OWNER in item:
        return True
    model = recogniser_of(table).model_of(raw)
    if model is None or has_expired(context, model, raw):
        return model is not None
    try:
        values = values_of(model, decoder_of(model).from_item(item))
        wanted = merged_with_unknown(model, item, values, values)
    except PartitaError:
        return False
    counters = {attribute.name for attribute, _ in model.counters} - item.keys()
    return equal_items({name: each for name, each in wanted.items() if name not in counters}, item)
