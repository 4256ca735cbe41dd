"""Imports: background work that fills a new table from the objects of a bucket.

    1  read     records become rows of the table, sorted by their storage keys outside of the database (`row_sorter`)
    2  add      the rows in the order of their keys, in transactions of bounded size behind a mark
    3  fill     the rows of the indexes (`index_fill`)

The table has status CREATING meanwhile. After a crash the objects are read again, and rows are added from the mark on.
A record that is not a valid item is counted, logged, and left out; the import then ends as FAILED with everything else
in its table, as DynamoDB's does. An object that cannot be parsed is left at that place.
"""

import logging
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from partita.dynamodb.exceptions import DynamoDBError, ImportNotFoundException, ValidationException
from partita.dynamodb.transfer_shapes import ImportTable
from partita.dynamodb.values import Item
from partita.engine.buckets import BucketMissing, StoredObject
from partita.engine.context import EngineContext
from partita.engine.data_errors import InvalidRecord, UnreadableObject
from partita.engine.data_formats import Record, opened, read_records
from partita.engine.index_fill import WorkLock, begin_fill, bounded_slice, completed
from partita.engine.operations.item_writes import PutIntent
from partita.engine.restore_steps import add_items
from partita.engine.row_sorter import RowSorter
from partita.engine.schema import StoredTable, TableRecord
from partita.engine.transfers import TransferRecord, Transfers
from partita.engine.writer import Writer
from partita.storage.contract import Row, StorageTransaction

READ_RECORDS = 5000  # of a step
MAX_LOGGED = 100
INVALID_ITEMS = (
    "ItemValidationError",
    (
        "Some of the items failed validation checks and were not imported. "
        "Please check CloudWatch error logs for more details."
    ),
)
_encode = msgspec.json.encode
_log = logging.getLogger("partita.engine")


class ImportRecord(TransferRecord, kw_only=True, frozen=True):
    """The record of an import; `added_to` is the hex of the last storage key that is in the table."""

    request: ImportTable
    added_to: str = ""


IMPORTS = Transfers("import", ImportRecord, ImportNotFoundException)


