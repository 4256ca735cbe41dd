"""GetItem: one item by its primary key."""

import msgspec
from msgspec import Raw

from partita.engine.capacity import Usage, consumed, read_units
from partita.engine.context import Context
from partita.engine.expressions.projection import projected
from partita.engine.members import check_members
from partita.engine.parameters import check_combination, projection_of, scope_of
from partita.engine.write import decode_item
from partita.wire.requests import GetItem
from partita.wire.responses import GetItemOutput

_encode = msgspec.json.encode


def get_item(context: Context, request: GetItem) -> GetItemOutput:
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
    table = context.table(request.table_name)
    position = table.position(request.key or {})
    if paths is not None:
        table.scalar_paths(iter(paths))
    row = context.storage.get(table.space, position)
    reply = GetItemOutput()
    if row is not None:
        reply.item = Raw(row.value if paths is None else _encode(projected(decode_item(row.value), paths)))
    if request.return_consumed_capacity is not None:
        units = read_units(row.weight if row else 0, request.consistent_read)
        reply.consumed_capacity = consumed(Usage(table, units), request.return_consumed_capacity)
    return reply
