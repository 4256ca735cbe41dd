"""ExportTableToPointInTime, DescribeExport and ListExports."""

from msgspec.structs import replace

from partita.dynamodb.exceptions import (
    INVALID,
    ExportConflictException,
    InvalidExportTimeException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from partita.dynamodb.transfer_shapes import (
    DescribeExport,
    ExportDescription,
    ExportOutput,
    ExportSummary,
    ExportTableToPointInTime,
    IncrementalExportSpecification,
    ListExports,
    ListExportsOutput,
)
from partita.engine.catalog import name_of
from partita.engine.change_log import last_number
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.export_filters import ExportFilter
from partita.engine.exports import EXPORTS, ExportRecord, files_of
from partita.engine.history import window
from partita.engine.schema import SnapshotRecord, StoredTable
from partita.engine.transfers import LIST, new_id
from partita.process_identity import this_process
from partita.storage.contract import StorageTransaction

MIN_WINDOW, MAX_WINDOW = (
    900.0,
    86_400.0,
)  # seconds of an incremental export (Developer Guide, "Requesting a table export")


def export_to_point_in_time(context: EngineContext, request: ExportTableToPointInTime) -> Job:
    check_members(request)
    _check_form(context, request)
    name = name_of(request.table_arn or "")

    def job(txn: StorageTransaction) -> ExportOutput:
        now = context.clock()
        conflict = ExportConflictException("Duplicate request detected with conflicting parameters")
        earlier = EXPORTS.repeated(txn, request, now, conflict)
        if earlier is not None:
            return ExportOutput(export_description=_description(context, earlier))
        table = context.write_catalog.tables.get(name)
        if table is None:
            raise TableNotFoundException(f"Table not found: {name}")
        if table.record.recovery is None:
            raise PointInTimeRecoveryUnavailableException(f"Point in time recovery is not enabled for table '{name}'")
        ExportFilter(request.filter_specification, table)
        export = _record(context, txn, request, table, now)
        EXPORTS.save(txn, export)
        snapshots = [*table.record.snapshots, SnapshotRecord(saved=export.saved or "", export=export.id)]
        context.write_catalog.save(txn, replace(table.record, snapshots=snapshots), table.record)
        return ExportOutput(export_description=_description(context, export))

    return job


def _check_form(context: EngineContext, request: ExportTableToPointInTime) -> None:
    incremental = request.export_type == "INCREMENTAL_EXPORT"
    if incremental != (request.incremental_export_specification is not None):
        raise ValidationException(
            f"{INVALID}IncrementalExportSpecification must be specified when ExportType is INCREMENTAL_EXPORT"
            if incremental
            else f"{INVALID}IncrementalExportSpecification can only be specified when ExportType is INCREMENTAL_EXPORT"
        )
    if incremental and request.export_time is not None:
        raise ValidationException(f"{INVALID}ExportTime cannot be specified when ExportType is INCREMENTAL_EXPORT")
    if request.s3_sse_algorithm == "KMS" or request.s3_sse_kms_key_id is not None:
        raise ValidationException(f"{INVALID}KMS is not supported by this engine: its buckets are folders")
    context.buckets.check(request.s3_bucket, request.s3_prefix)


def _record(
    context: EngineContext, txn: StorageTransaction, request: ExportTableToPointInTime, table: StoredTable, now: float
) -> ExportRecord:
    spec = request.incremental_export_specification
    last = last_number(txn, table)
    saved, changed = context.write_catalog.new_spaces(txn, 2)
    export = ExportRecord(
        id=new_id(now),
        table=table.name,
        table_id=table.record.id,
        token=request.client_token,
        started=now,
        request=request,
        buckets=context.buckets.folder,
        worker=this_process(),
        at=_second(table, now, request.export_time),
        saved=saved,
        undo_below=None if request.export_time is None and spec is None else last + 1,
    )
    if spec is None:
        return export
    since, until = _export_window(table, now, spec)
    txn.create_space(changed)
    return replace(export, at=until, since=since, changed=changed, collect_below=last + 1)


def _second(table: StoredTable, now: float, wanted: float | None) -> float:
    if wanted is None:
        return now
    earliest, latest = window(table.record, now)
    if not earliest <= int(wanted) <= latest:
        raise InvalidExportTimeException("Export Time is invalid")
    return _from_enabling(table, wanted, now)


def _from_enabling(table: StoredTable, second: float, now: float) -> float:
    """A second of the window; the first one means the moment when recovery was enabled."""
    assert table.record.recovery is not None
    return max(int(second), table.record.recovery.beginning(now))


def _export_window(table: StoredTable, now: float, spec: IncrementalExportSpecification) -> tuple[float, float]:
    earliest, latest = window(table.record, now)
    since, until = spec.export_from_time, spec.export_to_time
    if since is None:
        raise ValidationException(f"{INVALID}ExportFromTime must be specified")
    until = latest if until is None else int(until)
    if not earliest <= int(since) or until > latest:
        raise InvalidExportTimeException("Export period is invalid: it is outside of the recovery window")
    if not MIN_WINDOW <= until - int(since) <= MAX_WINDOW:
        raise InvalidExportTimeException("Difference between export period must be between 15 minutes and 24 hours")
    return _from_enabling(table, since, now), until


def describe_export(context: EngineContext, request: DescribeExport) -> ExportOutput:
    check_members(request)
    EXPORTS.check_arn(request.export_arn or "")
    found = EXPORTS.existing(context, context.storage, request.export_arn or "")
    return ExportOutput(export_description=_description(context, found))


def list_exports(context: EngineContext, request: ListExports) -> ListExportsOutput:
    check_members(request)
    table = None if request.table_arn is None else name_of(request.table_arn)
    page, token = EXPORTS.page(context.storage, table, request.max_results or LIST, request.next_token)
    summaries = [
        ExportSummary(
            export_arn=EXPORTS.arn(context, each),
            export_status=each.status,
            export_type=each.request.export_type or "FULL_EXPORT",
        )
        for each in page
    ]
    return ListExportsOutput(export_summaries=summaries, next_token=token)


def _description(context: EngineContext, export: ExportRecord) -> ExportDescription:
    request, spec = export.request, export.request.incremental_export_specification
    is_complete = export.status == "COMPLETED"
    if spec is not None:
        view = spec.export_view_type or "NEW_AND_OLD_IMAGES"
        spec = replace(spec, export_from_time=export.since, export_to_time=export.at, export_view_type=view)
    return ExportDescription(
        export_arn=EXPORTS.arn(context, export),
        export_status=export.status,
        start_time=export.started,
        end_time=export.ended,
        export_manifest=files_of(context, export).summary_key if is_complete else None,
        table_arn=context.table_arn(export.table),
        table_id=export.table_id,
        export_time=None if export.is_incremental else export.at,
        client_token=request.client_token,
        s3_bucket=request.s3_bucket,
        s3_bucket_owner=request.s3_bucket_owner,
        s3_prefix=request.s3_prefix,
        s3_sse_algorithm=request.s3_sse_algorithm or "AES256",
        failure_code=export.failure[0] if export.failure else None,
        failure_message=export.failure[1] if export.failure else None,
        export_format=request.export_format or "DYNAMODB_JSON",
        billed_size_bytes=export.size if is_complete else None,
        item_count=export.processed,
        export_type=request.export_type or "FULL_EXPORT",
        incremental_export_specification=spec,
        filter_specification=request.filter_specification,
    )
