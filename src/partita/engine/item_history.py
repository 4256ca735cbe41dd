"""The history of one item: its changes, the newest first, from the records that undo them."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from partita.dynamodb.limits import MB
from partita.dynamodb.values import Item
from partita.engine.change_log import Undo
from partita.engine.history import change_numbered, newest_first
from partita.engine.history_index import changes_of, indexed_to
from partita.engine.schema import StoredTable
from partita.storage.contract import Reader, Row

_NO_END = (1 << 63) - 1
_EXAMINED_BYTES = 64 * MB  # of the records that are read one by one


class ItemChangeRecord(NamedTuple):
    """A change of an item: its number, its time, and the item before and after it (None: no item)."""

    number: int
    at: float
    before: Item | None
    after: Item | None


class ItemHistory(NamedTuple):
    """The changes that were found; `is_kept` is false for a table without stream and recovery.

    `is_complete` is false where older changes may exist: those before the last one that was found, or, without one,
    behind the records that were examined.
    """

    changes: list[ItemChangeRecord]
    is_kept: bool
    is_complete: bool


def item_history(
    reader: Reader,
    table: StoredTable,
    key: Item,
    *,
    most: int,
    most_bytes: int,
    examined: int,
    before: int | None = None,
) -> ItemHistory:
    """The last changes of an item, or those before the change with a number, in one state of the storage.

    At most `most` changes, and at least one; no further one once their items have `most_bytes`. Records that are not in
    the index by item are read one by one, `examined` of them at most.
    """
    storage_key = table.storage_key(key)
    if not table.is_logged:
        return ItemHistory([], False, True)
    after = _state_before(reader, table, storage_key, before)
    found = _Changes(reader, table, storage_key, _NO_END if before is None else before, examined)
    changes: list[ItemChangeRecord] = []
    size = 0
    for number, undo in found:
        size += 0 if undo.old is None else len(undo.old.value)
        if len(changes) == most or (changes and size > most_bytes):
            return ItemHistory(changes, True, False)
        old = _item(undo.old)
        changes.append(ItemChangeRecord(number, undo.at, old, after))
        after = old
    return ItemHistory(changes, True, found.is_complete)


def _state_before(reader: Reader, table: StoredTable, storage_key: bytes, before: int | None) -> Item | None:
    """The item as a change found it; as it is, without one."""
    if before is None:
        return _item(reader.get(table.space, storage_key))
    change = change_numbered(reader, table, before)
    return _item(change.old) if change is not None and change.storage_key == storage_key else None


def _item(row: Row | None) -> Item | None:
    return None if row is None else msgspec.json.decode(row.value)


class _Changes:
    """The changes of an item below a number, the newest first; `is_complete` is known at the end."""

    def __init__(self, reader: Reader, table: StoredTable, storage_key: bytes, below: int, examined: int) -> None:
        self._reader = reader
        self._table = table
        self._storage_key = storage_key
        self._below = below
        self._examined = examined
        self.is_complete = True

    def __iter__(self) -> Iterator[tuple[int, Undo]]:
        mark = indexed_to(self._reader, self._table.record.recovery)
        left, left_bytes = self._examined, _EXAMINED_BYTES
        for number, undo in newest_first(self._reader, self._table, self._below):
            if number <= mark:
                break
            if not left or left_bytes <= 0:
                self.is_complete = False
                return
            left -= 1
            left_bytes -= 0 if undo.old is None else len(undo.old.value)
            if undo.storage_key == self._storage_key:
                yield number, undo
        yield from self._indexed(min(mark + 1, self._below))

    def _indexed(self, below: int) -> Iterator[tuple[int, Undo]]:
        recovery = self._table.record.recovery
        if recovery is None:
            return
        for number in changes_of(self._reader, recovery, self._storage_key, below):
            undo = change_numbered(self._reader, self._table, number)
            if undo is not None and undo.storage_key == self._storage_key:
                yield number, undo
