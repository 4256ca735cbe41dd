"""The write path: every change of an item also changes its index rows, its expiry row and the change log.

    before --+                      +-- the item's row
             +-- writes_for(...) ---+-- its row in each index: added, moved, changed or removed
    after  --+                      +-- its row in the order of expiry
                                    +-- one record in the change log
                                    +-- `before`, saved for a copy of the table that is being made

An operation decides what `after` is. Everything else follows from the two versions by pure functions, as a list of
writes that storage applies in one transaction.
"""

from collections.abc import Iterator

import msgspec

from partita.dynamodb.canonical import item_size
from partita.dynamodb.capacity import vector_write_bytes, write_units
from partita.dynamodb.values import Item
from partita.engine import change_log
from partita.engine.consumed_capacity import TableUsage
from partita.engine.expiry import expiry_key
from partita.engine.schema import StoredIndex, StoredTable
from partita.engine.snapshots import saving_writes
from partita.engine.vector_indexes import StoredVectorIndex, logged, row_writes
from partita.storage.contract import Reader, Row, Write

_encode = msgspec.json.encode
decode_item = msgspec.json.Decoder(dict).decode


class ItemVersion:
    """One version of an item: its row, and its attributes, decoded on first use."""

    __slots__ = ("_item", "row")

    def __init__(self, row: Row, item: Item | None = None) -> None:
        self.row = row
        self._item = item

    @classmethod
    def of(cls, item: Item, size: int) -> "ItemVersion":
        return cls(Row(size, _encode(item)), item)

    @property
    def item(self) -> Item:
        if self._item is None:
            self._item = decode_item(self.row.value)
        return self._item

    @property
    def size(self) -> int:
        return self.row.weight


def load_version(reader: Reader, table: StoredTable, storage_key: bytes) -> ItemVersion | None:
    """Reads the item at a storage key."""
    row = reader.get(table.space, storage_key)
    return ItemVersion(row) if row else None


def writes_for(
    reader: Reader,
    table: StoredTable,
    storage_key: bytes,
    before: ItemVersion | None,
    after: ItemVersion | None,
    at: float,
    *,
    expired: bool = False,
    offset: int = 0,
    last: int | None = None,
) -> tuple[list[Write], TableUsage]:
    """The writes that change one item from `before` to `after`, and the capacity that they use.

    `offset` and `last` are those of `change_log.change_write`.
    """
    usage = TableUsage(table, write_units(before.size if before else 0, after.size if after else 0))
    if before is None and after is None:
        return [], usage
    writes = [Write(table.space, storage_key, before.row if before else None, after.row if after else None)]
    if table.indexes and (_has_index_keys(table, after) or _has_index_keys(table, before)):
        for index in table.indexes.values():
            for write, units in index_writes(index, storage_key, before, after):
                writes.append(write)
                usage.add_index(index.name, units)
    if table.vector_indexes:
        writes.extend(_vector_writes(reader, table, storage_key, before, after, offset, usage))
    if table.record.ttl_space is not None:
        writes.extend(_expiry_writes(table, storage_key, before, after))
    if table.is_logged:
        keys = table.keys.key_of((after or before).item) if table.stream else None  # type: ignore[union-attr]
        old, new = before.row if before else None, after.row if after else None
        record = change_log.change_write(reader, table, storage_key, keys, old, new, at, expired, offset, last)
        if record:
            writes.append(record)
    if table.snapshots:
        writes.extend(saving_writes(reader, table, storage_key, before.row if before else None))
    return writes, usage


def _has_index_keys(table: StoredTable, item: ItemVersion | None) -> bool:
    """Whether an item may be in an index: most items of a table with sparse indexes are in none."""
    return item is not None and not item.item.keys().isdisjoint(table.index_key_names)


def derived_writes(table: StoredTable, storage_key: bytes, item: ItemVersion) -> Iterator[Write]:
    """The rows that follow from an item: in every index, and in the order of expiry."""
    for index in table.indexes.values():
        for write, _ in index_writes(index, storage_key, None, item):
            yield write
    for vectors in table.vector_indexes.values():
        yield from vector_writes(vectors, storage_key, None, item)
    yield from _expiry_writes(table, storage_key, None, item)


def index_writes(
    index: StoredIndex, storage_key: bytes, before: ItemVersion | None, after: ItemVersion | None
) -> Iterator[tuple[Write, float]]:
    """The writes to one index, each with its write units; none where its projected attributes are unchanged."""
    filled_to = index.record.backfilled_to
    if filled_to is not None and storage_key > bytes.fromhex(filled_to):
        return  # the backfill has not reached the item; it will add the version that is there then
    old_key = index.storage_key(before.item, storage_key) if before else None
    if before and after and index.keys.same_key(before.item, after.item):
        new_key = old_key
    else:
        new_key = index.storage_key(after.item, storage_key) if after else None
    old = index_row(index, before) if before and old_key is not None else None
    new = index_row(index, after) if after and new_key is not None else None
    if old_key == new_key:
        if old_key is not None and old is not None and new is not None and old.value != new.value:
            yield Write(index.space, old_key, old, new), write_units(old.weight, new.weight)
        return
    if old_key is not None and old is not None:
        yield Write(index.space, old_key, old, None), write_units(old.weight, 0)
    if new_key is not None and new is not None:
        yield Write(index.space, new_key, None, new), write_units(0, new.weight)


def index_row(index: StoredIndex, image: ItemVersion) -> Row:
    """The row of an item in an index that it belongs to."""
    if index.projects_all:
        return image.row
    item = index.project(image.item)
    return Row(item_size(item), _encode(item))


def vector_writes(
    index: StoredVectorIndex, storage_key: bytes, before: ItemVersion | None, after: ItemVersion | None
) -> list[Write]:
    """The writes to the rows of one vector index; none where its entry is unchanged."""
    if index.is_ahead(storage_key):
        return []
    old = index.row(before.item, storage_key) if before else None
    new = index.row(after.item, storage_key) if after else None
    return row_writes(index, old, new)


def _vector_writes(
    reader: Reader,
    table: StoredTable,
    storage_key: bytes,
    before: ItemVersion | None,
    after: ItemVersion | None,
    offset: int,
    usage: TableUsage,
) -> Iterator[Write]:
    """The writes to all vector indexes, with their records in the logs."""
    for index in table.vector_indexes.values():
        writes = vector_writes(index, storage_key, before, after)
        if writes:
            sizes = [row.weight for write in writes for row in (write.before, write.after) if row is not None]
            usage.add_vectors(index.name, vector_write_bytes(0, max(sizes)))
            yield from logged(reader, index, writes, offset)


def _expiry_writes(
    table: StoredTable, storage_key: bytes, before: ItemVersion | None, after: ItemVersion | None
) -> Iterator[Write]:
    record = table.record
    if record.ttl_attribute is None or record.ttl_space is None:
        return
    if record.ttl_filled_to is not None and storage_key > bytes.fromhex(record.ttl_filled_to):
        return
    old = expiry_key(before.item, record.ttl_attribute, storage_key) if before else None
    new = expiry_key(after.item, record.ttl_attribute, storage_key) if after else None
    if old == new:
        return
    if old is not None:
        yield Write(record.ttl_space, old, Row(0, b""), None)
    if new is not None:
        yield Write(record.ttl_space, new, None, Row(0, b""))
