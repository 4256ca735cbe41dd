"""The history of one item: its changes, the newest first, from the records that undo them."""

from itertools import islice
from typing import NamedTuple

import msgspec

from partita.dynamodb.values import Item
from partita.engine.history import newest_first
from partita.engine.schema import StoredTable
from partita.storage.contract import Reader, Row

_NO_END = (1 << 63) - 1


class ItemChangeRecord(NamedTuple):
    """A change of an item: its time, and the item before and after it (None: no item)."""

    at: float
    before: Item | None
    after: Item | None


class ItemHistory(NamedTuple):
    """The changes that were found; `is_kept` is false for a table without stream and recovery.

    `is_complete` is false where there are older records that were not examined.
    """

    changes: list[ItemChangeRecord]
    is_kept: bool
    is_complete: bool


def item_history(reader: Reader, table: StoredTable, key: Item, most: int, examined: int) -> ItemHistory:
    """The last changes of an item, found in the last records of its table."""
    storage_key = table.storage_key(key)
    while True:
        row = reader.get(table.space, storage_key)
        history = _undone_changes(reader, table, storage_key, row, most, examined)
        if reader.get(table.space, storage_key) == row:  # not written meanwhile
            return history


def _undone_changes(
    reader: Reader, table: StoredTable, storage_key: bytes, row: Row | None, most: int, examined: int
) -> ItemHistory:
    after: Item | None = None if row is None else msgspec.json.decode(row.value)
    changes: list[ItemChangeRecord] = []
    if not table.is_logged:
        return ItemHistory([], False, True)
    count = 0
    for _, undo in islice(newest_first(reader, table, _NO_END), examined):
        count += 1
        if undo.storage_key == storage_key:
            before: Item | None = None if undo.old is None else msgspec.json.decode(undo.old.value)
            changes.append(ItemChangeRecord(undo.at, before, after))
            after = before
            if len(changes) == most:
                return ItemHistory(changes, True, False)
    return ItemHistory(changes, True, count < examined)
