"""GetRecords: changes in order, and an iterator for the next ones."""

from hashlib import blake2b

from partita.dynamodb.canonical import item_size
from partita.dynamodb.exceptions import (
    INVALID,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from partita.dynamodb.limits import STREAM_BYTES, STREAM_RECORDS
from partita.dynamodb.stream_shapes import (
    GetRecords,
    GetRecordsOutput,
    Record,
    StreamRecord,
    UserIdentity,
)
from partita.engine.change_log import LogRecord, read_changes
from partita.engine.constraints import Constraint, report_violations
from partita.engine.context import EngineContext
from partita.engine.operations.get_shard_iterator import TRIMMED
from partita.engine.streams import (
    Stream,
    find_stream,
    parse_iterator,
    sequence_number,
    shard_iterator,
    trim_horizon,
)

_MEMBERS = (Constraint("shard_iterator", required=True, min_length=1, max_length=2048), Constraint("limit", minimum=1))
_SERVICE = UserIdentity(principal_id="dynamodb.amazonaws.com", type="Service")


def get_records(context: EngineContext, request: GetRecords) -> GetRecordsOutput:
    report_violations(request, _MEMBERS)
    limit = request.limit or STREAM_RECORDS
    if limit > STREAM_RECORDS:
        raise ValidationException(f"{INVALID}Limit should be less than or equal to {STREAM_RECORDS}")
    arn, position = parse_iterator(context, request.shard_iterator or "")
    stream = find_stream(context, arn)
    if stream is None or stream.shard_id != position.shard:
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")
    return _page(context, stream, position.after, limit)


def _page(context: EngineContext, stream: Stream, after: int, limit: int) -> GetRecordsOutput:
    horizon = trim_horizon(context, stream)
    closed = stream.record.closed
    records: list[Record] = []
    size = 0
    ended = closed is not None
    for number, change in read_changes(context.storage, stream.table, after, limit + 1, through=closed):
        if number < horizon:
            raise TrimmedDataAccessException(TRIMMED)
        visible = _visible_record(stream, number, change)
        size += visible.size_bytes or 0
        if len(records) == limit or (records and size > STREAM_BYTES):
            ended = False
            break
        records.append(_record(context, stream, number, change, visible))
        after = number
    following = None if ended else shard_iterator(context, stream, after)
    return GetRecordsOutput(records=records, next_shard_iterator=following)


def _record(context: EngineContext, stream: Stream, number: int, change: LogRecord, visible: StreamRecord) -> Record:
    return Record(
        event_id=blake2b(f"{stream.arn}#{number}".encode(), digest_size=16).hexdigest(),
        event_name=change.event,
        event_version="1.1",
        event_source="aws:dynamodb",
        aws_region=context.region,
        dynamodb=visible,
        user_identity=_SERVICE if change.expired else None,
    )


def _visible_record(stream: Stream, number: int, change: LogRecord) -> StreamRecord:
    """A change in the stream's view type; its size is that of the keys and images in it."""
    view = stream.record.view_type
    new = change.new if change.new and view in ("NEW_IMAGE", "NEW_AND_OLD_IMAGES") else None
    old = change.old if change.old and view in ("OLD_IMAGE", "NEW_AND_OLD_IMAGES") else None
    return StreamRecord(
        approximate_creation_date_time=float(int(change.at)),
        keys=change.keys,
        new_image=new,
        old_image=old,
        sequence_number=sequence_number(number),
        size_bytes=item_size(change.keys) + (change.new_size if new else 0) + (change.old_size if old else 0),
        stream_view_type=view,
    )
