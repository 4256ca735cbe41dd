"""Query: a page of one partition, in the order of the sort key."""

from partita.dynamodb.exceptions import RequestValidationException, ValidationException
from partita.dynamodb.requests import Query
from partita.dynamodb.responses import QueryOutput
from partita.engine import legacy_parameters
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import consumed_capacity
from partita.engine.context import EngineContext
from partita.engine.expressions.key_conditions import (
    KeyCondition,
    KeyInterval,
    key_conditions,
    key_range,
)
from partita.engine.expressions.scope import Scope, run_expression
from partita.engine.operations.selection import (
    check_filter,
    complete_reply,
    filter_of,
    index_of,
    selection_of,
    start_storage_key,
)
from partita.engine.parameters import check_combination, projection_of, scope_of
from partita.engine.read import read_page
from partita.engine.schema import StoredTable, check_not_empty

_NO_PLACEHOLDERS = Scope()


def query(context: EngineContext, request: Query) -> QueryOutput:
    check_members(request)
    if request.limit is not None and request.limit < 1:
        raise ValidationException(
            "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1"
        )
    old = ["attributes_to_get", "query_filter", "conditional_operator", "key_conditions"]
    if request.key_condition_expression is None and request.key_conditions is not None:
        old.remove("key_conditions")
    check_combination(request, ["projection_expression", "filter_expression", "key_condition_expression"], old)
    scope = scope_of(request)
    conditions = _conditions(request, scope)
    filtered = filter_of(request, "query_filter", scope)
    paths = projection_of(request, scope)
    if scope:
        scope.check_all_used()

    table = context.table(request.table_name)
    index = index_of(
        table, request.index_name, request.consistent_read, "Query operation not supported on this index type."
    )
    keys = index.keys if index else table.keys
    wanted = key_range(keys, conditions)
    for name, condition in conditions.items():
        for value in condition.values:
            check_not_empty(name, value, index)
    check_filter(table, index, filtered, "QueryFilter" if request.query_filter else "Filter Expression")
    try:
        selection = selection_of(request, table, index, filtered, paths)
    except RequestValidationException as error:
        raise error.with_prefix() from None
    low, high = _remaining_range(request, table, wanted)
    batches = context.storage.batches(
        index.space if index else table.space,
        low,
        high,
        reverse=request.scan_index_forward is False,
        expected=selection.limit,
    )
    page = read_page(context.storage, batches, selection)
    reply = QueryOutput(count=page.count, scanned_count=page.scanned)
    used = consumed_capacity(page.usage(selection, request.consistent_read), request.return_consumed_capacity)
    return complete_reply(reply, page, selection, used)


def query_conditions(request: Query) -> dict[str, KeyCondition]:
    """The conditions of a query on its key attributes, by their names."""
    return _conditions(request, scope_of(request))


def _conditions(request: Query, scope: Scope | None) -> dict[str, KeyCondition]:
    if request.key_condition_expression is not None:
        source = request.key_condition_expression
        found: dict[str, KeyCondition] = run_expression(
            "KeyConditionExpression", lambda: key_conditions(source, scope or _NO_PLACEHOLDERS)
        )
    elif request.key_conditions is not None:
        found = legacy_parameters.key_conditions(request.key_conditions)
    else:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )
    if not found:
        raise ValidationException("Conditions can be of length 1 or 2 only")
    return found


def _remaining_range(request: Query, table: StoredTable, wanted: KeyInterval) -> tuple[bytes, bytes | None]:
    """The rest of the range after ExclusiveStartKey."""
    if request.exclusive_start_key is None:
        return wanted.low, wanted.high
    index = table.indexes.get(request.index_name or "")
    start = start_storage_key(table, index, request.exclusive_start_key)
    if not start.startswith(wanted.partition):
        raise ValidationException("The provided starting key is outside query boundaries based on provided conditions")
    if start < wanted.low or (wanted.high is not None and start >= wanted.high):
        raise ValidationException("The provided starting key does not match the range key predicate")
    return (wanted.low, start) if request.scan_index_forward is False else (start + b"\0", wanted.high)
