"""TransactGetItems: up to a hundred items as they were at one moment."""

from typing import Any

import msgspec
from msgspec import Raw

from partita.dynamodb.capacity import read_units
from partita.dynamodb.exceptions import TransactionCanceledException, ValidationException
from partita.dynamodb.limits import TRANSACTION_BYTES
from partita.dynamodb.requests import Get, TransactGetItems
from partita.dynamodb.responses import ItemResponse, TransactGetItemsOutput
from partita.dynamodb.values import ResolvedPath
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import Usage, consumed
from partita.engine.context import EngineContext
from partita.engine.expressions.projection import projected
from partita.engine.parameters import check_combination, projection_of, scope_of
from partita.engine.schema import StoredTable
from partita.engine.write import decode_item
from partita.storage.contract import Row

_encode = msgspec.json.encode
ONCE = "Transaction request cannot include multiple operations on one item"


def transact_get_items(context: EngineContext, request: TransactGetItems) -> TransactGetItemsOutput:
    check_members(request)
    gets = [each.get for each in request.transact_items or [] if each.get is not None]
    paths = [_paths(get) for get in gets]
    tables = [context.table(get.table_name) for get in gets]
    positions = _positions(gets, tables)
    for table, each in zip(tables, paths, strict=True):
        table.scalar_paths(iter(each or []))
    with context.storage.snapshot() as reader:
        rows = [reader.get(table.space, position) for table, position in zip(tables, positions, strict=True)]
    if sum(row.weight for row in rows if row) > TRANSACTION_BYTES:
        raise ValidationException("Collection size of items exceeded the limit of 4 MB")
    used: dict[str, Usage] = {}
    for table, row in zip(tables, rows, strict=True):
        usage = used.setdefault(table.name, Usage(table))
        usage.units += 2 * read_units(row.weight if row else 0, True)
    capacities = [consumed(usage, request.return_consumed_capacity, "read") for usage in used.values()]
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


def _positions(gets: list[Get], tables: list[StoredTable]) -> list[bytes]:
    """Where each item lies; a key that does not fit its table cancels the transaction and says which."""
    positions: list[bytes] = []
    reasons: list[dict[str, Any]] = []
    for get, table in zip(gets, tables, strict=True):
        try:
            positions.append(table.position(get.key or {}))
            reasons.append({"Code": "None"})
        except ValidationException as error:
            reasons.append({"Code": "ValidationError", "Message": error.message})
    if len(positions) < len(gets):
        raise TransactionCanceledException(reasons)
    if len({(table.name, position) for table, position in zip(tables, positions, strict=True)}) < len(gets):
        raise ValidationException(ONCE)
    return positions


def _response(row: Row | None, paths: list[ResolvedPath] | None) -> ItemResponse:
    if row is None:
        return ItemResponse()
    if paths is None:
        return ItemResponse(item=Raw(row.value))
    item = projected(decode_item(row.value), paths)
    return ItemResponse(item=Raw(_encode(item)) if item else None)
