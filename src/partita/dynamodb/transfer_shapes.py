"""Requests and responses about exports, imports and bulk puts: data in the objects of buckets."""

import msgspec

from partita.dynamodb.requests import Request
from partita.dynamodb.shapes import (
    AttributeDefinition,
    KeySchemaElement,
    OnDemandThroughput,
    ProvisionedThroughput,
    SecondaryIndex,
    Shape,
    SSESpecification,
    VectorIndexDefinition,
)
from partita.dynamodb.values import AttributeValue

# Exports --------------------------------------------------------------------------------------------------------


class IncrementalExportSpecification(Shape):
    export_from_time: float | None = None
    export_to_time: float | None = None
    export_view_type: str | None = None


class FilterSpecification(Shape):
    filter_expression: str | None = None
    projection_expression: str | None = None
    key_condition_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: dict[str, AttributeValue] | None = None


class ExportDescription(Shape):
    export_arn: str | None = None
    export_status: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    export_manifest: str | None = None
    table_arn: str | None = None
    table_id: str | None = None
    export_time: float | None = None
    client_token: str | None = None
    s3_bucket: str | None = None
    s3_bucket_owner: str | None = None
    s3_prefix: str | None = None
    s3_sse_algorithm: str | None = None
    s3_sse_kms_key_id: str | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    export_format: str | None = None
    billed_size_bytes: int | None = None
    item_count: int | None = None
    export_type: str | None = None
    incremental_export_specification: IncrementalExportSpecification | None = None
    filter_specification: FilterSpecification | None = None


class ExportSummary(Shape):
    export_arn: str | None = None
    export_status: str | None = None
    export_type: str | None = None


class ExportOutput(Shape):
    export_description: ExportDescription | None = None


class ListExportsOutput(Shape):
    export_summaries: list[ExportSummary] | None = None
    next_token: str | None = None


class ExportTableToPointInTime(Request[ExportOutput]):
    table_arn: str | None = None
    export_time: float | None = None
    client_token: str | None = None
    s3_bucket: str | None = None
    s3_bucket_owner: str | None = None
    s3_prefix: str | None = None
    s3_sse_algorithm: str | None = None
    s3_sse_kms_key_id: str | None = None
    export_format: str | None = None
    export_type: str | None = None
    incremental_export_specification: IncrementalExportSpecification | None = None
    filter_specification: FilterSpecification | None = None


class DescribeExport(Request[ExportOutput]):
    export_arn: str | None = None


class ListExports(Request[ListExportsOutput]):
    table_arn: str | None = None
    max_results: int | None = None
    next_token: str | None = None


# Imports --------------------------------------------------------------------------------------------------------


class S3BucketSource(Shape):
    s3_bucket_owner: str | None = None
    s3_bucket: str | None = None
    s3_key_prefix: str | None = None


class CsvOptions(Shape):
    delimiter: str | None = None
    header_list: list[str] | None = None


class InputFormatOptions(Shape):
    csv: CsvOptions | None = None


class TableCreationParameters(Shape):
    table_name: str | None = None
    attribute_definitions: list[AttributeDefinition] | None = None
    key_schema: list[KeySchemaElement] | None = None
    billing_mode: str | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    sse_specification: SSESpecification | None = msgspec.field(name="SSESpecification", default=None)
    global_secondary_indexes: list[SecondaryIndex] | None = None
    vector_indexes: list[VectorIndexDefinition] | None = None


class ImportTableDescription(Shape):
    import_arn: str | None = None
    import_status: str | None = None
    table_arn: str | None = None
    table_id: str | None = None
    client_token: str | None = None
    s3_bucket_source: S3BucketSource | None = None
    error_count: int | None = None
    cloud_watch_log_group_arn: str | None = None
    input_format: str | None = None
    input_format_options: InputFormatOptions | None = None
    input_compression_type: str | None = None
    table_creation_parameters: TableCreationParameters | None = None
    start_time: float | None = None
    end_time: float | None = None
    processed_size_bytes: int | None = None
    processed_item_count: int | None = None
    imported_item_count: int | None = None
    failure_code: str | None = None
    failure_message: str | None = None


class ImportSummary(Shape):
    import_arn: str | None = None
    import_status: str | None = None
    table_arn: str | None = None
    s3_bucket_source: S3BucketSource | None = None
    cloud_watch_log_group_arn: str | None = None
    input_format: str | None = None
    start_time: float | None = None
    end_time: float | None = None


class ImportOutput(Shape):
    import_table_description: ImportTableDescription | None = None


class ListImportsOutput(Shape):
    import_summary_list: list[ImportSummary] | None = None
    next_token: str | None = None


class ImportTable(Request[ImportOutput]):
    client_token: str | None = None
    s3_bucket_source: S3BucketSource | None = None
    input_format: str | None = None
    input_format_options: InputFormatOptions | None = None
    input_compression_type: str | None = None
    table_creation_parameters: TableCreationParameters | None = None


class DescribeImport(Request[ImportOutput]):
    import_arn: str | None = None


class ListImports(Request[ListImportsOutput]):
    table_arn: str | None = None
    page_size: int | None = None
    next_token: str | None = None


# Bulk puts ------------------------------------------------------------------------------------------------------


class InputS3Configuration(S3BucketSource):
    input_format: str | None = None
    input_compression_type: str | None = None


class OutputS3Configuration(S3BucketSource):
    s3_sse_algorithm: str | None = None
    s3_sse_kms_key_id: str | None = None
    output_type: list[str] | None = None


class BulkOperationTableDetail(Shape):
    table_name: str | None = None
    table_id: str | None = None


class BulkOperationDescription(Shape):
    bulk_operation_arn: str | None = None
    bulk_operation_status: str | None = None
    table_details: list[BulkOperationTableDetail] | None = None
    client_token: str | None = None
    input_s3_configuration: InputS3Configuration | None = None
    output_s3_configuration: OutputS3Configuration | None = None
    start_time: float | None = None
    end_time: float | None = None
    processed_item_count: int | None = None
    processed_input_bytes: int | None = None
    total_input_bytes: int | None = None
    failed_item_count: int | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    max_write_request_units: int | None = None
    performance_tier: str | None = None


class BulkOperationSummary(Shape):
    bulk_operation_arn: str | None = None
    bulk_operation_status: str | None = None
    start_time: float | None = None
    end_time: float | None = None


class BulkOperationOutput(Shape):
    bulk_operation_description: BulkOperationDescription | None = None


class CancelBulkOperationOutput(Shape):
    bulk_operation_arn: str | None = None
    bulk_operation_status: str | None = None


class ListBulkOperationsOutput(Shape):
    bulk_operations_summary_list: list[BulkOperationSummary] | None = None
    next_token: str | None = None


class StartBulkPutItems(Request[BulkOperationOutput]):
    client_token: str | None = None
    input_s3_configuration: InputS3Configuration | None = None
    output_s3_configuration: OutputS3Configuration | None = None
    table_name: str | None = None
    max_write_request_units: int | None = None
    performance_tier: str | None = None


class DescribeBulkOperation(Request[BulkOperationOutput]):
    bulk_operation_arn: str | None = None


class CancelBulkOperation(Request[CancelBulkOperationOutput]):
    bulk_operation_arn: str | None = None


class ListBulkOperations(Request[ListBulkOperationsOutput]):
    max_results: int | None = None
    next_token: str | None = None
