"""Exports of a store's tables into the objects of a bucket, and imports from them, through DynamoDB's API.

A place is `s3://bucket/prefix` on Amazon, or over HTTP, where the server has the bucket. On a file it is a folder: its
name is the bucket, and the engine is connected with the folder above it as `buckets`.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from partita.design.tables import Table
from partita.dynamodb.exceptions import InvalidExportTimeException, ResourceNotFoundException
from partita.dynamodb.transfer_shapes import (
    BulkOperationDescription,
    DescribeBulkOperation,
    DescribeExport,
    DescribeImport,
    ExportDescription,
    ExportTableToPointInTime,
    ImportTable,
    ImportTableDescription,
    IncrementalExportSpecification,
    InputFormatOptions,
    InputS3Configuration,
    OutputS3Configuration,
    S3BucketSource,
    StartBulkPutItems,
    TableCreationParameters,
)
from partita.errors import ConfigurationError, RestorePointMissing, TransferFailed
from partita.plan.table_definitions import create_table
from partita.recovery.restore_points import restore_points, text
from partita.recovery.restoring import MAX_POLL_SECONDS, POLL_SECONDS, apply_settings, describe
from partita.store.store import Store

INVALID_ITEMS = "ItemValidationError"  # [A] FailureCode of an import that has left records out
Progress = Callable[[int], None]
Description = TypeVar("Description", ExportDescription, ImportTableDescription, BulkOperationDescription)


class Place(msgspec.Struct, frozen=True):
    """A bucket, and the beginning of keys in it."""

    bucket: str
    prefix: str | None = None

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix or ''}"


def export_table(
    db: Store,
    table: Table,
    to: Place,
    *,
    at: datetime | None = None,
    since: datetime | None = None,
    ion: bool = False,
    progress: Progress = lambda items: None,
) -> ExportDescription:
    """Exports one table and waits for it: as at a second, the latest one, or the changes from `since` to `at`.

    Raises RestorePointMissing, with the window that can be exported, for moments outside of it.
    """
    described = describe(db.backend, db.table_name(table))
    if described is None:
        raise ResourceNotFoundException(f"Requested resource not found: Table: {db.table_name(table)} not found")
    moment = None if at is None else at.timestamp()
    request = ExportTableToPointInTime(
        table_arn=described.table_arn,
        s3_bucket=to.bucket,
        s3_prefix=to.prefix,
        export_format="ION" if ion else "DYNAMODB_JSON",
    )
    if since is None:
        request.export_time = moment
    else:
        request.export_type = "INCREMENTAL_EXPORT"
        request.incremental_export_specification = IncrementalExportSpecification(
            export_from_time=since.timestamp(), export_to_time=moment
        )
    try:
        started = db.backend.call(request).export_description
    except InvalidExportTimeException as error:
        raise _export_moment_missing(db, table, at, since, str(error)) from None
    assert started is not None

    def look() -> ExportDescription | None:
        return db.backend.call(DescribeExport(export_arn=started.export_arn)).export_description

    return _finished(look, "export_status", lambda found: progress(found.item_count or 0))


def _export_moment_missing(
    db: Store, table: Table, at: datetime | None, since: datetime | None, error: str
) -> RestorePointMissing:
    """Which moments cannot be exported, why, and which can."""
    name = db.table_name(table)
    wanted = " to ".join("now" if each is None else text(each) for each in ([at] if since is None else [since, at]))
    window = restore_points(db.backend, name).window
    known = [] if window is None else [f"any second from {text(window[0])} to {text(window[1])}"]
    return RestorePointMissing(name, f"{wanted} cannot be exported ({error})", known)


def import_table(
    db: Store,
    table: Table,
    source: Place,
    *,
    input_format: str = "DYNAMODB_JSON",
    compression: str = "NONE",
    options: InputFormatOptions | None = None,
    progress: Progress = lambda items: None,
) -> ImportTableDescription:
    """Imports one table, which does not exist yet, with the keys, indexes and settings of the design.

    Raises TransferFailed where records are not valid, with the code `ItemValidationError`: the table has the others.
    """
    created = create_table(table)
    if created.local_secondary_indexes is not None:
        raise ConfigurationError(
            f"{table.name}: an import cannot create local indexes; create the table, then put the data into it"
        )
    names = msgspec.structs.fields(TableCreationParameters)
    parameters = TableCreationParameters(**{each.name: getattr(created, each.name) for each in names})
    parameters.table_name = db.table_name(table)
    request = ImportTable(
        s3_bucket_source=S3BucketSource(s3_bucket=source.bucket, s3_key_prefix=source.prefix),
        input_format=input_format,
        input_format_options=options,
        input_compression_type=compression,
        table_creation_parameters=parameters,
    )
    started = db.backend.call(request).import_table_description
    assert started is not None

    def look() -> ImportTableDescription | None:
        return db.backend.call(DescribeImport(import_arn=started.import_arn)).import_table_description

    try:
        done = _finished(look, "import_status", lambda found: progress(found.processed_item_count or 0))
    except TransferFailed as failed:
        if failed.code == INVALID_ITEMS:  # the table has all valid items
            apply_settings(db.backend, table, db.table_name(table), [])
        raise
    apply_settings(db.backend, table, db.table_name(table), [])
    return done


def put_in_bulk(
    db: Store,
    table: Table,
    source: Place,
    *,
    input_format: str = "DYNAMODB_JSON",
    compression: str = "NONE",
    progress: Progress = lambda items: None,
) -> BulkOperationDescription:
    """Puts the items of a place into a table that exists; records that are not valid are reported beside them."""
    request = StartBulkPutItems(
        table_name=db.table_name(table),
        input_s3_configuration=InputS3Configuration(
            s3_bucket=source.bucket,
            s3_key_prefix=source.prefix,
            input_format=input_format,
            input_compression_type=compression,
        ),
        output_s3_configuration=OutputS3Configuration(
            s3_bucket=source.bucket, s3_key_prefix="reports", output_type=["ERROR"]
        ),
    )
    started = db.backend.call(request).bulk_operation_description
    assert started is not None

    def look() -> BulkOperationDescription | None:
        found = db.backend.call(DescribeBulkOperation(bulk_operation_arn=started.bulk_operation_arn))
        return found.bulk_operation_description

    return _finished(look, "bulk_operation_status", lambda found: progress(found.processed_item_count or 0))


def _finished(
    look: Callable[[], Description | None], status_member: str, progress: Callable[[Description], None]
) -> Description:
    """The description at the end; raises TransferFailed where that is a failure."""
    wait = POLL_SECONDS
    while True:
        found: Any = look()
        assert found is not None
        status = getattr(found, status_member)
        progress(found)
        if status == "FAILED":
            raise TransferFailed(found.failure_code or status, found.failure_message or "")
        if status not in ("IN_PROGRESS", "CANCELLING"):
            return found  # type: ignore[no-any-return]
        time.sleep(wait)
        wait = min(wait * 1.5, MAX_POLL_SECONDS)