class TableImport:
    """One import, as far as this process has come."""

    def __init__(self, context: EngineContext, writer: Writer, import_id: str, table: str) -> None:
        self._context = context
        self._writer = writer
        self._id = import_id
        self._table = table
        self._lock = WorkLock(getattr(context.storage, "path", None))
        self._sorter = RowSorter(self._lock.folder)
        self._records: Iterator[Row] | None = None
        self._is_read = False
        self._rows: Iterator[tuple[bytes, Row]] | None = None
        self._processed = self._errors = self._size = 0

    def step(self) -> bool:
        """Reads or adds some records; true if this process has more to do."""
        target = self._context.catalog.restoring.get(self._table)
        if target is None or not self._lock.acquire():
            return False
        record = IMPORTS.find(self._context.storage, self._id)
        if record is None or not record.is_running:
            self.close()
            return False
        try:
            if not self._is_read:
                self._read_some(record.request, target)
                return True
            return self._add_some(target)
        except BucketMissing:
            return self._fail("S3NoSuchBucket", "The specified bucket does not exist")
        except (OSError, ValidationException) as error:
            return self._fail("S3InternalError", str(error))

    def _fail(self, code: str, message: str) -> bool:
        self._writer.run(lambda txn: fail_import(self._context, txn, self._id, (code, message)))
        return False

    def close(self) -> None:
        self._sorter.close()
        self._records = self._rows = None
        self._lock.release()

    def _read_some(self, request: ImportTable, target: StoredTable) -> None:
        if self._records is None:
            source = request.s3_bucket_source
            assert source is not None
            objects = self._context.buckets.objects(source.s3_bucket or "", source.s3_key_prefix)
            self._records = self._sorted(request, target, objects)
        is_last = False
        try:
            for _ in range(READ_RECORDS):
                if next(self._records, None) is None:
                    is_last = True
                    break
        except BaseException:
            self._read_again()
            raise
        self._writer.run(self._save_progress)
        self._is_read = is_last  # once the counts are saved

    def _read_again(self) -> None:
        """Begins with the first record again, after an error in the middle of one, such as a full disk."""
        self._sorter.close()
        self._records = None
        self._processed = self._errors = self._size = 0

    def _save_progress(self, txn: StorageTransaction) -> None:
        record = IMPORTS.find(txn, self._id)
        if record is not None and record.is_running:
            counts = {"processed": self._processed, "errors": self._errors, "size": self._size}
            IMPORTS.save(txn, replace(record, **counts))

    def _sorted(self, request: ImportTable, target: StoredTable, objects: list[StoredObject]) -> Iterator[Row]:
        """Adds the records of all objects to the sorter, one by one."""
        options = request.input_format_options.csv if request.input_format_options else None
        types = {each.attribute_name or "": each.attribute_type or "" for each in target.record.attributes}
        for stored in objects:
            try:
                with opened(stored.path, request.input_compression_type) as stream:
                    for record in read_records(stream, request.input_format or "", options, types):
                        self._processed += 1
                        yield self._add(target, record, stored.key)
            except (UnreadableObject, OSError) as error:
                self._processed += 1
                self._count_error(stored.key, error)
            self._size += stored.size

    def _add(self, target: StoredTable, record: Record | InvalidRecord, key: str) -> Row:
        try:
            storage_key, row = item_row(target, record)
        except (InvalidRecord, DynamoDBError, UnicodeError) as error:
            self._count_error(key, error)
            return Row(0, b"")
        self._sorter.add(storage_key, row)
        return row

    def _count_error(self, key: str, error: Exception) -> None:
        self._errors += 1
        if self._errors <= MAX_LOGGED:
            _log.warning("import %s: %s: record %d: %s", self._id, key, self._processed, error)

    def _add_some(self, target: StoredTable) -> bool:
        record = IMPORTS.find(self._context.storage, self._id)
        assert record is not None
        if self._rows is None:
            self._rows = self._sorter.merged(bytes.fromhex(record.added_to))
        rows = list(bounded_slice(self._rows))

        def job(txn: StorageTransaction) -> bool:
            if IMPORTS.find(txn, self._id) != record:
                return False  # another process has gone on with it
            found = self._context.write_catalog.restoring[target.name]
            add_items(txn, found, rows)
            if rows:
                IMPORTS.save(txn, replace(record, added_to=rows[-1][0].hex()))
            else:
                self._complete(txn, found.record)
            return True

        is_added = False
        try:
            is_added = self._writer.run(job)
        finally:
            if not is_added:
                self._rows = None  # these rows are read again
        return True

    def _complete(self, txn: StorageTransaction, record: TableRecord) -> None:
        """The table has its items: its indexes are next."""
        if record.indexes:
            self._context.write_catalog.save(txn, begin_fill(record), record)
            return
        self._context.write_catalog.save(txn, completed(record), record)
        finish_import(self._context, txn, self._id)


def item_row(table: StoredTable, record: Record | InvalidRecord) -> tuple[bytes, Row]:
    """The storage key and the row of the item in a record; raises InvalidRecord or DynamoDB's error."""
    if isinstance(record, InvalidRecord):
        raise record
    item = record.get("Item")
    if not isinstance(item, dict) or not all(isinstance(each, dict) for each in item.values()):
        raise InvalidRecord("a record has no Item")
    try:
        put = PutIntent.of(item)
    except (TypeError, AttributeError):  # it expects what the decoder of requests lets through
        _check_types(item)
        raise
    put.check_size()
    return put.storage_key(table), Row(put.size, _encode(put.item))


def _check_types(item: dict[str, Any]) -> None:
    """InvalidRecord where a member of a list or of a map is not an attribute value."""
    try:
        msgspec.convert(item, Item)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidRecord(str(error)) from None


def finish_import(context: EngineContext, txn: StorageTransaction, import_id: str) -> None:
    """Ends an import whose table is complete."""
    record = IMPORTS.find(txn, import_id)
    assert record is not None
    ended = replace(record, ended=context.clock(), status="FAILED" if record.errors else "COMPLETED")
    IMPORTS.save(txn, replace(ended, failure=INVALID_ITEMS) if record.errors else ended)


def fail_import(context: EngineContext, txn: StorageTransaction, import_id: str, failure: tuple[str, str]) -> None:
    """Ends an import that cannot begin, or cannot go on: there is no table."""
    record = IMPORTS.find(txn, import_id)
    if record is None or not record.is_running:
        return
    IMPORTS.save(txn, replace(record, status="FAILED", failure=failure, ended=context.clock()))
    target = context.write_catalog.restoring.get(record.table)
    if target is not None and target.record.importing == import_id:
        context.write_catalog.save(txn, None, target.record)
