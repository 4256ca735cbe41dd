"""TransactGetItems: up to a hundred items from one snapshot."""

from typing import Any

import msgspec
from msgspec import Raw

from partita.dynamodb.capacity import read_units
from partita.dynamodb.exceptions import EmptyKeyValue, TransactionCanceledException, ValidationException
from partita.dynamodb.limits import TRANSACTION_BYTES
from partita.dynamodb.requests import Get, TransactGetItems
from partita.dynamodb.responses import ItemResponse, TransactGetItemsOutput
from partita.dynamodb.values import ResolvedPath
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import TableUsage, consumed_capacity
from partita.engine.context import EngineContext
from partita.engine.expressions.projection import project
from partita.engine.parameters import check_combination, projection_of, scope_of
from partita.engine.schema import StoredTable
from partita.engine.write import decode_item
from partita.storage.contract import Row

_encode = msgspec.json.encode
SECOND_ACTION_ON_ITEM = "Transaction request cannot include multiple operations on one item"


def transact_get_items(context: EngineContext, request: TransactGetItems) -> TransactGetItemsOutput:
    check_members(request)
    gets = [each.get for each in request.transact_items or [] if each.get is not None]
    paths = [_paths(get) for get in gets]
    tables = [context.table(get.table_name) for get in gets]
    storage_keys = _storage_keys(gets, tables)
    for table, each in zip(tables, paths, strict=True):
        table.check_scalar_paths(iter(each or []))
    with context.storage.snapshot() as reader:
        rows = [reader.get(table.space, storage_key) for table, storage_key in zip(tables, storage_keys, strict=True)]
    if sum(row.weight for row in rows if row) > TRANSACTION_BYTES:
        raise ValidationException("Collection size of items exceeded the limit of 4 MB")
    used: dict[str, TableUsage] = {}
    for table, row in zip(tables, rows, strict=True):
        usage = used.setdefault(table.name, TableUsage(table))
        usage.units += 2 * read_units(row.weight if row else 0, True)
    capacities = [consumed_capacity(usage, request.return_consumed_capacity, "read") for usage in used.values()]
    return TransactGetItemsOutput(
        responses=[_response(row, each) for row, each in zip(rows, paths, strict=True)],
        consumed_capacity=[each for each in capacities if each is not None] or None,
    )


def _paths(get: Get) -> list[ResolvedPath] | None:
    check_combination(get, ["projection_expression"], [])
    scope = scope_of(get)
    paths = projection_of(get, scope)
    if scope:
        scope.check_all_used()
    return paths


def _storage_keys(gets: list[Get], tables: list[StoredTable]) -> list[bytes]:
    """The storage keys of the items; invalid keys cancel the transaction, with a reason for each."""
    storage_keys: list[bytes] = []
    reasons: list[dict[str, Any]] = []
    for get, table in zip(gets, tables, strict=True):
        try:
            storage_keys.append(table.storage_key(get.key or {}))
            reasons.append({"Code": "None"})
        except EmptyKeyValue:
            raise
        except ValidationException as error:
            reasons.append({"Code": "ValidationError", "Message": error.message})
    if len(storage_keys) < len(gets):
        raise TransactionCanceledException(reasons)
    if len({(table.name, storage_key) for table, storage_key in zip(tables, storage_keys, strict=True)}) < len(gets):
        raise ValidationException(SECOND_ACTION_ON_ITEM)
    return storage_keys


def _response(row: Row | None, paths: list[ResolvedPath] | None) -> ItemResponse:
    if row is None:
        return ItemResponse()
    if paths is None:
        return ItemResponse(item=Raw(row.value))
    item = project(decode_item(row.value), paths)
    return ItemResponse(item=Raw(_encode(item)) if item else None)
