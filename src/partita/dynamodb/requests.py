"""Requests: one class for each operation, with DynamoDB's members in snake_case.

`GetItem(table_name="notes", key={"id": {"S": "1"}})` is DynamoDB's GetItem. The type parameter is its response's class.
"""

from typing import Any, Generic, TypeVar

import msgspec

from partita.dynamodb import responses as r
from partita.dynamodb.shapes import (
    AttributeDefinition,
    IndexUpdate,
    KeySchemaElement,
    OnDemandThroughput,
    PointInTimeRecoverySpecification,
    ProvisionedThroughput,
    SecondaryIndex,
    Shape,
    SSESpecification,
    StreamSpecification,
    Tag,
    TimeToLiveSpecification,
    VectorIndexDefinition,
    VectorIndexUpdate,
    WarmThroughput,
)
from partita.dynamodb.values import AttributeValue, Item

Reply = TypeVar("Reply")


class Request(Shape, Generic[Reply]):
    """A request whose response is a `Reply`."""


# Tables ---------------------------------------------------------------------------------------------------------


class CreateTable(Request[r.CreateTableOutput]):
    attribute_definitions: list[AttributeDefinition] | None = None
    table_name: str | None = None
    key_schema: list[KeySchemaElement] | None = None
    local_secondary_indexes: list[SecondaryIndex] | None = None
    global_secondary_indexes: list[SecondaryIndex] | None = None
    billing_mode: str | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    stream_specification: StreamSpecification | None = None
    sse_specification: SSESpecification | None = msgspec.field(name="SSESpecification", default=None)
    tags: list[Tag] | None = None
    table_class: str | None = None
    deletion_protection_enabled: bool | None = None
    warm_throughput: WarmThroughput | None = None
    resource_policy: str | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    global_table_source_arn: str | None = None
    global_table_settings_replication_mode: str | None = None
    vector_indexes: list[VectorIndexDefinition] | None = None


class DescribeTable(Request[r.DescribeTableOutput]):
    table_name: str | None = None


class ListTables(Request[r.ListTablesOutput]):
    exclusive_start_table_name: str | None = None
    limit: int | None = None


class DeleteTable(Request[r.DeleteTableOutput]):
    table_name: str | None = None


class UpdateTable(Request[r.UpdateTableOutput]):
    attribute_definitions: list[AttributeDefinition] | None = None
    table_name: str | None = None
    billing_mode: str | None = None
    provisioned_throughput: ProvisionedThroughput | None = None
    global_secondary_index_updates: list[IndexUpdate] | None = None
    stream_specification: StreamSpecification | None = None
    sse_specification: SSESpecification | None = msgspec.field(name="SSESpecification", default=None)
    table_class: str | None = None
    deletion_protection_enabled: bool | None = None
    on_demand_throughput: OnDemandThroughput | None = None
    warm_throughput: WarmThroughput | None = None
    replica_updates: Any = None
    multi_region_consistency: str | None = None
    global_table_witness_updates: Any = None
    global_table_settings_replication_mode: str | None = None
    vector_index_updates: list[VectorIndexUpdate] | None = None


class UpdateTimeToLive(Request[r.UpdateTimeToLiveOutput]):
    table_name: str | None = None
    time_to_live_specification: TimeToLiveSpecification | None = None


class DescribeTimeToLive(Request[r.DescribeTimeToLiveOutput]):
    table_name: str | None = None


class UpdateContinuousBackups(Request[r.UpdateContinuousBackupsOutput]):
    table_name: str | None = None
    point_in_time_recovery_specification: PointInTimeRecoverySpecification | None = None


class DescribeContinuousBackups(Request[r.DescribeContinuousBackupsOutput]):
    table_name: str | None = None


# Items ----------------------------------------------------------------------------------------------------------


class ExpectedAttributeValue(Shape):
    value: AttributeValue | None = None
    exists: bool | None = None
    comparison_operator: str | None = None
    attribute_value_list: list[AttributeValue] | None = None


class AttributeValueUpdate(Shape):
    value: AttributeValue | None = None
    action: str | None = None


class Condition(Shape):
    attribute_value_list: list[AttributeValue] | None = None
    comparison_operator: str | None = None


class GetItem(Request[r.GetItemOutput]):
    table_name: str | None = None
    key: Item | None = None
    attributes_to_get: list[str] | None = None
    consistent_read: bool | None = None
    return_consumed_capacity: str | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None


