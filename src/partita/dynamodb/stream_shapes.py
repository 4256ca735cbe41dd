"""Requests and responses of DynamoDB Streams."""

import msgspec

from partita.dynamodb.requests import Request
from partita.dynamodb.shapes import KeySchemaElement, Shape
from partita.dynamodb.values import Item, OptionalRaw


class StreamSummary(Shape):
    stream_arn: str | None = None
    table_name: str | None = None
    stream_label: str | None = None


class ListStreamsOutput(Shape):
    streams: list[StreamSummary] | None = None
    last_evaluated_stream_arn: str | None = None


class SequenceNumberRange(Shape):
    starting_sequence_number: str | None = None
    ending_sequence_number: str | None = None


class Shard(Shape):
    shard_id: str | None = None
    sequence_number_range: SequenceNumberRange | None = None
    parent_shard_id: str | None = None


class StreamDescription(Shape):
    stream_arn: str | None = None
    stream_label: str | None = None
    stream_status: str | None = None
    stream_view_type: str | None = None
    creation_request_date_time: float | None = None
    table_name: str | None = None
    key_schema: list[KeySchemaElement] | None = None
    shards: list[Shard] | None = None
    last_evaluated_shard_id: str | None = None


class DescribeStreamOutput(Shape):
    stream_description: StreamDescription | None = None


class GetShardIteratorOutput(Shape):
    shard_iterator: str | None = None


class StreamRecord(Shape, gc=False):
    approximate_creation_date_time: float | None = None
    keys: Item | None = None
    new_image: OptionalRaw = None
    old_image: OptionalRaw = None
    sequence_number: str | None = None
    size_bytes: int | None = None
    stream_view_type: str | None = None


class UserIdentity(Shape):
    principal_id: str | None = None
    type: str | None = None


class Record(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """One change; its own members are in camelCase.

    Many are in memory at the same time, and can form no reference cycles: the garbage collector leaves them out.
    """

    event_id: str | None = msgspec.field(name="eventID", default=None)
    event_name: str | None = None
    event_version: str | None = None
    event_source: str | None = None
    aws_region: str | None = None
    dynamodb: StreamRecord | None = None
    user_identity: UserIdentity | None = None


class GetRecordsOutput(Shape):
    records: list[Record] | None = None
    next_shard_iterator: str | None = None


class ListStreams(Request[ListStreamsOutput]):
    table_name: str | None = None
    limit: int | None = None
    exclusive_start_stream_arn: str | None = None


class ShardFilter(Shape):
    type: str | None = None
    shard_id: str | None = None


class DescribeStream(Request[DescribeStreamOutput]):
    stream_arn: str | None = None
    limit: int | None = None
    exclusive_start_shard_id: str | None = None
    shard_filter: ShardFilter | None = None


class GetShardIterator(Request[GetShardIteratorOutput]):
    stream_arn: str | None = None
    shard_id: str | None = None
    shard_iterator_type: str | None = None
    sequence_number: str | None = None
    timestamp: float | None = None


class GetRecords(Request[GetRecordsOutput]):
    shard_iterator: str | None = None
    limit: int | None = None
