"""StartBulkPutItems, DescribeBulkOperation, ListBulkOperations and CancelBulkOperation."""

from msgspec.structs import replace

from partita.dynamodb.exceptions import (
    INVALID,
    IdempotentParameterMismatchException,
    ValidationException,
)
from partita.dynamodb.transfer_shapes import (
    BulkOperationDescription,
    BulkOperationOutput,
    BulkOperationSummary,
    BulkOperationTableDetail,
    CancelBulkOperation,
    CancelBulkOperationOutput,
    DescribeBulkOperation,
    InputS3Configuration,
    ListBulkOperations,
    ListBulkOperationsOutput,
    OutputS3Configuration,
    StartBulkPutItems,
)
from partita.engine.bulk_puts import BULK_PUTS, BulkRecord
from partita.engine.constraints import check_members
from partita.engine.context import EngineContext, Job
from partita.engine.data_formats import check_readable
from partita.engine.transfers import LIST_BULK, new_id
from partita.process_identity import this_process
from partita.storage.contract import StorageTransaction


def start_bulk_put_items(context: EngineContext, request: StartBulkPutItems) -> Job:
    check_members(request)
    _check_form(context, request)

    def job(txn: StorageTransaction) -> BulkOperationOutput:
        now = context.clock()
        earlier = BULK_PUTS.repeated(txn, request, now, IdempotentParameterMismatchException())
        if earlier is not None:
            return BulkOperationOutput(bulk_operation_description=_description(context, earlier))
        table = context.table_for_write(request.table_name)
        started = BulkRecord(
            id=new_id(now),
            table=table.name,
            table_id=table.record.id,
            token=request.client_token,
            started=now,
            request=request,
            buckets=context.buckets.folder,
            worker=this_process(),
        )
        BULK_PUTS.save(txn, started)
        return BulkOperationOutput(bulk_operation_description=_description(context, started))

    return job


def _check_form(context: EngineContext, request: StartBulkPutItems) -> None:
    source = request.input_s3_configuration or InputS3Configuration()
    output = request.output_s3_configuration or OutputS3Configuration()
    if output.s3_sse_algorithm == "KMS" or output.s3_sse_kms_key_id is not None:
        raise ValidationException(f"{INVALID}KMS is not supported by this engine: its buckets are folders")
    context.buckets.check(source.s3_bucket, source.s3_key_prefix)
    context.buckets.check(output.s3_bucket, output.s3_key_prefix)
    check_readable(source.input_format, source.input_compression_type)


def describe_bulk_operation(context: EngineContext, request: DescribeBulkOperation) -> BulkOperationOutput:
    check_members(request)
    found = BULK_PUTS.existing(context, context.storage, request.bulk_operation_arn or "")
    return BulkOperationOutput(bulk_operation_description=_description(context, found))


def cancel_bulk_operation(context: EngineContext, request: CancelBulkOperation) -> Job:
    check_members(request)

    def job(txn: StorageTransaction) -> CancelBulkOperationOutput:
        found = BULK_PUTS.existing(context, txn, request.bulk_operation_arn or "")
        if found.is_running:
            found = replace(found, status="CANCELLING")
            BULK_PUTS.save(txn, found)
        return CancelBulkOperationOutput(
            bulk_operation_arn=request.bulk_operation_arn, bulk_operation_status=found.status
        )

    return job


def list_bulk_operations(context: EngineContext, request: ListBulkOperations) -> ListBulkOperationsOutput:
    check_members(request)
    page, token = BULK_PUTS.page(context.storage, None, request.max_results or LIST_BULK, request.next_token)
    summaries = [
        BulkOperationSummary(
            bulk_operation_arn=BULK_PUTS.arn(context, each),
            bulk_operation_status=each.status,
            start_time=each.started,
            end_time=each.ended,
        )
        for each in page
    ]
    return ListBulkOperationsOutput(bulk_operations_summary_list=summaries, next_token=token)


def _description(context: EngineContext, record: BulkRecord) -> BulkOperationDescription:
    request = record.request
    return BulkOperationDescription(
        bulk_operation_arn=BULK_PUTS.arn(context, record),
        bulk_operation_status=record.status,
        table_details=[BulkOperationTableDetail(table_name=record.table, table_id=record.table_id)],
        client_token=request.client_token,
        input_s3_configuration=request.input_s3_configuration,
        output_s3_configuration=request.output_s3_configuration,
        start_time=record.started,
        end_time=record.ended,
        processed_item_count=record.processed,
        processed_input_bytes=record.size,
        total_input_bytes=record.total,
        failed_item_count=record.errors,
        failure_code=record.failure[0] if record.failure else None,
        failure_message=record.failure[1] if record.failure else None,
        max_write_request_units=request.max_write_request_units,
        performance_tier=request.performance_tier or "STANDARD",
    )
