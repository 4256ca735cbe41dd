"""ImportTable, DescribeImport and ListImports."""

import msgspec
from msgspec.structs import replace

from partita.dynamodb.exceptions import (
    ImportConflictException,
    ResourceInUseException,
    ValidationException,
)
from partita.dynamodb.requests import CreateTable
from partita.dynamodb.transfer_shapes import (
    DescribeImport,
    ImportOutput,
    ImportSummary,
    ImportTable,
    ImportTableDescription,
    ListImports,
    ListImportsOutput,
    S3BucketSource,
    TableCreationParameters,
)
from partita.engine.backfill import START
from partita.engine.catalog import name_of
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.data_formats import check_readable
from partita.engine.imports import IMPORTS, ImportRecord
from partita.engine.operations.create_table import check_form, check_table_count, new_record
from partita.engine.transfers import LIST, new_id
from partita.process_identity import this_process
from partita.storage.contract import StorageTransaction


def import_table(context: EngineContext, request: ImportTable) -> Job:
    check_members(request)
    parameters = request.table_creation_parameters or TableCreationParameters()
    creation = CreateTable(**msgspec.structs.asdict(parameters))
    _check_form(context, request, creation)
    name = parameters.table_name or ""

    def job(txn: StorageTransaction) -> ImportOutput:
        now = context.clock()
        conflict = ImportConflictException("Import conflict: Duplicate request detected with conflicting parameters")
        earlier = IMPORTS.repeated(txn, request, now, conflict)
        if earlier is not None:
            return ImportOutput(import_table_description=_description(context, earlier))
        if name in context.write_catalog.all_tables:
            raise ResourceInUseException(f"Table already exists: {name}")
        check_table_count(context)
        record = new_record(context, txn, creation)
        started = ImportRecord(
            id=new_id(now),
            table=name,
            table_id=record.id,
            token=request.client_token,
            started=now,
            request=request,
            buckets=context.buckets.folder,
            worker=this_process(),
        )
        indexes = [replace(each, backfilled_to=START) for each in record.indexes]
        context.write_catalog.save(txn, replace(record, indexes=indexes, importing=started.id), None)
        IMPORTS.save(txn, started)
        return ImportOutput(import_table_description=_description(context, started))

    return job


def _check_form(context: EngineContext, request: ImportTable, creation: CreateTable) -> None:
    source = request.s3_bucket_source or S3BucketSource()
    if request.input_format_options is not None and request.input_format != "CSV":
        raise ValidationException(
            f"Invalid Request: Unsupported InputFormatOptions for the given input format: {request.input_format}."
        )
    check_form(creation)
    context.buckets.check(source.s3_bucket, source.s3_key_prefix)
    check_readable(request.input_format, request.input_compression_type)


def describe_import(context: EngineContext, request: DescribeImport) -> ImportOutput:
    check_members(request)
    IMPORTS.check_arn(request.import_arn or "")
    found = IMPORTS.existing(context, context.storage, request.import_arn or "")
    return ImportOutput(import_table_description=_description(context, found))


def list_imports(context: EngineContext, request: ListImports) -> ListImportsOutput:
    check_members(request)
    table = None if request.table_arn is None else name_of(request.table_arn)
    page, token = IMPORTS.page(context.storage, table, request.page_size or LIST, request.next_token)
    summaries = [
        ImportSummary(
            import_arn=IMPORTS.arn(context, each),
            import_status=each.status,
            table_arn=context.table_arn(each.table),
            s3_bucket_source=each.request.s3_bucket_source,
            input_format=each.request.input_format,
            start_time=each.started,
            end_time=each.ended,
        )
        for each in page
    ]
    return ListImportsOutput(import_summary_list=summaries, next_token=token)


def _description(context: EngineContext, record: ImportRecord) -> ImportTableDescription:
    request = record.request
    return ImportTableDescription(
        import_arn=IMPORTS.arn(context, record),
        import_status=record.status,
        table_arn=context.table_arn(record.table),
        table_id=record.table_id,
        client_token=request.client_token,
        s3_bucket_source=request.s3_bucket_source,
        error_count=record.errors,
        input_format=request.input_format,
        input_format_options=request.input_format_options,
        input_compression_type=request.input_compression_type or "NONE",
        table_creation_parameters=request.table_creation_parameters,
        start_time=record.started,
        end_time=record.ended,
        processed_size_bytes=record.size,
        processed_item_count=record.processed,
        imported_item_count=record.processed - record.errors,
        failure_code=record.failure[0] if record.failure else None,
        failure_message=record.failure[1] if record.failure else None,
    )
