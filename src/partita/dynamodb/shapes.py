"""Shapes that requests and responses share: key schemas, projections, throughput, table descriptions.

Every member is optional here: the engine checks what DynamoDB requires, and reports it in DynamoDB's words.
"""

import msgspec


class Shape(msgspec.Struct, kw_only=True, omit_defaults=True, rename="pascal"):
    """The base class: snake_case in Python, PascalCase in JSON, absent members omitted."""


class KeySchemaElement(Shape):
    attribute_name: str | None = None
    key_type: str | None = None


class AttributeDefinition(Shape):
    attribute_name: str | None = None
    attribute_type: str | None = None


class Projection(Shape):
    projection_type: str | None = None
    non_key_attributes: list[str] | None = None


class ProvisionedThroughput(Shape):
    read_capacity_units: int | None = None
    write_capacity_units: int | None = None


class OnDemandThroughput(Shape):
    max_read_request_units: int | None = None
    max_write_request_units: int | None = None


class WarmThroughput(Shape):
    read_units_per_second: int | None = None
    write_units_per_second: int | None = None


class StreamSpecification(Shape):
    stream_enabled: bool | None = None
    stream_view_type: str | None = None


class SSESpecification(Shape):
    enabled: bool | None = None
    sse_type: str | None = msgspec.field(name="SSEType", default=None)
    kms_master_key_id: str | None = msgspec.field(name="KMSMasterKeyId", default=None)


class Tag(Shape):
    key: str | None = None
    value: str | None = None


class SecondaryIndex(Shape):
    """A global or local index in CreateTable; a local one has no throughput."""

    index_name: str | None = None
    key_schema: list[KeySchemaElement] | None = None
    projection: Projection | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None


class VectorAttribute(Shape):
    attribute_name: str | None = None


class SearchSchemaElement(Shape):
    attribute_name: str | None = None
    search_schema_element_type: str | None = None


class VectorIndexDefinition(Shape):
    """A vector index in CreateTable, or in the Create action of UpdateTable."""

    index_name: str | None = None
    vector_attribute: VectorAttribute | None = None
    search_schema: list[SearchSchemaElement] | None = None
    projection: Projection | None = None
    dimensions: int | None = None
    distance_function: str | None = None


class UpdateIndexAction(Shape):
    index_name: str | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None


class DeleteIndexAction(Shape):
    index_name: str | None = None


class IndexUpdate(Shape):
    create: SecondaryIndex | None = None
    update: UpdateIndexAction | None = None
    delete: DeleteIndexAction | None = None


class VectorIndexUpdate(Shape):
    create: VectorIndexDefinition | None = None
    delete: DeleteIndexAction | None = None


class ThroughputDescription(Shape):
    last_increase_date_time: float | None = None
    last_decrease_date_time: float | None = None
    number_of_decreases_today: int | None = None
    read_capacity_units: int | None = None
    write_capacity_units: int | None = None


class WarmThroughputDescription(Shape):
    read_units_per_second: int | None = None
    write_units_per_second: int | None = None
    status: str | None = None


class BillingModeSummary(Shape):
    billing_mode: str | None = None
    last_update_to_pay_per_request_date_time: float | None = None


class TableClassSummary(Shape):
    table_class: str | None = None
    last_update_date_time: float | None = None


class IndexDescription(Shape):
    index_name: str | None = None
    key_schema: list[KeySchemaElement] | None = None
    projection: Projection | None = None
    index_status: str | None = None
    backfilling: bool | None = None
    provisioned_throughput: ThroughputDescription | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughputDescription | None = None
    index_size_bytes: int | None = None
    item_count: int | None = None
    index_arn: str | None = None


class VectorIndexDescription(Shape):
    index_name: str | None = None
    search_schema: list[SearchSchemaElement] | None = None
    projection: Projection | None = None
    vector_attribute: VectorAttribute | None = None
    dimensions: int | None = None
    distance_function: str | None = None
    index_status: str | None = None
    backfilling: bool | None = None
    index_size_bytes: int | None = None
    item_count: int | None = None
    index_arn: str | None = None


class SSEDescription(Shape):
    status: str | None = None
    sse_type: str | None = msgspec.field(name="SSEType", default=None)
    kms_master_key_arn: str | None = msgspec.field(name="KMSMasterKeyArn", default=None)


class RestoreSummary(Shape):
    source_backup_arn: str | None = None
    source_table_arn: str | None = None
    restore_date_time: float | None = None
    restore_in_progress: bool | None = None


class TableDescription(Shape):
    attribute_definitions: list[AttributeDefinition] | None = None
    table_name: str | None = None
    key_schema: list[KeySchemaElement] | None = None
    table_status: str | None = None
    creation_date_time: float | None = None
    provisioned_throughput: ThroughputDescription | None = None
    table_size_bytes: int | None = None
    item_count: int | None = None
    table_arn: str | None = None
    table_id: str | None = None
    billing_mode_summary: BillingModeSummary | None = None
    local_secondary_indexes: list[IndexDescription] | None = None
    global_secondary_indexes: list[IndexDescription] | None = None
    stream_specification: StreamSpecification | None = None
    latest_stream_label: str | None = None
    latest_stream_arn: str | None = None
    restore_summary: RestoreSummary | None = None
    sse_description: SSEDescription | None = msgspec.field(name="SSEDescription", default=None)
    table_class_summary: TableClassSummary | None = None
    deletion_protection_enabled: bool | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughputDescription | None = None
    vector_indexes: list[VectorIndexDescription] | None = None


class TimeToLiveSpecification(Shape):
    enabled: bool | None = None
    attribute_name: str | None = None


class TimeToLiveDescription(Shape):
    time_to_live_status: str | None = None
    attribute_name: str | None = None


class PointInTimeRecoverySpecification(Shape):
    point_in_time_recovery_enabled: bool | None = None
    recovery_period_in_days: int | None = None


class PointInTimeRecoveryDescription(Shape):
    point_in_time_recovery_status: str | None = None
    recovery_period_in_days: int | None = None
    earliest_restorable_date_time: float | None = None
    latest_restorable_date_time: float | None = None


class ContinuousBackupsDescription(Shape):
    continuous_backups_status: str | None = None
    point_in_time_recovery_description: PointInTimeRecoveryDescription | None = None


class Capacity(Shape):
    capacity_units: float | None = None
    read_capacity_units: float | None = None
    write_capacity_units: float | None = None


class VectorCapacity(Shape):
    vector_search_request_bytes: float | None = None
    vector_write_request_bytes: float | None = None


class ConsumedCapacity(Shape):
    table_name: str | None = None
    capacity_units: float | None = None
    read_capacity_units: float | None = None
    write_capacity_units: float | None = None
    table: Capacity | None = None
    local_secondary_indexes: dict[str, Capacity] | None = None
    global_secondary_indexes: dict[str, Capacity] | None = None
    vector_indexes: dict[str, VectorCapacity] | None = None
