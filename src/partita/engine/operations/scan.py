"""Scan: a page of a whole table or index, or of one of its segments."""

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.requests import Scan
from partita.dynamodb.responses import ScanOutput
from partita.engine import key_encoding
from partita.engine.constraints import check_members
from partita.engine.consumed_capacity import consumed_capacity
from partita.engine.context import EngineContext
from partita.engine.operations.selection import (
    complete_reply,
    filter_of,
    index_of,
    selection_of,
    start_storage_key,
)
from partita.engine.parameters import check_combination, projection_of, scope_of
from partita.engine.read import read_page
from partita.engine.schema import StoredIndex, StoredTable


def scan(context: EngineContext, request: Scan) -> ScanOutput:
    check_members(request)
    check_combination(
        request,
        ["projection_expression", "filter_expression"],
        ["attributes_to_get", "scan_filter", "conditional_operator"],
    )
    _check_segment(request)
    scope = scope_of(request)
    filtered = filter_of(request, "scan_filter", scope)
    paths = projection_of(request, scope)
    if scope:
        scope.check_all_used()

    table = context.table(request.table_name)
    index = index_of(table, request.index_name, request.consistent_read)
    if filtered:
        table.check_scalar_paths(iter(filtered.paths))
    selection = selection_of(request, table, index, filtered, paths)
    low, high = _bounds(request, table, index)
    space = index.space if index else table.space
    batches = context.storage.batches(space, low, high, expected=selection.limit)
    page = read_page(context.storage, batches, selection)
    reply = ScanOutput(count=page.count, scanned_count=page.scanned)
    used = consumed_capacity(page.usage(selection, request.consistent_read), request.return_consumed_capacity)
    return complete_reply(reply, page, selection, used)


def _check_segment(request: Scan) -> None:
    if request.segment is not None and request.total_segments is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        )
    if request.total_segments is None:
        return
    if request.segment is None:
        raise ValidationException(
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present"
        )
    if request.segment >= request.total_segments:
        raise ValidationException(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {request.segment} is not less than TotalSegments: {request.total_segments}"
        )


def _bounds(request: Scan, table: StoredTable, index: StoredIndex | None) -> tuple[bytes, bytes | None]:
    low, high = key_encoding.segment_bounds(request.segment or 0, request.total_segments or 1)
    if request.exclusive_start_key is None:
        return low, high
    start = start_storage_key(table, index, request.exclusive_start_key)
    if start < low or (high is not None and start >= high):
        raise ValidationException(
            "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with "
            f"correct Segment. TotalSegments: {request.total_segments} Segment: {request.segment}"
        )
    return start + b"\0", high
