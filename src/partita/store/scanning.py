"""Scans for jobs that read every stored entity: adoption, repairs, exports.

Access patterns never scan. A scan reads its tables page by page, and consumes capacity for every item in them.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb import requests as wire
from partita.dynamodb.values import Item
from partita.errors import StoredItemInvalid
from partita.plan.design import Design
from partita.plan.effects import OWNER
from partita.store.context import StoreContext
from partita.store.decoding import decoder_of, recogniser_of
from partita.store.flows import Flow
from partita.store.reading import now_seconds
from partita.store.retries import send_idempotent


def scanned_tables(design: Design, entities: Sequence[type[Any]]) -> dict[Table, set[Model]]:
    """The tables to scan, each with the models of the wanted entities."""
    wanted: dict[Table, set[Model]] = {}
    for entity in entities:
        model = design.holding(entity)
        wanted.setdefault(model.table, set()).add(model)
    return wanted


def scan_page(
    context: StoreContext, table: Table, wanted: set[Model], start: Item | None
) -> Flow[tuple[list[Any], Item | None]]:
    """The entities of one page of a table, and the start of the next page; undecodable items are left out."""
    request = wire.Scan(table_name=table.name, exclusive_start_key=start, consistent_read=True)
    reply = yield from send_idempotent(context, request)
    found = []
    for raw in reply.items or ():
        model = recogniser_of(table).model_of(raw)
        if model not in wanted or OWNER in msgspec.json.decode(raw):
            continue
        try:
            entity = decoder_of(model)(raw, now_seconds(context))
        except StoredItemInvalid:
            continue
        if entity is not None:
            found.append(entity)
    last = reply.last_evaluated_key
    return found, None if last is None else msgspec.json.decode(last)
