"""Reading a table's stream through the DynamoDB Streams operations, which every backend has."""

from typing import Any, TypeVar

import msgspec

from partita.consumers.consumer_store import ConsumerStore
from partita.dynamodb.exceptions import ExpiredIteratorException, ResourceNotFoundException, TrimmedDataAccessException
from partita.dynamodb.requests import DescribeTable, Request
from partita.dynamodb.stream_shapes import DescribeStream, GetRecords, GetShardIterator, Record, Shard
from partita.errors import ConfigurationError
from partita.store.retries import send_idempotent

T = TypeVar("T")

PAGE = 1000  # records of a request; DynamoDB returns no more


class TableStream:
    """The stream of a table of the design."""

    def __init__(self, db: ConsumerStore, table: str) -> None:
        self._db = db
        self.table = table
        described = self._send(DescribeTable(table_name=table)).table
        arn = None if described is None else described.latest_stream_arn
        if arn is None:
            name = db.table_name(table)
            raise ConfigurationError(f"table {name} has no stream; create_tables() enables the one of the design")
        self.arn: str = arn

    def shards(self) -> list[Shard]:
        """All shards, parents before their children."""
        found: list[Shard] = []
        start: str | None = None
        while True:
            reply = self._send(DescribeStream(stream_arn=self.arn, exclusive_start_shard_id=start))
            described = reply.stream_description
            found += (described.shards if described is not None else None) or []
            start = None if described is None else described.last_evaluated_shard_id
            if start is None:
                break
        return _parents_first(found)

    def read(self, shard: str, after: str) -> "ShardReader":
        return ShardReader(self, shard, after)

    def _send(self, request: Request[T]) -> T:
        return self._db.run(send_idempotent(self._db.context, request))


class ShardReader:
    """The records of a shard after a sequence number, page by page; "" is before the first."""

    def __init__(self, stream: TableStream, shard: str, after: str) -> None:
        self._stream = stream
        self._shard = shard
        self._after = after
        self._iterator: str | None = None
        self.has_ended = False
        self.lost_until: str | None = None  # records were trimmed before they were read

    def next_page(self, limit: int = PAGE) -> list[Record]:
        """The next records; none where there are no more yet, or the shard has ended."""
        for _ in range(3):
            if self.has_ended:
                break
            if self._iterator is None:
                self._iterator = self._open()
            try:
                reply = self._stream._send(GetRecords(shard_iterator=self._iterator, limit=limit))
            except ExpiredIteratorException:
                self._iterator = None
                continue
            except TrimmedDataAccessException:
                self._lose()
                continue
            self._iterator = reply.next_shard_iterator
            self.has_ended = self._iterator is None
            records = reply.records or []
            if records and records[-1].dynamodb is not None:
                self._after = records[-1].dynamodb.sequence_number or self._after
            return records
        return []

    def _open(self) -> str | None:
        try:
            reply = self._stream._send(self._start())
        except TrimmedDataAccessException:
            self._lose()
            reply = self._stream._send(self._start())
        except ResourceNotFoundException:
            self.has_ended = True
            return None
        return reply.shard_iterator

    def _start(self) -> GetShardIterator:
        position: dict[str, Any] = {"shard_iterator_type": "TRIM_HORIZON"}
        if self._after:
            position = {"shard_iterator_type": "AFTER_SEQUENCE_NUMBER", "sequence_number": self._after}
        return GetShardIterator(stream_arn=self._stream.arn, shard_id=self._shard, **position)

    def _lose(self) -> None:
        self.lost_until, self._after, self._iterator = self._after, "", None


def _parents_first(shards: list[Shard]) -> list[Shard]:
    """The shards in an order in which each comes after its parent, if that is still known."""
    by_id = {each.shard_id: each for each in shards}
    done: dict[str | None, Shard] = {}

    def add(shard: Shard) -> None:
        parent = by_id.get(shard.parent_shard_id)
        if parent is not None and parent.shard_id not in done:
            add(parent)
        done.setdefault(shard.shard_id, shard)

    for each in shards:
        add(each)
    return list(done.values())


def encoded_record(record: Record) -> bytes:
    return msgspec.json.encode(record)


def decoded_record(data: bytes) -> Record:
    return msgspec.json.decode(data, type=Record)
