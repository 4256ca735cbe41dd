"""Bulk puts: background work that puts the records of a bucket's objects into an existing table.

Each step is one transaction with the puts of some records, their index rows, changes and history, and the place that is
reached: after a crash the operation goes on behind it. Writers of the table take part as usual. A record may have
a ConditionExpression, with its names and values, as PutItem has. Records that are not put are reported in the output
bucket, where the request asks for it:

    PREFIX/AWSDynamoDB/ID/error/....json.gz                      records that are not valid
    PREFIX/AWSDynamoDB/ID/condition-check-failure/....json.gz    with the item that is there
"""

import gzip
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from partita.dynamodb.exceptions import (
    ConditionalCheckFailedException,
    DynamoDBError,
    ResourceNotFoundException,
    ValidationException,
)
from partita.dynamodb.requests import PutItem
from partita.dynamodb.transfer_shapes import StartBulkPutItems
from partita.engine.buckets import BucketMissing, StoredObject
from partita.engine.context import EngineContext
from partita.engine.data_errors import InvalidRecord, UnreadableObject
from partita.engine.data_formats import Record, opened, read_records
from partita.engine.operations.item_writes import PutIntent, decide
from partita.engine.parameters import condition_of, scope_of
from partita.engine.schema import StoredTable
from partita.engine.transfers import TransferRecord, Transfers
from partita.engine.writer import Writer
from partita.storage.contract import StorageTransaction

PUT_RECORDS, PUT_BYTES = 500, 4_000_000  # of a step
ERROR, CONDITION = "ERROR", "CONDITION_CHECK_FAILURE"
_MEMBERS = {"Item", "ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"}
_encode = msgspec.json.encode


class BulkRecord(TransferRecord, kw_only=True, frozen=True):
    """The record of a bulk put: the number of objects that are done, and of records in the next one."""

    request: StartBulkPutItems
    objects: int = 0
    records: int = 0
    total: int | None = None


BULK_PUTS = Transfers("bulk-operation", BulkRecord, ResourceNotFoundException, tokens_from_start=True)


class _Place(msgspec.Struct, frozen=True):
    """A record, or the end of an object (`record` is None), and the place behind it."""

    objects: int
    records: int
    read: int  # bytes of complete objects
    record: Record | InvalidRecord | UnreadableObject | None


class BulkPut:
    """One bulk put, as far as this process has come."""

    def __init__(self, context: EngineContext, writer: Writer, operation_id: str) -> None:
        self._context = context
        self._writer = writer
        self._id = operation_id
        self._places: Iterator[_Place] | None = None
        self._expected: BulkRecord | None = None

    def step(self) -> bool:
        """Puts some records; true if there is more."""
        operation = BULK_PUTS.find(self._context.storage, self._id)
        if operation is None or not operation.is_running:
            return False
        if operation.status == "CANCELLING":
            return self._end("CANCELLED", ("UserCancelled", "The operation was cancelled"))
        if operation.table not in self._context.catalog.tables:
            return self._end("FAILED", ("TableNotFound", f"Table not found: {operation.table}"))
        try:
            if self._places is None or operation != self._expected:  # at the beginning, or another process went on
                self._places = self._read(operation, self._objects(operation))
            places, self._expected = list(_places_of_step(self._places)), None  # after an error they are read again
            self._expected = self._writer.run(lambda txn: self._put(txn, operation, places))
        except BucketMissing:
            return self._end("FAILED", ("S3NoSuchBucket", "The specified bucket does not exist"))
        except OSError as error:
            return self._end("FAILED", ("S3InternalError", str(error)))
        return self._expected is None or self._expected.is_running

    def fail(self, failure: tuple[str, str]) -> None:
        """Ends an operation that nobody goes on with."""
        self._end("FAILED", failure)

    def _objects(self, operation: BulkRecord) -> list[StoredObject]:
        """The objects, without the reports of the operation itself, which may be below the same prefix."""
        source, output = operation.request.input_s3_configuration, operation.request.output_s3_configuration
        assert source is not None
        assert output is not None
        found = self._context.buckets.objects(source.s3_bucket or "", source.s3_key_prefix)
        own = _report_folder(operation) if output.s3_bucket == source.s3_bucket else None
        return [each for each in found if own is None or not each.key.startswith(own)]

    def _read(self, operation: BulkRecord, objects: list[StoredObject]) -> Iterator[_Place]:
        source = operation.request.input_s3_configuration
        assert source is not None
        read = sum(each.size for each in objects[: operation.objects])
        for number in range(operation.objects, len(objects)):
            skipped = operation.records if number == operation.objects else 0
            count = 0
            try:
                with opened(objects[number].path, source.input_compression_type) as stream:
                    for count, record in enumerate(read_records(stream, source.input_format or ""), 1):
                        if count > skipped:
                            yield _Place(number, count, read, record)
            except UnreadableObject as error:
                if count + 1 > skipped:
                    yield _Place(number, count + 1, read, error)
            read += objects[number].size
            yield _Place(number + 1, 0, read, None)

    def _put(self, txn: StorageTransaction, operation: BulkRecord, places: list[_Place]) -> BulkRecord | None:
        if BULK_PUTS.find(txn, self._id) != operation:
            return None
        table = self._context.table_for_write(operation.table)
        reports: dict[str, list[dict[str, Any]]] = {ERROR: [], CONDITION: []}
        moved = operation
        for place in places:
            failed = len(reports[ERROR])
            if place.record is not None:
                put_record(self._context, txn, table, place.record, reports)
            moved = replace(
                moved,
                objects=place.objects,
                records=place.records,
                size=place.read,
                processed=moved.processed + (place.record is not None),
                errors=moved.errors + len(reports[ERROR]) - failed,
            )
        if operation.total is None:
            moved = replace(moved, total=sum(each.size for each in self._objects(operation)))
        if not places:
            status = "COMPLETED_WITH_ERRORS" if moved.errors else "COMPLETED"
            moved = replace(moved, status=status, ended=self._context.clock())
        self._report(operation, reports)
        BULK_PUTS.save(txn, moved)
        return moved

    def _report(self, operation: BulkRecord, reports: dict[str, list[dict[str, Any]]]) -> None:
        output = operation.request.output_s3_configuration
        assert output is not None
        for kind, found in reports.items():
            if found and kind in (output.output_type or ()):
                folder = _report_folder(operation) + kind.lower().replace("_", "-")
                key = f"{folder}/{operation.objects:06d}-{operation.records:09d}.json.gz"
                lines = b"".join(_encode(each) + b"\n" for each in found)
                self._context.buckets.write(output.s3_bucket or "", key, gzip.compress(lines, mtime=0))

    def _end(self, status: str, failure: tuple[str, str]) -> bool:
        def job(txn: StorageTransaction) -> None:
            found = BULK_PUTS.find(txn, self._id)
            if found is not None and found.is_running:
                BULK_PUTS.save(txn, replace(found, status=status, failure=failure, ended=self._context.clock()))

        self._writer.run(job)
        return False


