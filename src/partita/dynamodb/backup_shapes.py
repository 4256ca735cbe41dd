"""Requests and responses about backups and restores."""

import msgspec

from partita.dynamodb.requests import Request
from partita.dynamodb.shapes import (
    KeySchemaElement,
    OnDemandThroughput,
    ProvisionedThroughput,
    SecondaryIndex,
    Shape,
    SSEDescription,
    SSESpecification,
    StreamSpecification,
    TableDescription,
    TimeToLiveDescription,
    VectorIndexDefinition,
)


class BackupDetails(Shape):
    backup_arn: str | None = None
    backup_name: str | None = None
    backup_size_bytes: int | None = None
    backup_status: str | None = None
    backup_type: str | None = None
    backup_creation_date_time: float | None = None
    backup_expiry_date_time: float | None = None


class SourceTableDetails(Shape):
    table_name: str | None = None
    table_id: str | None = None
    table_arn: str | None = None
    table_size_bytes: int | None = None
    key_schema: list[KeySchemaElement] | None = None
    table_creation_date_time: float | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    item_count: int | None = None
    billing_mode: str | None = None


class SourceTableFeatureDetails(Shape):
    local_secondary_indexes: list[SecondaryIndex] | None = None
    global_secondary_indexes: list[SecondaryIndex] | None = None
    stream_description: StreamSpecification | None = None
    time_to_live_description: TimeToLiveDescription | None = None
    sse_description: SSEDescription | None = msgspec.field(name="SSEDescription", default=None)
    vector_indexes: list[VectorIndexDefinition] | None = None


class BackupDescription(Shape):
    backup_details: BackupDetails | None = None
    source_table_details: SourceTableDetails | None = None
    source_table_feature_details: SourceTableFeatureDetails | None = None


class BackupSummary(Shape):
    table_name: str | None = None
    table_id: str | None = None
    table_arn: str | None = None
    backup_arn: str | None = None
    backup_name: str | None = None
    backup_creation_date_time: float | None = None
    backup_expiry_date_time: float | None = None
    backup_status: str | None = None
    backup_type: str | None = None
    backup_size_bytes: int | None = None


class RestoreOutput(Shape):
    table_description: TableDescription | None = None


class CreateBackupOutput(Shape):
    backup_details: BackupDetails | None = None


class BackupOutput(Shape):
    backup_description: BackupDescription | None = None


class ListBackupsOutput(Shape):
    backup_summaries: list[BackupSummary] | None = None
    last_evaluated_backup_arn: str | None = None


class RestoreOverrides(Shape):
    """The members that both restores have."""

    target_table_name: str | None = None
    billing_mode_override: str | None = None
    global_secondary_index_override: list[SecondaryIndex] | None = None
    local_secondary_index_override: list[SecondaryIndex] | None = None
    provisioned_throughput_override: ProvisionedThroughput | None = None
    on_demand_throughput_override: OnDemandThroughput | None = None
    sse_specification_override: SSESpecification | None = msgspec.field(name="SSESpecificationOverride", default=None)
    vector_index_override: list[VectorIndexDefinition] | None = None


class RestoreTableToPointInTime(Request[RestoreOutput], RestoreOverrides):
    source_table_arn: str | None = None
    source_table_name: str | None = None
    use_latest_restorable_time: bool | None = None
    restore_date_time: float | None = None


class RestoreTableFromBackup(Request[RestoreOutput], RestoreOverrides):
    backup_arn: str | None = None


class CreateBackup(Request[CreateBackupOutput]):
    table_name: str | None = None
    backup_name: str | None = None


class DescribeBackup(Request[BackupOutput]):
    backup_arn: str | None = None


class DeleteBackup(Request[BackupOutput]):
    backup_arn: str | None = None


class ListBackups(Request[ListBackupsOutput]):
    table_name: str | None = None
    limit: int | None = None
    time_range_lower_bound: float | None = None
    time_range_upper_bound: float | None = None
    exclusive_start_backup_arn: str | None = None
    backup_type: str | None = None