class PutItem(Request[r.PutItemOutput]):
    table_name: str | None = None
    item: Item | None = None
    expected: dict[str, ExpectedAttributeValue] | None = None
    return_values: str | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None
    conditional_operator: str | None = None
    condition_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Item | None = None
    return_values_on_condition_check_failure: str | None = None


class DeleteItem(Request[r.DeleteItemOutput]):
    table_name: str | None = None
    key: Item | None = None
    expected: dict[str, ExpectedAttributeValue] | None = None
    conditional_operator: str | None = None
    return_values: str | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None
    condition_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Item | None = None
    return_values_on_condition_check_failure: str | None = None


class UpdateItem(Request[r.UpdateItemOutput]):
    table_name: str | None = None
    key: Item | None = None
    attribute_updates: dict[str, AttributeValueUpdate] | None = None
    expected: dict[str, ExpectedAttributeValue] | None = None
    conditional_operator: str | None = None
    return_values: str | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None
    update_expression: str | None = None
    condition_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Item | None = None
    return_values_on_condition_check_failure: str | None = None


class Query(Request[r.QueryOutput]):
    table_name: str | None = None
    index_name: str | None = None
    select: str | None = None
    attributes_to_get: list[str] | None = None
    limit: int | None = None
    consistent_read: bool | None = None
    key_conditions: dict[str, Condition] | None = None
    query_filter: dict[str, Condition] | None = None
    conditional_operator: str | None = None
    scan_index_forward: bool | None = None
    exclusive_start_key: Item | None = None
    return_consumed_capacity: str | None = None
    projection_expression: str | None = None
    filter_expression: str | None = None
    key_condition_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Item | None = None


class Scan(Request[r.ScanOutput]):
    table_name: str | None = None
    index_name: str | None = None
    attributes_to_get: list[str] | None = None
    limit: int | None = None
    select: str | None = None
    scan_filter: dict[str, Condition] | None = None
    conditional_operator: str | None = None
    exclusive_start_key: Item | None = None
    return_consumed_capacity: str | None = None
    total_segments: int | None = None
    segment: int | None = None
    projection_expression: str | None = None
    filter_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Item | None = None
    consistent_read: bool | None = None


class SearchVectors(Request[r.SearchVectorsOutput]):
    table_name: str | None = None
    index_name: str | None = None
    search_vector: list[AttributeValue] | None = None
    top_k: int | None = None
    search_condition_expression: str | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Item | None = None
    return_consumed_capacity: str | None = None


# Batches --------------------------------------------------------------------------------------------------------


class KeysAndAttributes(Shape):
    keys: list[Item] | None = None
    attributes_to_get: list[str] | None = None
    consistent_read: bool | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None


class BatchGetItem(Request[r.BatchGetItemOutput]):
    request_items: dict[str, KeysAndAttributes] | None = None
    return_consumed_capacity: str | None = None


class PutRequest(Shape):
    item: Item | None = None


class DeleteRequest(Shape):
    key: Item | None = None


class WriteRequest(Shape):
    put_request: PutRequest | None = None
    delete_request: DeleteRequest | None = None


class BatchWriteItem(Request[r.BatchWriteItemOutput]):
    request_items: dict[str, list[WriteRequest]] | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None


# Transactions ---------------------------------------------------------------------------------------------------


class Action(Shape):
    """The members that all actions of a transaction have."""

    table_name: str | None = None
    condition_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None
    expression_attribute_values: Item | None = None
    return_values_on_condition_check_failure: str | None = None


class ConditionCheck(Action):
    key: Item | None = None


class Put(Action):
    item: Item | None = None


class Delete(Action):
    key: Item | None = None


class Update(Action):
    key: Item | None = None
    update_expression: str | None = None


class TransactWriteItem(Shape):
    condition_check: ConditionCheck | None = None
    put: Put | None = None
    delete: Delete | None = None
    update: Update | None = None


class TransactWriteItems(Request[r.TransactWriteItemsOutput]):
    transact_items: list[TransactWriteItem] | None = None
    return_consumed_capacity: str | None = None
    return_item_collection_metrics: str | None = None
    client_request_token: str | None = None


class Get(Shape):
    key: Item | None = None
    table_name: str | None = None
    projection_expression: str | None = None
    expression_attribute_names: dict[str, str] | None = None


class TransactGetItem(Shape):
    get: Get | None = None


class TransactGetItems(Request[r.TransactGetItemsOutput]):
    transact_items: list[TransactGetItem] | None = None
    return_consumed_capacity: str | None = None
