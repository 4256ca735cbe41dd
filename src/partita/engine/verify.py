"""Checks a database for consistency, and repairs what can be derived from its items:

    items   --- stored at their keys, in canonical form, with their size and their checksum
    indexes --- one row for each item with the index's keys, and no other rows
    expiry  --- the same for the order of expiry
    totals  --- the stored numbers of rows and bytes are those counted

The check reads a snapshot and changes nothing, so it can run while the database is in use, and on a file that cannot be
written. Indexes, expiry and totals follow from the items, so they can be built again. A damaged item cannot: it is set
aside, so that its key can be written again. An item whose key alone is damaged is stored under its own key again.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from partita.dynamodb.canonical import checked_item
from partita.dynamodb.values import Item
from partita.engine.catalog import Catalog, stored_tables
from partita.engine.change_log import LogRecord
from partita.engine.expiry import expiry_key
from partita.engine.schema import StoredIndex, StoredTable
from partita.engine.write import ItemVersion, decode_item, derived_writes
from partita.errors import CorruptRow, PartitaError
from partita.storage.contract import DamagedRow, Reader, Row, Storage, StorageTransaction, Totals

_encode = msgspec.json.encode


def find_problems(reader: Reader) -> Iterator[str]:
    """Yields one sentence for each inconsistency of a snapshot."""
    for table in stored_tables(reader):
        yield from _table_problems(reader, table)


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
        for table in list(catalog.tables.values()):
            if _has_problems(txn, table):
                damaged.extend(_remove_damage(txn, table))
                repaired.extend(_rebuild(catalog, txn, table))
        if damaged:
            set_aside(damaged)
    return repaired


def _remove_damage(txn: StorageTransaction, table: StoredTable) -> Iterator[Damage]:
    def key_of_item(value: bytes) -> bytes:
        return table.keys.storage_key(checked_item(decode_item(value))[0])

    yield from (Damage(table.name, "item", row) for row in txn.repair_rows(table.space, key_of_item))
    yield from (Damage(table.name, "change", row) for row in txn.repair_rows(table.record.changes, lambda _: None))


def _has_problems(reader: Reader, table: StoredTable) -> bool:
    try:
        return next(_table_problems(reader, table), None) is not None
    except CorruptRow:  # perhaps of an index
        return True


def _rebuild(catalog: Catalog, txn: StorageTransaction, table: StoredTable) -> list[str]:
    """Replaces the spaces of the indexes by new ones, filled from the items."""
    record, ttl_space = table.record, table.record.ttl_space
    spaces = catalog.new_spaces(txn, len(record.indexes) + (ttl_space is not None))
    indexes = [replace(each, space=space) for each, space in zip(record.indexes, spaces, strict=False)]
    rebuilt = replace(record, indexes=indexes, ttl_space=spaces[-1] if ttl_space is not None else None)
    catalog.save(txn, rebuilt, record)
    fresh = StoredTable(rebuilt)
    for storage_key, weight, value in txn.range(fresh.space, b"", None):
        txn.apply(derived_writes(fresh, storage_key, ItemVersion(Row(weight, value))))
    txn.recount(fresh.space)
    return [f"{table.name}.{each.name}" for each in indexes] + [f"{table.name}: totals"]


def _table_problems(reader: Reader, table: StoredTable) -> Iterator[str]:
    expected: dict[str, dict[bytes, Row]] = {index.space: {} for index in table.indexes.values()}
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
        _expect_expiry(table, item, storage_key, expiry)
    yield from _total_problems(reader, table.name, table.space, Totals(rows, weight))
    for index in table.indexes.values():
        yield from _index_problems(reader, f"{table.name}.{index.name}", index.space, expected[index.space])
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
    for key, _, value in reader.range(table.record.changes, b"", None):
        try:
            msgspec.json.decode(value, type=LogRecord)
        except msgspec.MsgspecError as error:
            yield f"{table.name}: change {int.from_bytes(key, 'big')} cannot be read: {error}"
