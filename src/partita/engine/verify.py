"""Checks a database for consistency, and repairs what can be derived from its items:

    items   --- stored at their keys, in canonical form, with their size and their checksum
    indexes --- one row for each item with the index's keys, or its vector, and no other rows
    expiry  --- the same for the order of expiry
    history --- records that can be read, in blocks whose keys are their numbers, and their index by item
    totals  --- the stored numbers of rows and bytes are those counted

The check reads a snapshot and changes nothing, so it can run while the database is in use, and on a file that cannot be
written. Indexes, expiry and totals follow from the items, so they can be built again. A damaged item cannot: it is set
aside, so that its key can be written again. An item whose key alone is damaged is stored under its own key again. Where
a record of the history is damaged, no earlier moment can be restored: the recovery window begins again.
"""

import struct
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from partita.dynamodb.canonical import checked_item
from partita.dynamodb.values import Item
from partita.engine.catalog import Catalog, has_catalogue, stored_tables
from partita.engine.change_log import decode_undo, number_key
from partita.engine.expiry import expiry_key
from partita.engine.history import read_block
from partita.engine.history_index import index_problems
from partita.engine.schema import FillRecord, StoredIndex, StoredTable
from partita.engine.table_backups import BackupRecord, backup_rows, backups
from partita.engine.vector_indexes import StoredVectorIndex
from partita.engine.write import ItemVersion, decode_item, derived_writes
from partita.errors import CorruptRow, PartitaError
from partita.storage.contract import DamagedRow, Reader, Row, Storage, StorageTransaction, Totals

_encode = msgspec.json.encode


def find_problems(reader: Reader) -> Iterator[str]:
    """Yields one sentence for each inconsistency of a snapshot."""
    if not has_catalogue(reader):
        return
    for table in stored_tables(reader):
        yield from _table_problems(reader, table)
    for backup in backups(reader):
        yield from _backup_problems(reader, backup)


class Damage(NamedTuple):
    """A damaged row, and the table that it belongs to."""

    table: str
    kind: str
    row: DamagedRow


def repair(storage: Storage, set_aside: Callable[[list[Damage]], None]) -> list[str]:
    """Builds indexes, the order of expiry and totals again, and removes damaged rows; returns what was built.

    All in one transaction. `set_aside` is called with the damaged rows before they are removed for good.
    """
    catalog = Catalog(storage)
    repaired: list[str] = []
    damaged: list[Damage] = []
    with storage.transaction() as txn:
        catalog.refresh(txn)
        for table in list(catalog.all_tables.values()):
            if _has_problems(txn, table):
                removed = list(_remove_damage(txn, table))
                damaged.extend(removed)
                repaired.extend(_rebuild(catalog, txn, _with_new_window(table) if _has_gaps(removed) else table))
        if damaged:
            set_aside(damaged)
    return repaired


def _remove_damage(txn: StorageTransaction, table: StoredTable) -> Iterator[Damage]:
    def key_of_item(value: bytes) -> bytes:
        return table.keys.storage_key(checked_item(decode_item(value))[0])

    yield from (Damage(table.name, "item", row) for row in txn.repair_rows(table.space, key_of_item))
    yield from (Damage(table.name, "change", row) for row in txn.repair_rows(table.record.changes, lambda _: None))
    if table.record.recovery is not None:
        damaged = txn.repair_rows(table.record.recovery.history, lambda _: None)
        yield from (Damage(table.name, "history", row) for row in damaged)


def _has_gaps(removed: list[Damage]) -> bool:
    """Whether a part of the history is missing now."""
    return any(each.kind in ("change", "history") for each in removed)


def _with_new_window(table: StoredTable) -> StoredTable:
    """The table with a recovery window that begins now."""
    recovery = table.record.recovery
    if recovery is None:
        return table
    return StoredTable(replace(table.record, recovery=replace(recovery, since=time.time())))


def _has_problems(reader: Reader, table: StoredTable) -> bool:
    try:
        return next(_table_problems(reader, table), None) is not None
    except CorruptRow:  # perhaps of an index
        return True


