"""Responses: one class for each operation. Items are the bytes of their DynamoDB JSON (`msgspec.Raw`).

`msgspec.json.encode(response)` copies the bytes of stored items and never decodes them.
"""

import msgspec
from msgspec import Raw

from partita.dynamodb.shapes import (
    ConsumedCapacity,
    ContinuousBackupsDescription,
    Shape,
    TableDescription,
    TimeToLiveDescription,
    TimeToLiveSpecification,
    VectorCapacity,
)
from partita.dynamodb.values import Item, OptionalRaw


class CreateTableOutput(Shape):
    table_description: TableDescription | None = None


class DeleteTableOutput(Shape):
    table_description: TableDescription | None = None


class UpdateTableOutput(Shape):
    table_description: TableDescription | None = None


class DescribeTableOutput(Shape):
    table: TableDescription | None = None


class ListTablesOutput(Shape):
    table_names: list[str] | None = None
    last_evaluated_table_name: str | None = None


class UpdateTimeToLiveOutput(Shape):
    time_to_live_specification: TimeToLiveSpecification | None = None


class DescribeTimeToLiveOutput(Shape):
    time_to_live_description: TimeToLiveDescription | None = None


class UpdateContinuousBackupsOutput(Shape):
    continuous_backups_description: ContinuousBackupsDescription | None = None


class DescribeContinuousBackupsOutput(Shape):
    continuous_backups_description: ContinuousBackupsDescription | None = None


class ItemCollectionMetrics(Shape):
    item_collection_key: Item | None = None
    size_estimate_range_gb: list[float] | None = msgspec.field(name="SizeEstimateRangeGB", default=None)


class GetItemOutput(Shape):
    item: OptionalRaw = None
    consumed_capacity: ConsumedCapacity | None = None


class WriteOutput(Shape):
    """The members that PutItem, UpdateItem and DeleteItem have in common."""

    attributes: OptionalRaw = None
    consumed_capacity: ConsumedCapacity | None = None
    item_collection_metrics: ItemCollectionMetrics | None = None


class PutItemOutput(WriteOutput):
    pass


class UpdateItemOutput(WriteOutput):
    pass


class DeleteItemOutput(WriteOutput):
    pass


class PageOutput(Shape):
    """The members that Query and Scan have in common."""

    items: list[Raw] | None = None
    count: int | None = None
    scanned_count: int | None = None
    last_evaluated_key: OptionalRaw = None
    consumed_capacity: ConsumedCapacity | None = None


class QueryOutput(PageOutput):
    pass


class ScanOutput(PageOutput):
    pass


class SearchVectorsResult(Shape):
    item: OptionalRaw = None
    score: float | None = None


class SearchVectorsOutput(Shape):
    search_results: list[SearchVectorsResult] | None = None
    consumed_capacity: VectorCapacity | None = None


class BatchGetItemOutput(Shape):
    responses: dict[str, list[Raw]] | None = None
    unprocessed_keys: OptionalRaw = None
    consumed_capacity: list[ConsumedCapacity] | None = None


class BatchWriteItemOutput(Shape):
    unprocessed_items: OptionalRaw = None
    item_collection_metrics: dict[str, list[ItemCollectionMetrics]] | None = None
    consumed_capacity: list[ConsumedCapacity] | None = None


class TransactWriteItemsOutput(Shape):
    consumed_capacity: list[ConsumedCapacity] | None = None
    item_collection_metrics: dict[str, list[ItemCollectionMetrics]] | None = None


class ItemResponse(Shape):
    item: OptionalRaw = None


class TransactGetItemsOutput(Shape):
    consumed_capacity: list[ConsumedCapacity] | None = None
    responses: list[ItemResponse] | None = None
