"""The read path: a page of rows from a range of keys, filtered and projected, with its size."""

from collections.abc import Iterator
from itertools import accumulate, islice

import msgspec
from msgspec import Raw

from partita.dynamodb.capacity import read_units
from partita.dynamodb.limits import PAGE_BYTES
from partita.dynamodb.values import Item, ResolvedPath
from partita.engine.consumed_capacity import TableUsage
from partita.engine.expressions.condition import Predicate
from partita.engine.expressions.projection import project
from partita.engine.schema import StoredIndex, StoredTable
from partita.engine.write import decode_item
from partita.storage.contract import Reader, RowBatch

MAX_EVALUATIONS = 1_000_000  # of operands and of parts of projected paths in a page
SEARCHES_OF_WHOLE_PAGE = 10  # for members of stored lists and sets; a page with more of them is smaller

_encode = msgspec.json.encode


class Selection(msgspec.Struct, frozen=True):
    """The rows and attributes of a page: `keep` filters, `paths` project, `count_only` returns no items."""

    table: StoredTable
    index: StoredIndex | None
    keep: Predicate | None
    paths: list[ResolvedPath] | None
    count_only: bool
    fetches_items: bool  # read the table's items too, since the local index does not project enough
    returns_items: bool  # return the table's items, not the rows of the index
    limit: int | None
    work: int = 0  # for one item: of `keep`, as BoundCondition has it, and of what is done with the page's items
    searches: int = 0

    @property
    def max_rows(self) -> int:
        """The number of rows after which a page ends: many operands or projected paths end it before a megabyte."""
        projecting = sum([len(path) + 1 for path in self.paths or ()])
        most = max(1, MAX_EVALUATIONS // max(1, self.work + projecting))
        return most if self.limit is None else min(most, self.limit)

    @property
    def max_bytes(self) -> int:
        """The size after which a page ends."""
        return PAGE_BYTES * SEARCHES_OF_WHOLE_PAGE // max(SEARCHES_OF_WHOLE_PAGE, self.searches)


class RowPage(msgspec.Struct):
    """A page of rows; `last` is the key of its last row when the page ended before the range did."""

    items: list[Raw] = msgspec.field(default_factory=list)
    count: int = 0
    scanned: int = 0
    size: int = 0
    fetched_units: int = 0
    last: Item | None = None

    def usage(self, selection: Selection, consistent: bool | None) -> TableUsage:
        usage = TableUsage(selection.table)
        units = read_units(self.size, consistent)
        if selection.index is None:
            usage.units = units
            return usage
        usage.add_index(selection.index.name, units)
        usage.units = self.fetched_units if consistent else self.fetched_units * 0.5
        return usage


def read_page(reader: Reader, batches: Iterator[RowBatch], selection: Selection) -> RowPage:
    """Reads to the end of the range, the limit, or one megabyte, whichever comes first."""
    if selection.keep is None and selection.paths is None and not selection.fetches_items:
        return _whole_rows(batches, selection)
    page = RowPage()
    max_rows, max_bytes = selection.max_rows, selection.max_bytes
    rows = (row for batch in batches for row in zip(batch.weights, batch.values, strict=True))
    for size, value in rows:
        page.scanned += 1
        page.size += size
        _add_row(reader, page, value, selection)
        if page.scanned == max_rows or page.size >= max_bytes:
            page.last = _start_key(decode_item(value), selection)
            break
    return page


def _whole_rows(batches: Iterator[RowBatch], selection: Selection) -> RowPage:
    """A page of unfiltered whole rows, as most pages are, with few steps for each row."""
    page, limit = RowPage(), selection.max_rows if selection.work else selection.limit
    for batch in batches:
        count, size = len(batch.values), sum(batch.weights)
        if limit is not None and page.count + count > limit:
            count = limit - page.count
            size = sum(batch.weights[:count])
        if page.size + size >= PAGE_BYTES:
            totals = accumulate(batch.weights[:count], initial=page.size)  # before each row
            count = sum(1 for total in islice(totals, count) if total < PAGE_BYTES)
            size = sum(batch.weights[:count])
        page.size += size
        page.count += count
        if not selection.count_only:
            items = _items(batch)
            page.items += items if count == len(items) else items[:count]
        if page.count == limit or page.size >= PAGE_BYTES:
            page.last = _start_key(decode_item(batch.values[count - 1]), selection)
            break
    page.scanned = page.count
    return page


def _items(batch: RowBatch) -> list[Raw]:
    """The items of a batch; those of one that is read again are the same objects, which are quick to compare."""
    if batch.derived is None:
        batch.derived = [Raw(value) for value in batch.values]
    items: list[Raw] = batch.derived
    return items


def _add_row(reader: Reader, page: RowPage, value: bytes, selection: Selection) -> None:
    item: Item = decode_item(value)
    if selection.fetches_items:
        row = reader.get(selection.table.space, selection.table.keys.storage_key(item))
        if row is None:
            return
        # Each fetched item is rounded up on its own (Developer Guide, "Local secondary indexes", read capacity units).
        page.fetched_units += int(read_units(row.weight, True))
        item = decode_item(row.value)
        if selection.returns_items:
            value = row.value
    if selection.keep is not None and not selection.keep(item):
        return
    page.count += 1
    if selection.count_only:
        return
    page.items.append(Raw(value if selection.paths is None else _encode(project(item, selection.paths))))


def _start_key(item: Item, selection: Selection) -> Item:
    names = selection.index.start_names if selection.index else selection.table.keys.names
    return {name: item[name] for name in names}
