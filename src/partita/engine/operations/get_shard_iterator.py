"""GetShardIterator: a position in a shard, valid for fifteen minutes."""

import math

from partita.dynamodb.exceptions import (
    INVALID,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from partita.dynamodb.stream_shapes import GetShardIterator, GetShardIteratorOutput
from partita.engine.change_log import last_number, number_at
from partita.engine.constraints import Constraint, report_violations
from partita.engine.context import EngineContext
from partita.engine.operations.describe_stream import STREAM_ARN
from partita.engine.streams import Stream, find_stream, shard_iterator, trim_horizon

TRIMMED = "The data you are trying to access has been trimmed"
_BY_NUMBER = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
_MEMBERS = (
    STREAM_ARN,
    Constraint("shard_id", required=True, min_length=28, max_length=65),
    Constraint("shard_iterator_type", required=True, enum=("TRIM_HORIZON", "LATEST", *_BY_NUMBER, "AT_TIMESTAMP")),
    Constraint("sequence_number", min_length=21, max_length=40),
)


def get_shard_iterator(context: EngineContext, request: GetShardIterator) -> GetShardIteratorOutput:
    report_violations(request, _MEMBERS)
    _check_form(request)
    stream = find_stream(context, request.stream_arn)
    if stream is None:
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {request.stream_arn} not found")
    if request.shard_id != stream.shard_id:
        raise ResourceNotFoundException(f"Requested resource not found: Shard: {request.shard_id} not found")
    start = _start(context, stream, request)
    return GetShardIteratorOutput(shard_iterator=shard_iterator(context, stream, start - 1))


def _check_form(request: GetShardIterator) -> None:
    by_number, by_time = request.shard_iterator_type in _BY_NUMBER, request.shard_iterator_type == "AT_TIMESTAMP"
    if by_number and request.sequence_number is None:
        raise ValidationException(f"{INVALID}Invalid SequenceNumber")
    if not by_number and request.sequence_number is not None:
        raise ValidationException(f"{INVALID}SequenceNumber should not be passed for this iterator type")
    if by_time and request.timestamp is None:
        raise ValidationException(f"{INVALID}Invalid Timestamp")
    if not by_time and request.timestamp is not None:
        raise ValidationException(f"{INVALID}Timestamp should not be passed for this iterator type")


def _start(context: EngineContext, stream: Stream, request: GetShardIterator) -> int:
    """The lowest number that the iterator returns."""
    oldest = max(stream.first, trim_horizon(context, stream))
    kind = request.shard_iterator_type
    if kind == "TRIM_HORIZON":
        return oldest
    if kind == "LATEST":
        return max(oldest, last_number(context.storage, stream.table) + 1)
    if kind == "AT_TIMESTAMP":
        return max(oldest, _at_timestamp(context, request.timestamp or 0.0))
    text = request.sequence_number or ""
    if not text.isascii() or not text.isdigit():
        raise ValidationException(f"{INVALID}Invalid SequenceNumber")
    number = int(text)
    if number < stream.first:
        raise ValidationException(f"{INVALID}Invalid SequenceNumber")
    if number < trim_horizon(context, stream):
        raise TrimmedDataAccessException(TRIMMED)
    if number > _last(context, stream):
        raise ValidationException(f"{INVALID}Invalid SequenceNumber")
    return number + (kind == "AFTER_SEQUENCE_NUMBER")


def _at_timestamp(context: EngineContext, moment: float) -> int:
    """Records have the second of their creation, so the first record of that second or later is wanted."""
    if not math.isfinite(moment) or moment > context.clock():
        raise ValidationException(f"{INVALID}Timestamp cannot be in the future")
    return number_at(math.ceil(moment))


def _last(context: EngineContext, stream: Stream) -> int:
    """The highest number that a client can have seen."""
    last = last_number(context.storage, stream.table) if stream.record.closed is None else stream.record.closed
    return max(stream.first, last)
