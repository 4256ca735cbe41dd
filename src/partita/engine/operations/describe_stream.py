"""DescribeStream: the state and the shards of a stream."""

from partita.dynamodb.exceptions import INVALID, ResourceNotFoundException, ValidationException
from partita.dynamodb.limits import STREAM_LIST
from partita.dynamodb.stream_shapes import (
    DescribeStream,
    DescribeStreamOutput,
    SequenceNumberRange,
    Shard,
    StreamDescription,
)
from partita.engine.constraints import Constraint, report_violations
from partita.engine.context import EngineContext
from partita.engine.streams import Stream, find_stream, sequence_number

STREAM_ARN = Constraint("stream_arn", required=True, min_length=37, max_length=1024)
_MEMBERS = (
    STREAM_ARN,
    Constraint("limit", minimum=1),
    Constraint("exclusive_start_shard_id", min_length=28, max_length=65),
    Constraint(
        "shard_filter",
        children=(
            Constraint("type", required=True, enum=("CHILD_SHARDS",)),
            Constraint("shard_id", min_length=28, max_length=65),
        ),
    ),
)


def describe_stream(context: EngineContext, request: DescribeStream) -> DescribeStreamOutput:
    report_violations(request, _MEMBERS)
    limit = request.limit or STREAM_LIST
    if limit > STREAM_LIST:
        raise ValidationException(f"{INVALID}Limit cannot be greater than the maximum: {STREAM_LIST}")
    stream = find_stream(context, request.stream_arn)
    if stream is None:
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {request.stream_arn} not found")
    found = _matching_shards(stream, request)
    described = StreamDescription(
        stream_arn=stream.arn,
        stream_label=stream.record.label,
        stream_status="ENABLED" if stream.record.closed_at is None else "DISABLED",
        stream_view_type=stream.record.view_type,
        creation_request_date_time=stream.created,
        table_name=stream.table.name,
        key_schema=stream.table.record.key_schema,
        shards=found[:limit],
        last_evaluated_shard_id=found[limit - 1].shard_id if len(found) > limit else None,
    )
    return DescribeStreamOutput(stream_description=described)


def _matching_shards(stream: Stream, request: DescribeStream) -> list[Shard]:
    """The one shard of the stream, unless the request asks for later shards or for its children."""
    if request.shard_filter is not None:
        return []
    if request.exclusive_start_shard_id is not None and stream.shard_id <= request.exclusive_start_shard_id:
        return []
    numbers = SequenceNumberRange(starting_sequence_number=sequence_number(stream.first))
    if stream.record.closed is not None:
        numbers.ending_sequence_number = sequence_number(max(stream.first, stream.record.closed))
    return [Shard(shard_id=stream.shard_id, sequence_number_range=numbers)]
