"""The one write path: whatever changes an item, changes its index rows, its expiry and its change record with it.

    before --+                     +-- the item's row
             +-- writes_of(...) ---+-- a row for each index it is in, gone from where it was
    after  --+                     +-- its place in the order of expiry
                                   +-- one record in the change log

An operation decides what `after` is; everything else follows from the two images, by pure functions. The result is a
list of writes that storage applies in one transaction.
"""

from collections.abc import Iterator

import msgspec

from partita.dynamodb.canonical import item_size
from partita.dynamodb.capacity import write_units
from partita.dynamodb.values import Item
from partita.engine import change_log
from partita.engine.consumed_capacity import Usage
from partita.engine.expiry import expiry_key
from partita.engine.schema import StoredIndex, StoredTable
from partita.storage.contract import Reader, Row, Write

_encode = msgspec.json.encode
decode_item = msgspec.json.Decoder(dict).decode


class ItemVersion:
    """An item at one moment: its row, and its attributes when somebody looks inside."""

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


def load_version(reader: Reader, table: StoredTable, position: bytes) -> ItemVersion | None:
    """The item that lies at a primary key."""
    row = reader.get(table.space, position)
    return ItemVersion(row) if row else None


def writes_for(
    reader: Reader,
    table: StoredTable,
    position: bytes,
    before: ItemVersion | None,
    after: ItemVersion | None,
    at: float,
    *,
    expired: bool = False,
    offset: int = 0,
) -> tuple[list[Write], Usage]:
    """All that must be written for one item to change, and what it costs."""
    usage = Usage(table, write_units(before.size if before else 0, after.size if after else 0))
    if before is None and after is None:
        return [], usage
    writes = [Write(table.space, position, before.row if before else None, after.row if after else None)]
    for index in table.indexes.values():
        for write, units in index_writes(index, position, before, after):
            writes.append(write)
            usage.add_index(index.name, units)
    writes.extend(_expiry_writes(table, position, before, after))
    if table.is_logged:
        keys = table.keys.of((after or before).item)  # type: ignore[union-attr]
        record = change_log.change_write(
            reader, table, keys, before.row if before else None, after.row if after else None, at, expired, offset
        )
        if record:
            writes.append(record)
    return writes, usage


def index_writes(
    index: StoredIndex, position: bytes, before: ItemVersion | None, after: ItemVersion | None
) -> Iterator[tuple[Write, float]]:
    """The changes of one index, each with its write units; none where nothing that the index holds has changed."""
    filled_to = index.record.backfilled_to
    if filled_to is not None and position > bytes.fromhex(filled_to):
        return  # not yet reached by the backfill, which will put in the item as it then is
    old_key = index.position(before.item, position) if before else None
    if before and after and index.keys.same(before.item, after.item):
        new_key = old_key
    else:
        new_key = index.position(after.item, position) if after else None
    old = _index_row(index, before) if before and old_key is not None else None
    new = _index_row(index, after) if after and new_key is not None else None
    if old_key == new_key:
        if old_key is not None and old is not None and new is not None and old.value != new.value:
            yield Write(index.space, old_key, old, new), write_units(old.weight, new.weight)
        return
    if old_key is not None and old is not None:
        yield Write(index.space, old_key, old, None), write_units(old.weight, 0)
    if new_key is not None and new is not None:
        yield Write(index.space, new_key, None, new), write_units(0, new.weight)


def _index_row(index: StoredIndex, image: ItemVersion) -> Row:
    if index.holds_all:
        return image.row
    item = index.projected(image.item)
    return Row(item_size(item), _encode(item))


def _expiry_writes(
    table: StoredTable, position: bytes, before: ItemVersion | None, after: ItemVersion | None
) -> Iterator[Write]:
    record = table.record
    if record.ttl_attribute is None or record.ttl_space is None:
        return
    if record.ttl_filled_to is not None and position > bytes.fromhex(record.ttl_filled_to):
        return
    old = expiry_key(before.item, record.ttl_attribute, position) if before else None
    new = expiry_key(after.item, record.ttl_attribute, position) if after else None
    if old == new:
        return
    if old is not None:
        yield Write(record.ttl_space, old, Row(0, b""), None)
    if new is not None:
        yield Write(record.ttl_space, new, None, Row(0, b""))
