"""BatchWriteItem: up to 25 puts and deletes of several tables, here in one transaction."""

from msgspec import Raw

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.limits import BATCH_WRITE_REQUESTS
from partita.dynamodb.requests import BatchWriteItem, WriteRequest
from partita.dynamodb.responses import BatchWriteItemOutput, ItemCollectionMetrics
from partita.engine.change_log import last_number
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import TableUsage, consumed_capacity
from partita.engine.context import EngineContext, Job
from partita.engine.operations.batch_get_item import DUPLICATES
from partita.engine.operations.item_writes import BatchPutIntent, DeleteIntent, WriteIntent, WriteOutcome, metrics_of
from partita.engine.schema import StoredTable
from partita.engine.write import load_version, writes_for
from partita.storage.contract import StorageTransaction, Write


def batch_write_item(context: EngineContext, request: BatchWriteItem) -> Job:
    check_members(request)
    request_items = request.request_items or {}
    if not request_items:
        raise ValidationException("The requestItems parameter is required for BatchWriteItem")
    _check_number(request_items)
    intents = {name: [_intent(each) for each in requests] for name, requests in request_items.items()}
    if sum(map(len, intents.values())) > BATCH_WRITE_REQUESTS:
        raise ValidationException("Too many items requested for the BatchWriteItem call")

    def job(txn: StorageTransaction) -> BatchWriteItemOutput:
        return _run(context, txn, request, intents)

    return job


def _run(
    context: EngineContext, txn: StorageTransaction, request: BatchWriteItem, intents: dict[str, list[WriteIntent]]
) -> BatchWriteItemOutput:
    now = context.clock()
    writes: list[Write] = []
    used: list[TableUsage] = []
    metrics: dict[str, list[ItemCollectionMetrics]] = {}
    for table, each in _by_table(context, intents):
        usage = TableUsage(table)
        used.append(usage)
        last = last_number(txn, table) if table.is_logged else None
        for number, (storage_key, intent) in enumerate(_with_storage_keys(table, each)):
            before = load_version(txn, table, storage_key)
            after = intent.after(table, before)
            follows, units = writes_for(txn, table, storage_key, before, after, now, offset=number, last=last)
            writes += follows
            usage.add(units)
            if request.return_item_collection_metrics is not None:
                metric = metrics_of(txn, request, WriteOutcome(table, before, after, follows, units))
                if metric is not None:
                    metrics.setdefault(table.name, []).append(metric)
    txn.apply(writes)
    capacities = [consumed_capacity(usage, request.return_consumed_capacity) for usage in used]
    return BatchWriteItemOutput(
        unprocessed_items=Raw(b"{}"),
        consumed_capacity=[each for each in capacities if each is not None] or None,
        item_collection_metrics=metrics or None,
    )


def _by_table(
    context: EngineContext, intents: dict[str, list[WriteIntent]]
) -> list[tuple[StoredTable, list[WriteIntent]]]:
    """The intents of each table; one request may name a table both by name and by ARN."""
    found: dict[str, tuple[StoredTable, list[WriteIntent]]] = {}
    for name, each in intents.items():
        table = context.table_for_write(name)
        found.setdefault(table.name, (table, []))[1].extend(each)
    return list(found.values())


def _with_storage_keys(table: StoredTable, intents: list[WriteIntent]) -> list[tuple[bytes, WriteIntent]]:
    storage_keys = [intent.storage_key(table) for intent in intents]
    if len(set(storage_keys)) != len(storage_keys):
        raise ValidationException(DUPLICATES)
    return list(zip(storage_keys, intents, strict=True))


def _check_number(request_items: dict[str, list[WriteRequest]]) -> None:
    for name, requests in request_items.items():
        if not 1 <= len(requests) <= BATCH_WRITE_REQUESTS:
            raise ValidationException(
                f"1 validation error detected: Value '{{{name}=[{len(requests)} write requests]}}' at 'requestItems' "
                "failed to satisfy constraint: Map value must satisfy constraint: "
                f"[Member must have length less than or equal to {BATCH_WRITE_REQUESTS}, "
                "Member must have length greater than or equal to 1]"
            )


def _intent(request: WriteRequest) -> WriteIntent:
    put, delete = request.put_request, request.delete_request
    if (put is None) == (delete is None):
        raise ValidationException(
            "Supplied AttributeValue has more than one datatypes set, "
            "must contain exactly one of the supported datatypes"
        )
    if put is not None:
        putting = BatchPutIntent.of(put.item or {})
        putting.check_size()
        return putting
    return DeleteIntent((delete.key if delete else None) or {})