def _rebuild(catalog: Catalog, txn: StorageTransaction, table: StoredTable) -> list[str]:
    """Replaces the spaces of the indexes by new ones, filled from the items; that of the history is filled later."""
    record, ttl_space, recovery = table.record, table.record.ttl_space, table.record.recovery
    vectors = record.vector_indexes
    count = len(record.indexes) + 2 * len(vectors) + (ttl_space is not None) + (recovery is not None)
    spaces = iter(catalog.new_spaces(txn, count))
    indexes = [replace(each, space=next(spaces)) for each in record.indexes]
    rebuilt = replace(
        record,
        indexes=indexes,
        vector_indexes=[replace(each, space=next(spaces), log=next(spaces)) for each in vectors],
        ttl_space=next(spaces) if ttl_space is not None else None,
        recovery=None if recovery is None else replace(recovery, by_item=next(spaces)),
        fill=FillRecord() if record.fill else None,
    )
    catalog.save(txn, rebuilt, record)
    fresh = StoredTable(rebuilt)
    for storage_key, weight, value in txn.range(fresh.space, b"", None):
        txn.apply(derived_writes(fresh, storage_key, ItemVersion(Row(weight, value))))
    for space in (fresh.space, record.changes, *([record.recovery.history] if record.recovery else [])):
        txn.recount(space)
    return [f"{table.name}.{each.name}" for each in record.all_indexes()] + [f"{table.name}: totals"]


def _table_problems(reader: Reader, table: StoredTable) -> Iterator[str]:
    all_indexes: list[StoredIndex | StoredVectorIndex] = [*table.indexes.values(), *table.vector_indexes.values()]
    expected: dict[str, dict[bytes, Row]] = {index.space: {} for index in all_indexes}
    expiry: dict[bytes, Row] = {}
    rows = weight = 0
    for storage_key, size, value in reader.range(table.space, b"", None):
        rows, weight = rows + 1, weight + size
        where = f"{table.name}: item at {storage_key.hex()}"
        try:
            item, measured = checked_item(decode_item(value))
            has_its_key = table.keys.storage_key(item) == storage_key
        except (PartitaError, msgspec.MsgspecError, KeyError) as error:
            yield f"{where}: cannot be read: {error}"
            continue
        if _encode(item) != value:
            yield f"{where}: not in canonical form"
        if measured != size:
            yield f"{where}: its stored size is {size} bytes, its actual size {measured}"
        if not has_its_key:
            yield f"{where}: stored at a key that is not its own"
        for index in table.indexes.values():
            _expect_index_row(index, item, storage_key, expected[index.space])
        for vectors in table.vector_indexes.values():
            _expect_vector_row(vectors, item, storage_key, expected[vectors.space])
        _expect_expiry(table, item, storage_key, expiry)
    yield from _total_problems(reader, table.name, table.space, Totals(rows, weight))
    for each in all_indexes if not table.is_restoring else ():  # of a new table they are filled at the end
        yield from _index_problems(reader, f"{table.name}.{each.name}", each.space, expected[each.space])
    if table.record.ttl_space is not None:
        yield from _index_problems(reader, f"{table.name}: order of expiry", table.record.ttl_space, expiry)
    yield from _change_problems(reader, table)


def _expect_index_row(index: StoredIndex, item: Item, storage_key: bytes, expected: dict[bytes, Row]) -> None:
    if _is_ahead(index.record.backfilled_to, storage_key):
        return
    key = index.storage_key(item, storage_key)
    if key is not None:
        row = index.project(item)
        expected[key] = Row(checked_item(row)[1], _encode(row))


def _expect_vector_row(index: StoredVectorIndex, item: Item, storage_key: bytes, expected: dict[bytes, Row]) -> None:
    found = None if index.is_ahead(storage_key) else index.row(item, storage_key)
    if found is not None:
        expected[found.key] = found.row


def _expect_expiry(table: StoredTable, item: Item, storage_key: bytes, expiry: dict[bytes, Row]) -> None:
    attribute = table.record.ttl_attribute
    if attribute is None or _is_ahead(table.record.ttl_filled_to, storage_key):
        return
    key = expiry_key(item, attribute, storage_key)
    if key is not None:
        expiry[key] = Row(0, b"")


def _is_ahead(filled_to: str | None, storage_key: bytes) -> bool:
    """Whether the backfill has not reached the item yet."""
    return filled_to is not None and storage_key > bytes.fromhex(filled_to)


def _index_problems(reader: Reader, name: str, space: str, expected: dict[bytes, Row]) -> Iterator[str]:
    rows = weight = 0
    for key, size, value in reader.range(space, b"", None):
        rows, weight = rows + 1, weight + size
        row = expected.pop(key, None)
        if row is None:
            yield f"{name}: row at {key.hex()} belongs to no item"
        elif row != Row(size, value):
            yield f"{name}: row at {key.hex()} differs from its item"
    for key in expected:
        yield f"{name}: row at {key.hex()} is missing"
    yield from _total_problems(reader, name, space, Totals(rows, weight))


