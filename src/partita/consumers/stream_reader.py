"""Reading a table's streams through the DynamoDB Streams operations, which every backend has."""

from typing import TypeVar

import msgspec

from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.stream_pages import RecordPage, SharedPages
from partita.dynamodb.exceptions import (
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from partita.dynamodb.requests import DescribeTable, Request
from partita.dynamodb.stream_shapes import DescribeStream, GetRecords, GetShardIterator, ListStreams, Record, Shard
from partita.errors import ConfigurationError
from partita.store.retries import send_idempotent

T = TypeVar("T")

PAGE = 1000  # records of a request; DynamoDB returns no more
MAX_REOPENED = 3  # iterators in a row that are opened for one page


def latest_stream(db: ConsumerStore, table: str) -> str:
    """The ARN of a table's stream; if it was enabled again, of the latest one."""
    described = db.run(send_idempotent(db.context, DescribeTable(table_name=table))).table
    arn = None if described is None else described.latest_stream_arn
    if arn is None:
        name = db.table_name(table)
        raise ConfigurationError(f"table {name} has no stream; create_tables() enables the one of the design")
    return arn


def all_streams(db: ConsumerStore, table: str) -> list[str]:
    """The ARNs of a table's streams that can still be read, disabled ones included, the oldest first."""
    found: list[str] = []
    start: str | None = None
    while True:
        request = ListStreams(table_name=table, exclusive_start_stream_arn=start)
        reply = db.run(send_idempotent(db.context, request))
        found += [each.stream_arn for each in reply.streams or [] if each.stream_arn is not None]
        start = reply.last_evaluated_stream_arn
        if start is None:
            return sorted(found, key=stream_label)


def stream_label(arn: str) -> str:
    """The label of a stream, which is the time when it was enabled."""
    return arn.rpartition("/stream/")[2]


class TableStream:
    """One stream of a table; its pages may be shared with other consumers."""

    def __init__(self, db: ConsumerStore, arn: str, pages: SharedPages | None = None) -> None:
        self._db = db
        self.arn = arn
        self.pages = pages

    def shards(self) -> list[Shard]:
        """All shards, parents before their children; none if the stream exists no longer."""
        found: list[Shard] = []
        start: str | None = None
        while True:
            try:
                reply = self.send(DescribeStream(stream_arn=self.arn, exclusive_start_shard_id=start))
            except ResourceNotFoundException:
                return []
            described = reply.stream_description
            found += (described.shards if described is not None else None) or []
            start = None if described is None else described.last_evaluated_shard_id
            if start is None:
                return parents_first(found)

    def read(self, shard: str, after: str) -> "ShardReader":
        return ShardReader(self, shard, after)

    def send(self, request: Request[T]) -> T:
        return self._db.run(send_idempotent(self._db.context, request))


class ShardReader:
    """The records of a shard after a sequence number, page by page; "" is before the first.

    Records that are returned again are left out. `has_lost` is true from the moment at which records were found to be
    trimmed that had perhaps not been read, until the caller resets it.
    """

    def __init__(self, stream: TableStream, shard: str, after: str) -> None:
        self._stream = stream
        self._shard = shard
        self._after = after
        self._from_oldest = not after
        self._iterator: str | None = None
        self._is_stored = False  # whether the iterator was stored, perhaps for another copy of the table
        self._pages = stream.pages
        self.has_ended = False
        self.has_lost = False

    def iterator_of_now(self) -> str:
        """An iterator that leaves out the records that exist already, for `start_at`."""
        return self._request_iterator("LATEST") or ""

    def start_at(self, iterator: str) -> None:
        """Begins with an iterator; with the oldest record, if it has expired."""
        self._iterator, self._is_stored = iterator or None, True
        self._pages = None  # its first page is not that after a sequence number

    def rewind(self, after: str) -> None:
        """Continues after a sequence number that was read before."""
        self._after, self._from_oldest, self._iterator, self.has_ended = after, not after, None, False

    def next_page(self, limit: int = PAGE) -> list[Record]:
        """The next records; none where there are no more yet, or the shard has ended."""
        if self.has_ended:
            return []
        if self._pages is None:
            page = self._read(limit)
        else:
            page = self._pages.page(self._stream.arn, self._shard, self._after, lambda: self._read(limit))
        self._iterator, self.has_ended = page.next_iterator, page.has_ended
        self.has_lost = self.has_lost or page.has_lost
        if page.records:
            self._after, self._from_oldest, self._pages = _sequence(page.records[-1]), False, self._stream.pages
        return page.records

    def _read(self, limit: int) -> RecordPage:
        has_lost = False
        for _ in range(MAX_REOPENED):
            try:
                if self._iterator is None:
                    self._iterator = self._open()
                reply = self._stream.send(GetRecords(shard_iterator=self._iterator, limit=limit))
            except ExpiredIteratorException:
                self._iterator = None
            except TrimmedDataAccessException:
                self._iterator, self._from_oldest, has_lost = None, True, True
            except (ValidationException, ResourceNotFoundException) as rejection:
                if self._is_stored:
                    self._iterator, self._is_stored = None, False
                elif isinstance(rejection, ResourceNotFoundException):  # the shard has expired with all its records
                    return RecordPage([], None, has_ended=True, has_lost=True)
                else:
                    raise
            else:
                self._is_stored = False
                following = reply.next_shard_iterator
                records = self._new_ones(reply.records or [])
                return RecordPage(records, following, has_ended=following is None, has_lost=has_lost)
        return RecordPage([], None, has_lost=has_lost)

    def _new_ones(self, records: list[Record]) -> list[Record]:
        """The records after the last one that was returned before."""
        last = int(self._after or -1)
        found = []
        for each in records:
            sequence = _sequence(each)
            if sequence and int(sequence) > last:
                last = int(sequence)
                found.append(each)
        return found

    def _open(self) -> str | None:
        return self._request_iterator("TRIM_HORIZON" if self._from_oldest else "AFTER_SEQUENCE_NUMBER")

    def _request_iterator(self, kind: str) -> str | None:
        sequence = self._after if kind == "AFTER_SEQUENCE_NUMBER" else None
        request = GetShardIterator(
            stream_arn=self._stream.arn, shard_id=self._shard, shard_iterator_type=kind, sequence_number=sequence
        )
        return self._stream.send(request).shard_iterator


def _sequence(record: Record) -> str:
    return "" if record.dynamodb is None else record.dynamodb.sequence_number or ""


def parents_first(shards: list[Shard]) -> list[Shard]:
    """The shards in an order in which each comes after its parent, if that is still known."""
    by_id = {each.shard_id: each for each in shards}
    done: dict[str | None, Shard] = {}
    for each in shards:
        lineage: list[Shard] = []
        shard: Shard | None = each
        while shard is not None and shard.shard_id not in done and shard not in lineage:
            lineage.append(shard)
            shard = by_id.get(shard.parent_shard_id)
        done |= {found.shard_id: found for found in reversed(lineage)}
    return list(done.values())


def encoded_record(record: Record) -> bytes:
    return msgspec.json.encode(record)


def decoded_record(data: bytes) -> Record:
    return msgspec.json.decode(data, type=Record)
