"""Holds a whole database against itself: every row where it belongs, every index as its table says, totals exact.

    items   --- where their keys say, in canonical form, of the size that is noted beside them
    indexes --- exactly one row for each item that has the index's keys, and no other
    expiry  --- the same for the order of time to live
    totals  --- as many rows, of as much weight, as were counted

It reads at one moment and changes nothing, so it may run beside a database in use.
"""

from collections.abc import Iterator

import msgspec

from partita.dynamodb.canonical import checked_item
from partita.dynamodb.values import Item
from partita.engine.catalog import Catalog
from partita.engine.change_log import LogRecord
from partita.engine.expiry import expiry_key
from partita.engine.schema import StoredIndex, StoredTable
from partita.engine.write import decode_item
from partita.errors import PartitaError
from partita.storage.contract import Reader, Row, Storage, Totals

_encode = msgspec.json.encode


def findings(storage: Storage) -> Iterator[str]:
    """One sentence for each thing that is wrong; none when all is well."""
    catalog = Catalog(storage)
    with storage.snapshot() as reader:
        catalog.refresh(reader)
        for table in catalog.tables.values():
            yield from _table_findings(reader, table)


def _table_findings(reader: Reader, table: StoredTable) -> Iterator[str]:
    expected: dict[str, dict[bytes, Row]] = {index.space: {} for index in table.indexes.values()}
    expiry: dict[bytes, Row] = {}
    rows = weight = 0
    for position, size, value in reader.range(table.space, b"", None):
        rows, weight = rows + 1, weight + size
        where = f"{table.name}: item at {position.hex()}"
        try:
            item, measured = checked_item(decode_item(value))
            lies_right = table.keys.position(item) == position
        except (PartitaError, msgspec.MsgspecError, KeyError) as error:
            yield f"{where}: cannot be read: {error}"
            continue
        if _encode(item) != value:
            yield f"{where}: not in canonical form"
        if measured != size:
            yield f"{where}: {size} bytes are noted, it has {measured}"
        if not lies_right:
            yield f"{where}: its keys belong elsewhere"
        for index in table.indexes.values():
            _expect(index, item, position, expected[index.space])
        _expect_expiry(table, item, position, expiry)
    yield from _total_findings(reader, table.name, table.space, Totals(rows, weight))
    for index in table.indexes.values():
        yield from _index_findings(reader, f"{table.name}.{index.name}", index.space, expected[index.space])
    if table.record.ttl_space is not None:
        yield from _index_findings(reader, f"{table.name}: order of expiry", table.record.ttl_space, expiry)
    yield from _change_findings(reader, table)


def _expect(index: StoredIndex, item: Item, position: bytes, expected: dict[bytes, Row]) -> None:
    if _is_ahead(index.record.backfilled_to, position):
        return
    key = index.position(item, position)
    if key is not None:
        row = index.projected(item)
        expected[key] = Row(checked_item(row)[1], _encode(row))


def _expect_expiry(table: StoredTable, item: Item, position: bytes, expiry: dict[bytes, Row]) -> None:
    attribute = table.record.ttl_attribute
    if attribute is None or _is_ahead(table.record.ttl_filled_to, position):
        return
    key = expiry_key(item, attribute, position)
    if key is not None:
        expiry[key] = Row(0, b"")


def _is_ahead(filled_to: str | None, position: bytes) -> bool:
    """Whether a backfill has not come to the item yet."""
    return filled_to is not None and position > bytes.fromhex(filled_to)


def _index_findings(reader: Reader, name: str, space: str, expected: dict[bytes, Row]) -> Iterator[str]:
    rows = weight = 0
    for key, size, value in reader.range(space, b"", None):
        rows, weight = rows + 1, weight + size
        row = expected.pop(key, None)
        if row is None:
            yield f"{name}: row at {key.hex()} of no item"
        elif row != Row(size, value):
            yield f"{name}: row at {key.hex()} differs from its item"
    for key in expected:
        yield f"{name}: row at {key.hex()} is missing"
    yield from _total_findings(reader, name, space, Totals(rows, weight))


def _total_findings(reader: Reader, name: str, space: str, counted: Totals) -> Iterator[str]:
    noted = reader.totals(space)
    if noted != counted:
        yield (
            f"{name}: {noted.rows} rows of {noted.weight} bytes are noted, there are {counted.rows} of {counted.weight}"
        )


def _change_findings(reader: Reader, table: StoredTable) -> Iterator[str]:
    for key, _, value in reader.range(table.record.changes, b"", None):
        try:
            msgspec.json.decode(value, type=LogRecord)
        except msgspec.MsgspecError as error:
            yield f"{table.name}: change {int.from_bytes(key, 'big')} cannot be read: {error}"
