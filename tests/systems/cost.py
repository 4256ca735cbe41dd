"""The cost of reads: the number of requests and the read units that the backend reports."""

from collections.abc import Iterable
from typing import Any

from partita import AUTO, CreatedAt, Get, Query, Store, UpdatedAt
from partita.design.models import model_of
from partita.dynamodb.requests import BatchWriteItem, PutRequest, WriteRequest
from partita.plan.items import item_of, values_of

Cost = tuple[int, float]
ONE_READ: Cost = (1, 0.5)  # one eventually consistent GetItem or Query of up to 4 KB
BATCH = 25


def costs(db: Store, calls: Iterable[Get[Any] | Query[Any]]) -> dict[str, Cost]:
    """Requests and read units by pattern name, for an item or the first page; none may be empty."""
    found = {}
    for call in calls:
        with db.measure() as used:
            assert db(call) if isinstance(call, Get) else db(call).page().items, call
        found[call.read.name] = (used.requests, used.reads)
    return found


def put_unchecked(db: Store, entities: Iterable[Any]) -> None:
    """Write items directly to the table, without guards and counters: other data around that of a test."""
    requests: dict[str, list[WriteRequest]] = {}
    for entity in entities:
        model = model_of(type(entity))
        for attribute, _ in model.marked(CreatedAt, UpdatedAt):
            if getattr(entity, attribute.field) == AUTO:
                setattr(entity, attribute.field, db.now())
        item = item_of(model, values_of(model, entity))
        requests.setdefault(model.table.name, []).append(WriteRequest(put_request=PutRequest(item=item)))
    for table, writes in requests.items():
        for start in range(0, len(writes), BATCH):
            db.backend.call(BatchWriteItem(request_items={table: writes[start : start + BATCH]}))
