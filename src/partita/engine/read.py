"""The one read path: a page of rows from a range of keys, filtered, projected, measured."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from partita.dynamodb.capacity import read_units
from partita.dynamodb.limits import PAGE_BYTES
from partita.dynamodb.values import Item, ResolvedPath
from partita.engine.consumed_capacity import Usage
from partita.engine.expressions.condition import Predicate
from partita.engine.expressions.projection import projected
from partita.engine.schema import StoredIndex, StoredTable
from partita.engine.write import decode_item
from partita.storage.contract import Reader

_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Selection:
    """What of each row a page keeps: `keep` filters, `paths` project, `counts_only` returns no items."""

    table: StoredTable
    index: StoredIndex | None
    keep: Predicate | None
    paths: list[ResolvedPath] | None
    counts_only: bool
    fetches: bool  # filter and projection look at the table's item, since the local index does not hold enough
    whole: bool  # the table's item is returned, not the index's row
    limit: int | None


@dataclass(slots=True)
class Page:
    """What was read; `last` is the last row's key when the page ended before the range did."""

    items: list[Raw] = field(default_factory=list)
    count: int = 0
    scanned: int = 0
    size: int = 0
    fetched_units: int = 0
    last: Item | None = None

    def usage(self, selection: Selection, consistent: bool | None) -> Usage:
        usage = Usage(selection.table)
        units = read_units(self.size, consistent)
        if selection.index is None:
            usage.units = units
            return usage
        usage.add_index(selection.index.name, units)
        usage.units = self.fetched_units if consistent else self.fetched_units * 0.5
        return usage


Rows = Iterator[tuple[bytes, int, bytes]]


def read_page(reader: Reader, rows: Rows, selection: Selection) -> Page:
    """Reads until the range, the limit or a megabyte is reached, whichever comes first."""
    if selection.keep is None and selection.paths is None and not selection.fetches:
        return _whole_rows(rows, selection)
    page = Page()
    for _, size, value in rows:
        page.scanned += 1
        page.size += size
        _take(reader, page, value, selection)
        if page.scanned == selection.limit or page.size >= PAGE_BYTES:
            page.last = _start_key(decode_item(value), selection)
            break
    return page


def _whole_rows(rows: Rows, selection: Selection) -> Page:
    """Rows as they are, which is what most pages are made of, so each takes few steps."""
    page = Page()
    limit, size, values = selection.limit, 0, []
    for _, weight, value in rows:
        size += weight
        values.append(value)
        if len(values) == limit or size >= PAGE_BYTES:
            page.last = _start_key(decode_item(value), selection)
            break
    page.size, page.scanned, page.count = size, len(values), len(values)
    if not selection.counts_only:
        page.items = [Raw(value) for value in values]
    return page


def _take(reader: Reader, page: Page, value: bytes, selection: Selection) -> None:
    item: Item = decode_item(value)
    if selection.fetches:
        row = reader.get(selection.table.space, selection.table.keys.position(item))
        if row is None:
            return
        # Each fetched item is rounded up on its own (Developer Guide, "Local secondary indexes", read capacity units).
        page.fetched_units += int(read_units(row.weight, True))
        item = decode_item(row.value)
        if selection.whole:
            value = row.value
    if selection.keep is not None and not selection.keep(item):
        return
    page.count += 1
    if selection.counts_only:
        return
    page.items.append(Raw(value if selection.paths is None else _encode(projected(item, selection.paths))))


def _start_key(item: Item, selection: Selection) -> Item:
    names = selection.index.start_names if selection.index else selection.table.keys.names
    return {name: item[name] for name in names}
