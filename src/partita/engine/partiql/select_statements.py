"""SELECT: a page of the ranges that WHERE determines, or of the whole table, filtered and projected."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from hashlib import blake2b

import msgspec
from msgspec import Raw

from partita.dynamodb.exceptions import INVALID, ValidationException
from partita.dynamodb.expression_nodes import Path
from partita.dynamodb.statements.statement_nodes import Select
from partita.dynamodb.values import Item, ResolvedPath, value_at
from partita.engine.consumed_capacity import TableUsage
from partita.engine.context import EngineContext
from partita.engine.expressions.condition import BoundCondition, bind_condition
from partita.engine.expressions.key_conditions import KeyInterval
from partita.engine.expressions.projection import check_disjoint
from partita.engine.operations.selection import index_of, start_storage_key
from partita.engine.partiql.key_bounds import key_ranges
from partita.engine.partiql.statement_parameters import BoundStatement, run_statement_expression
from partita.engine.read import Selection, read_page
from partita.engine.schema import KeySchema, StoredIndex, StoredTable
from partita.engine.write import decode_item
from partita.storage.contract import Reader, RowBatch

_encode = msgspec.json.encode
_WHOLE = KeyInterval(b"", None, b"")


class SelectPage(msgspec.Struct, frozen=True):
    items: list[Raw]
    next_token: str | None
    usage: TableUsage


def select_page(
    context: EngineContext,
    statement: BoundStatement,
    select: Select,
    *,
    limit: int | None,
    consistent: bool | None,
    token: str | None,
) -> SelectPage:
    """Reads a page from `token` on."""
    table = context.table(select.table)
    index = index_of(table, select.index, consistent)
    keys = index.keys if index else table.keys
    keep = filter_of(table, select, statement)
    paths = paths_of(table, select)
    ranges = key_ranges(keys, select.where, statement.scope)
    reverse = _check_order(select, keys, ranges)
    selection = Selection(
        table=table,
        index=index,
        keep=keep.keep if keep else None,
        paths=None,
        count_only=False,
        fetches_items=_fetches(index, keep, paths),
        returns_items=paths is not None,
        limit=limit,
        work=(keep.work if keep else 0) + sum([len(path.parts) + 1 for path in paths or ()]),
        searches=keep.searches if keep else 0,
    )
    left = _in_order(select, keys, [_WHOLE] if ranges is None else ranges)
    digest = _digest(statement, select)
    if token is not None:
        left = _ranges_after(start_storage_key(table, index, _start_key(token, digest)), left, reverse)
    batches = _batches(context.storage, index.space if index else table.space, left, reverse)
    page = read_page(context.storage, batches, selection)
    following = None if page.last is None else _token(digest, page.last)
    items = page.items if paths is None else [selected_attributes(decode_item(item), paths) for item in page.items]
    return SelectPage(items, following, page.usage(selection, consistent))


def filter_of(table: StoredTable, select: Select, statement: BoundStatement) -> BoundCondition | None:
    """The condition of WHERE, for each item."""
    if select.where is None:
        return None
    where = select.where
    keep: BoundCondition = run_statement_expression(lambda: bind_condition(where, statement.scope))
    table.check_scalar_paths(iter(keep.paths))
    return keep


def paths_of(table: StoredTable, select: Select) -> tuple[Path, ...] | None:
    """The checked paths of a SELECT; None for whole items."""
    if select.paths is None:
        return None
    resolved: list[ResolvedPath] = [path.parts for path in select.paths]
    run_statement_expression(lambda: check_disjoint(resolved))
    table.check_scalar_paths(iter(resolved))
    return select.paths


def selected_attributes(item: Item, paths: tuple[Path, ...]) -> Raw:
    """The selected parts, each under the last name of its path: `m.a[2]` is `a[2]`."""
    found = {_result_name(path): value for path in paths if (value := value_at(item, path.parts)) is not None}
    return Raw(_encode(found))


def _result_name(path: Path) -> str:
    last = max(at for at, part in enumerate(path.parts) if isinstance(part, str))
    return str(path.parts[last]) + "".join(f"[{index}]" for index in path.parts[last + 1 :])


def _fetches(index: StoredIndex | None, keep: BoundCondition | None, paths: tuple[Path, ...] | None) -> bool:
    """Whether items must be read from the table beside a local index; raises where a global index would need that."""
    if index is None or index.projects_all:
        return False
    selected = sorted({str(path.parts[0]) for path in paths or ()} - _projected_names(index, paths))
    if selected and index.is_global:
        raise ValidationException(
            f"{INVALID}Global secondary index {index.name} does not project [{', '.join(selected)}]"
        )
    filtered = sorted({str(path[0]) for path in keep.paths if not index.projects(str(path[0]))}) if keep else []
    if filtered and index.is_global:
        raise ValidationException(
            f"{INVALID}Secondary index {index.name} does not project one or more filter attributes: "
            f"[{', '.join(filtered)}]"
        )
    return bool(selected or filtered)


def _projected_names(index: StoredIndex, paths: tuple[Path, ...] | None) -> set[str]:
    return {str(path.parts[0]) for path in paths or () if index.projects(str(path.parts[0]))}


def _check_order(select: Select, keys: KeySchema, ranges: list[KeyInterval] | None) -> bool:
    """Whether the sort key is descending; checks that ORDER BY has only keys, and WHERE their partitions."""
    if not select.order:
        return False
    for order in select.order:
        if order.name not in keys.names:
            raise ValidationException(
                f"Variable reference {order.name} in ORDER BY clause must be part of the primary key"
            )
    if ranges is None:
        raise ValidationException(
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
        )
    sort = [key.name for key in keys.sort]
    return any(order.descending for order in select.order if order.name in sort)


def _in_order(select: Select, keys: KeySchema, ranges: list[KeyInterval]) -> list[KeyInterval]:
    """The ranges in the order of ORDER BY."""
    partition, sort = [key.name for key in keys.partition], [key.name for key in keys.sort]
    if any(order.descending for order in select.order if order.name in partition + sort):
        return ranges[::-1]
    return ranges


def _batches(reader: Reader, space: str, ranges: list[KeyInterval], reverse: bool) -> Iterator[RowBatch]:
    for each in ranges:
        yield from reader.batches(space, each.low, each.high, reverse=reverse)


def _ranges_after(storage_key: bytes, ranges: list[KeyInterval], reverse: bool) -> list[KeyInterval]:
    """The rest of the ranges after a storage key."""
    for at, (low, high, partition) in enumerate(ranges):
        if low <= storage_key and (high is None or storage_key < high):
            rest = (
                KeyInterval(low, storage_key, partition)
                if reverse
                else KeyInterval(storage_key + b"\0", high, partition)
            )
            return [rest, *ranges[at + 1 :]]
    raise ValidationException("NextToken does not match request")


def _digest(statement: BoundStatement, select: Select) -> str:
    values = sorted(statement.scope.values.items())
    return blake2b(repr((select, values)).encode(), digest_size=12).hexdigest()


def _token(digest: str, last: Item) -> str:
    return urlsafe_b64encode(_encode((digest, last))).decode()


def _start_key(token: str, digest: str) -> Item:
    try:
        made_for, last = msgspec.json.decode(urlsafe_b64decode(token), type=tuple[str, dict[str, dict[str, str]]])
    except (ValueError, msgspec.MsgspecError):
        raise ValidationException("Invalid NextToken") from None
    if made_for != digest:
        raise ValidationException("NextToken does not match request")
    return dict(last)