def _report_folder(operation: BulkRecord) -> str:
    output = operation.request.output_s3_configuration
    assert output is not None
    base = f"{output.s3_key_prefix.removesuffix('/')}/" if output.s3_key_prefix else ""
    return f"{base}AWSDynamoDB/{operation.id}/"


def _places_of_step(places: Iterator[_Place]) -> Iterator[_Place]:
    size = 0
    for place in islice(places, PUT_RECORDS):
        yield place
        size += len(_encode(place.record)) if isinstance(place.record, dict) else 0
        if size >= PUT_BYTES:
            return


def put_record(
    context: EngineContext,
    txn: StorageTransaction,
    table: StoredTable,
    record: Record | InvalidRecord | UnreadableObject,
    reports: dict[str, list[dict[str, Any]]],
) -> None:
    """Puts one record, or adds it to the reports."""
    try:
        request = _request(record)
        scope = scope_of(request)
        condition = condition_of(request, scope)
        if scope:
            scope.check_all_used()
        put = PutIntent.of(request.item or {})
        put.check_size()
        outcome = decide(context, txn, table, put.storage_key(table), put, condition, True)
    except ConditionalCheckFailedException as failed:
        found: dict[str, Any] = {"Item": record["Item"]} if isinstance(record, dict) else {}
        reports[CONDITION].append(found | ({"ExistingItem": failed.item} if failed.item else {}))
    except (InvalidRecord, UnreadableObject, DynamoDBError, UnicodeError) as error:
        code = error.code if isinstance(error, DynamoDBError) else "ValidationException"
        found = {"Record": record} if isinstance(record, dict) else {}
        reports[ERROR].append(found | {"ErrorCode": code, "ErrorMessage": str(error)})
    else:
        txn.apply(outcome.writes)


def _request(record: Record | InvalidRecord | UnreadableObject) -> PutItem:
    """The PutItem that a record stands for."""
    if not isinstance(record, dict):
        raise record
    unknown = sorted(record.keys() - _MEMBERS)
    if unknown:
        raise InvalidRecord(f"a record has unknown members: {', '.join(unknown)}")
    names = record.get("ExpressionAttributeNames")
    if isinstance(names, dict):  # the names of a record in Ion are read as attribute values
        record = record | {
            "ExpressionAttributeNames": {
                name: each["S"] if isinstance(each, dict) and set(each) == {"S"} else each
                for name, each in names.items()
            }
        }
    try:
        request = msgspec.convert(record, PutItem, str_keys=True)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidRecord(str(error)) from None
    if request.item is None:
        raise InvalidRecord("a record has no Item")
    if request.condition_expression is None and (
        request.expression_attribute_names is not None or request.expression_attribute_values is not None
    ):
        raise ValidationException("ExpressionAttributeNames can only be specified when using expressions")
    return request
