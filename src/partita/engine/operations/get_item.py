"""GetItem: one item by its primary key."""

import msgspec
from msgspec import Raw

from partita.dynamodb.requests import GetItem
from partita.dynamodb.responses import GetItemOutput
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import consumed_capacity_of_get
from partita.engine.context import EngineContext
from partita.engine.expressions.projection import project
from partita.engine.parameters import check_combination, projection_of, scope_of
from partita.engine.write import decode_item

_encode = msgspec.json.encode


def get_item(context: EngineContext, request: GetItem) -> GetItemOutput:
    check_members(request)
    paths = None
    if request.projection_expression is not None or request.attributes_to_get is not None:
        scope = scope_of(request)
        check_combination(request, ["projection_expression"], ["attributes_to_get"])
        paths = projection_of(request, scope)
        if scope:
            scope.check_all_used()
    elif request.expression_attribute_names is not None:
        check_combination(request, ["projection_expression"], ["attributes_to_get"])
    name = request.table_name or ""
    table = context.catalog.tables.get(name) or context.table(name)  # no call for a table that is known, as most are
    storage_key = table.storage_key(request.key or {})
    if paths is not None:
        table.check_scalar_paths(paths)
    row = context.storage.get(table.space, storage_key)
    if row is None:
        reply = GetItemOutput()
    elif paths is None:
        reply = GetItemOutput(item=Raw(row.value))
    else:
        reply = GetItemOutput(item=Raw(_encode(project(decode_item(row.value), paths))))
    mode = request.return_consumed_capacity
    if mode is not None:
        reply.consumed_capacity = consumed_capacity_of_get(
            table, row.weight if row else 0, mode, request.consistent_read
        )
    return reply