def _total_problems(reader: Reader, name: str, space: str, counted: Totals) -> Iterator[str]:
    noted = reader.totals(space)
    if noted != counted:
        yield (
            f"{name}: the stored totals are {noted.rows} rows of {noted.weight} bytes, "
            f"the actual ones {counted.rows} of {counted.weight}"
        )


def _change_problems(reader: Reader, table: StoredTable) -> Iterator[str]:
    recovery, is_sound = table.record.recovery, True
    history = [] if recovery is None else _history_problems(reader, table, recovery.history)
    for problem in chain(_log_problems(reader, table), history):
        is_sound = False
        yield problem
    if recovery is not None and recovery.by_item is not None and is_sound:
        yield from index_problems(reader, table, recovery.by_item)
        counted = [size for _, size, _ in reader.range(recovery.by_item, b"", None)]
        name = f"{table.name}: history by item"
        yield from _total_problems(reader, name, recovery.by_item, Totals(len(counted), sum(counted)))
    for snapshot in table.record.snapshots:
        yield from _saved_problems(reader, table, snapshot.saved)


def _log_problems(reader: Reader, table: StoredTable) -> Iterator[str]:
    rows = weight = 0
    are_found = True
    for key, size, value in reader.range(table.record.changes, b"", None):
        rows, weight = rows + 1, weight + size
        number = int.from_bytes(key, "big")
        if are_found and reader.get(table.record.changes, key) is None:
            are_found = False
            yield f"{table.name}: change {number} is not found by its number; perhaps others neither"
        yield from _record_problems(table, number, value)
    yield from _total_problems(reader, f"{table.name}: change log", table.record.changes, Totals(rows, weight))


def _record_problems(table: StoredTable, number: int, value: bytes) -> Iterator[str]:
    try:
        undo = decode_undo(table, value)
        if undo.old is not None and table.keys.storage_key(decode_item(undo.old.value)) != undo.storage_key:
            yield f"{table.name}: change {number} has the image of another item"
    except (msgspec.MsgspecError, KeyError, struct.error) as error:
        yield f"{table.name}: change {number} cannot be read: {error}"


def _history_problems(reader: Reader, table: StoredTable, space: str) -> Iterator[str]:
    rows = weight = last = 0
    for key, size, value in reader.range(space, b"", None):
        rows, weight = rows + 1, weight + size
        try:
            records = list(read_block(value))
        except (zlib.error, struct.error) as error:
            yield f"{table.name}: history at {key.hex()} cannot be read: {error}"
            continue
        numbers = [number for number, _ in records]
        if key != number_key(numbers[0]) + number_key(numbers[-1]) or [last, *numbers] != sorted({last, *numbers}):
            yield f"{table.name}: history at {key.hex()} has records of other numbers"
        last = numbers[-1]
        for number, record in records:
            yield from _record_problems(table, number, record)
    yield from _total_problems(reader, f"{table.name}: history", space, Totals(rows, weight))


def _backup_problems(reader: Reader, backup: BackupRecord) -> Iterator[str]:
    name, table = f"backup {backup.name} of {backup.table.name}", StoredTable(backup.table)
    items = size = 0
    mark: str | None = ""
    while mark is not None:
        try:
            rows, reached = backup_rows(reader, backup, mark)
            items, size = items + len(rows), size + sum(row.weight for _, row in rows)
            wrong = [key.hex() for key, row in rows if table.keys.storage_key(decode_item(row.value)) != key]
        except (zlib.error, struct.error, msgspec.MsgspecError, KeyError) as error:
            yield f"{name}: cannot be read: {error}"
            return
        yield from (f"{name}: item at {key} is stored at a key that is not its own" for key in wrong)
        mark = None if reached is None else reached.hex()
    if backup.is_available and (items, size) != (backup.items, backup.size):
        yield f"{name}: has {items} items of {size} bytes, and had {backup.items} of {backup.size}"


def _saved_problems(reader: Reader, table: StoredTable, space: str) -> Iterator[str]:
    """The items that a running copy of the table has saved."""
    for key, _, value in reader.range(space, b"", None):
        try:
            if value and table.keys.storage_key(decode_item(value)) != key:
                yield f"{table.name}: saved item at {key.hex()} is stored at a key that is not its own"
        except (msgspec.MsgspecError, KeyError) as error:
            yield f"{table.name}: saved item at {key.hex()} cannot be read: {error}"
