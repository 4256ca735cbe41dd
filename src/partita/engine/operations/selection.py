"""The parts that Query and Scan share: index, filter, selected attributes, start and end of a page."""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from partita.dynamodb.canonical import checked_item
from partita.dynamodb.exceptions import INVALID, RequestValidationException, ValidationException
from partita.dynamodb.responses import PageOutput
from partita.dynamodb.shapes import ConsumedCapacity
from partita.dynamodb.values import Item, ResolvedPath
from partita.engine import legacy_parameters
from partita.engine.expressions.condition import BoundCondition
from partita.engine.expressions.scope import Scope
from partita.engine.parameters import parse_condition_parameter
from partita.engine.read import RowPage, Selection
from partita.engine.schema import StoredIndex, StoredTable

_encode = msgspec.json.encode
_BAD_START = "The provided starting key is invalid"

Output = TypeVar("Output", bound=PageOutput)


def filter_of(request: Any, legacy_field: str, scope: Scope | None) -> BoundCondition | None:
    """The filter of a Query or Scan, in either form."""
    if request.filter_expression is not None:
        return parse_condition_parameter("FilterExpression", request.filter_expression, scope)
    conditions = getattr(request, legacy_field)
    legacy_parameters.check_conditional_operator(request.conditional_operator, conditions)
    if conditions:
        keep = legacy_parameters.filter_predicate(conditions, request.conditional_operator)
        return BoundCondition(keep, [(name,) for name in conditions], *legacy_parameters.work_of(conditions))
    return None


def check_filter(table: StoredTable, index: StoredIndex | None, found: BoundCondition | None, parameter: str) -> None:
    """Checks that the filter of a Query reads no key attributes, and only attributes in the index."""
    if found is None:
        return
    keys = index.keys if index else table.keys
    for path in found.paths:
        if path[0] in keys.names:
            raise ValidationException(
                f"{parameter} can only contain non-primary key attributes: Primary key attribute: {path[0]}"
            )
    table.check_scalar_paths(iter(found.paths))
    missing = sorted({str(path[0]) for path in found.paths if index and not index.projects(str(path[0]))})
    if index and missing:
        raise ValidationException(
            f"{INVALID}Secondary index {index.name} does not project one or more filter attributes: "
            f"[{', '.join(missing)}]"
        )


def index_of(
    table: StoredTable,
    name: str | None,
    consistent: bool | None,
    of_vectors: str = "Scan operation not supported on this index type",
) -> StoredIndex | None:
    """The index of a request; None for the table itself. `of_vectors` is the error for a vector index."""
    if name is None:
        return None
    if name in table.vector_indexes:
        raise ValidationException(of_vectors)
    index = table.indexes.get(name)
    if index is None or index.record.status == "DELETING":
        raise ValidationException(f"The table does not have the specified index: {name}")
    if index.record.backfilled_to is not None:
        raise ValidationException(f"Cannot read from backfilling global secondary index: {name}")
    if index.is_global and consistent:
        raise ValidationException("Consistent reads are not supported on global secondary indexes")
    return index


def selection_of(
    request: Any,
    table: StoredTable,
    index: StoredIndex | None,
    found: BoundCondition | None,
    paths: list[ResolvedPath] | None,
) -> Selection:
    """The selected rows and attributes, checked against the index."""
    select = request.select
    if select == "SPECIFIC_ATTRIBUTES" and paths is None:
        raise RequestValidationException(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if paths is not None and select not in (None, "SPECIFIC_ATTRIBUTES"):
        what = "ProjectionExpression" if request.projection_expression is not None else "AttributesToGet"
        if select == "COUNT":
            raise ValidationException(f"Cannot specify the {what} when choosing to get only the Count")
        raise ValidationException(f"Cannot specify the {what} when choosing to get {select}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and index is None:
        raise ValidationException("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
    if paths is not None:
        table.check_scalar_paths(iter(paths))
    return Selection(
        table=table,
        index=index,
        keep=found.keep if found else None,
        paths=paths,
        count_only=select == "COUNT",
        fetches_items=_fetches(index, select, found, paths),
        returns_items=select == "ALL_ATTRIBUTES",
        limit=request.limit,
        work=found.work if found else 0,
        searches=found.searches if found else 0,
    )


def _fetches(
    index: StoredIndex | None, select: str | None, found: BoundCondition | None, paths: list[ResolvedPath] | None
) -> bool:
    """Whether items must be read from the table beside a local index; raises where a global index would need that."""
    if index is None or index.projects_all:
        return False
    if select == "ALL_ATTRIBUTES":
        if index.is_global:
            raise ValidationException(
                f"{INVALID}Select type ALL_ATTRIBUTES is not supported for global secondary index {index.name} "
                "because its projection type is not ALL"
            )
        return True
    missing = sorted({str(path[0]) for path in paths or [] if not index.projects(str(path[0]))})
    if missing and index.is_global:
        raise ValidationException(
            f"{INVALID}Global secondary index {index.name} does not project [{', '.join(missing)}]"
        )
    needed = [*(paths or []), *(found.paths if found else [])]
    return not index.is_global and any(not index.projects(str(path[0])) for path in needed)


def start_storage_key(table: StoredTable, index: StoredIndex | None, start: Item) -> bytes:
    """The storage key of ExclusiveStartKey; there need not be a row."""
    names = index.start_names if index else table.keys.names
    if len(start) != len(names) or any(name not in start for name in names):
        raise ValidationException(_BAD_START)
    try:
        canonical, _ = checked_item(start)
        _, primary = table.primary_key({name: canonical[name] for name in table.keys.names})
        if index is None:
            return primary
        for key in index.keys.all:
            if key.type not in canonical[key.name]:
                raise ValidationException("The provided key element does not match the schema")
        return index.storage_key(canonical, primary) or b""
    except ValidationException as error:
        raise ValidationException(f"{_BAD_START}: {error.message}") from None


def complete_reply(reply: Output, page: RowPage, selection: Selection, used: ConsumedCapacity | None) -> Output:
    if not selection.count_only:
        reply.items = page.items
    if page.last is not None:
        reply.last_evaluated_key = Raw(_encode(page.last))
    reply.consumed_capacity = used
    return reply
