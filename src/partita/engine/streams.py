"""Streams: a view of the change log, with one shard for each stream.

    change log   | 1 2 3 4 5 6 7 8 9 ...
    stream A       [----]                 enabled, disabled: its shard is closed
    stream B                 [--------    enabled again: a new stream with a new shard

A sequence number is the number of a record in the log, which is at least its time in microseconds, so the records of a
time are found directly. Of a stream only its first and last numbers are stored.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from partita.dynamodb.exceptions import ExpiredIteratorException, ValidationException
from partita.dynamodb.limits import ITERATOR_SECONDS, STREAM_RETENTION_SECONDS
from partita.engine.change_log import number_at, oldest_number
from partita.engine.context import EngineContext
from partita.engine.schema import StoredStream, StoredTable


class Stream(msgspec.Struct, frozen=True):
    """A stream of a table, which may have been deleted."""

    table: StoredTable
    record: StoredStream
    arn: str

    @property
    def created(self) -> float:
        return datetime.fromisoformat(self.record.label).replace(tzinfo=UTC).timestamp()

    @property
    def first(self) -> int:
        """The lowest number that a record of this stream can have."""
        return self.record.first

    @property
    def shard_id(self) -> str:
        from hashlib import blake2b

        unique = blake2b(self.arn.encode(), digest_size=4).hexdigest()
        return f"shardId-{round(self.created * 1000):020d}-{unique}"


def streams(context: EngineContext) -> Iterator[Stream]:
    """Every stream that can still be read, by table and then by time."""
    catalog = context.catalog
    for table in sorted([*catalog.tables.values(), *catalog.deleted.values()], key=lambda each: each.name):
        for record in table.record.streams:
            if record.closed_at is None or record.closed_at > context.clock() - STREAM_RETENTION_SECONDS:
                yield Stream(table, record, f"{context.table_arn(table.name)}/stream/{record.label}")


def find_stream(context: EngineContext, arn: str | None) -> Stream | None:
    context.catalog.refresh()
    return next((stream for stream in streams(context) if stream.arn == arn), None)


def new_stream(context: EngineContext, name: str, view_type: str | None, last: int) -> StoredStream:
    """A new stream of a table whose last log record is `last`; its label is unique among streams of that table name."""
    now = moment = context.clock()
    taken = {stream.record.label for stream in streams(context) if stream.table.name == name}
    while (label := _label(moment)) in taken:
        moment += 0.001
    return StoredStream(label=label, view_type=view_type or "", first=max(last + 1, number_at(now)))


def _label(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def trim_horizon(context: EngineContext, stream: Stream) -> int:
    """The lowest number that can still be read."""
    return oldest_number(stream.table.record, context.clock(), STREAM_RETENTION_SECONDS)


def sequence_number(number: int) -> str:
    """A number as clients see it: at least 21 digits, so that text order is its order.

    >>> sequence_number(7)
    '000000000000000000007'
    """
    return f"{number:021d}"


class IteratorPosition(msgspec.Struct, array_like=True, frozen=True):
    """The content of a shard iterator: the number to continue after, and its time of issue."""

    shard: str
    after: int
    issued: float


_decode_iterator = msgspec.json.Decoder(IteratorPosition).decode


def shard_iterator(context: EngineContext, stream: Stream, after: int) -> str:
    """An iterator that continues after a number."""
    encoded = msgspec.json.encode(IteratorPosition(stream.shard_id, after, context.clock()))
    return f"{stream.arn}|1|{b64encode(encoded).decode()}"


def parse_iterator(context: EngineContext, text: str) -> tuple[str, IteratorPosition]:
    """Parses an iterator into the ARN of its stream and the position; rejects invalid and expired ones."""
    arn, _, encoded = text.partition("|1|")
    try:
        found = _decode_iterator(b64decode(encoded, validate=True))
    except (Base64Error, msgspec.MsgspecError, ValueError):
        raise ValidationException("Invalid ShardIterator") from None
    if context.clock() - found.issued > ITERATOR_SECONDS:
        raise ExpiredIteratorException("The shard iterator has expired")
    return arn, found
