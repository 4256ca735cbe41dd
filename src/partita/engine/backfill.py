"""The backfill of a new index, or of the order of expiry, for the items that a table has: in batches, across restarts.

`backfilled_to` in a record is the mark: the last table key that is done. Each batch is one transaction that adds the
next rows and moves the mark. Writes to items up to the mark update the index; writes beyond it do not, since a later
batch will add the item as it is then (`write.index_writes`).
"""

from collections.abc import Iterator
from typing import TypeVar

from msgspec.structs import replace

from partita.engine.context import EngineContext
from partita.engine.expiry import expiry_key
from partita.engine.schema import IndexRecord, StoredIndex, StoredTable, TableRecord
from partita.engine.vector_indexes import VectorIndexRecord, row_writes
from partita.engine.write import ItemVersion, index_row
from partita.storage.contract import Row, StorageTransaction, Write

AnyIndexRecord = TypeVar("AnyIndexRecord", IndexRecord, VectorIndexRecord)

START = ""  # the mark of an index without rows
BATCH = 500


def is_unfinished(table: StoredTable) -> bool:
    record = table.record
    return record.ttl_filled_to is not None or bool(_marks(record))


def _marks(record: TableRecord) -> list[str]:
    """The marks of the indexes that are being filled."""
    return [each.backfilled_to for each in record.all_indexes() if each.backfilled_to is not None]


def fill(context: EngineContext, name: str, txn: StorageTransaction) -> bool:
    """Does one batch for one table; true when there is more."""
    table = context.write_catalog.tables.get(name)
    if table is None or not is_unfinished(table):
        return False
    marks = _marks(table.record)
    if table.record.ttl_filled_to is not None:
        marks.append(table.record.ttl_filled_to)
    mark = min(marks)
    rows = _rows_after(txn, table, bytes.fromhex(mark))
    txn.apply(_writes(table, mark, rows))
    reached = rows[-1][0].hex() if len(rows) == BATCH else None
    record = _with_mark_moved(table.record, mark, reached)
    context.write_catalog.save(txn, record, table.record)
    context.write_catalog.refresh(txn)
    return is_unfinished(context.write_catalog.tables[name])


def _rows_after(txn: StorageTransaction, table: StoredTable, after: bytes) -> list[tuple[bytes, Row]]:
    rows: list[tuple[bytes, Row]] = []
    for key, weight, value in txn.range(table.space, after + b"\0" if after else b"", None):
        rows.append((key, Row(weight, value)))
        if len(rows) == BATCH:
            break
    return rows


def _writes(table: StoredTable, mark: str, rows: list[tuple[bytes, Row]]) -> list[Write]:
    """The rows that items add to the indexes at the mark, sorted for each index: SQLite adds them faster."""
    record = table.record
    images = [(key, ItemVersion(row)) for key, row in rows]
    found: list[Write] = []
    for index in table.indexes.values():
        if index.record.backfilled_to == mark:
            found.extend(sorted(_index_rows(_complete(table, index), images), key=_row_key))
    for vectors in table.vector_indexes.values():
        if vectors.record.backfilled_to == mark:  # not in the log: a search must wait for the end of the backfill
            for key, image in images:
                found.extend(row_writes(vectors, None, vectors.row(image.item, key)))
    if record.ttl_filled_to == mark and record.ttl_attribute and record.ttl_space:
        for key, image in images:
            expiry = expiry_key(image.item, record.ttl_attribute, key)
            if expiry is not None:
                found.append(Write(record.ttl_space, expiry, None, Row(0, b"")))
    return found


def _index_rows(index: StoredIndex, images: list[tuple[bytes, ItemVersion]]) -> Iterator[Write]:
    for key, image in images:
        place = index.storage_key(image.item, key)
        if place is not None:
            yield Write(index.space, place, None, index_row(index, image))


def _row_key(write: Write) -> bytes:
    return write.key


def _complete(table: StoredTable, index: StoredIndex) -> StoredIndex:
    """The index without its mark, so that rows beyond the mark are written."""
    types = {each.attribute_name or "": each.attribute_type or "" for each in table.record.attributes}
    return StoredIndex(replace(index.record, backfilled_to=None), table.keys, types)


def _with_mark_moved(record: TableRecord, mark: str, reached: str | None) -> TableRecord:
    """The record with each mark at `mark` moved to `reached`, or removed at the end of the table."""
    ttl = reached if record.ttl_filled_to == mark else record.ttl_filled_to
    return replace(
        record,
        indexes=[_moved(each, mark, reached) for each in record.indexes],
        vector_indexes=[_moved(each, mark, reached) for each in record.vector_indexes],
        ttl_filled_to=ttl,
    )


def _moved(index: AnyIndexRecord, mark: str, reached: str | None) -> AnyIndexRecord:
    if index.backfilled_to != mark:
        return index
    return replace(index, backfilled_to=reached, status="ACTIVE" if reached is None else index.status)
