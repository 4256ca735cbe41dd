"""The keys of a table's changed items, from its stream: which items to read again, and not what they were."""

from collections.abc import Iterator

from partita.dynamodb.backend import Backend
from partita.dynamodb.exceptions import ExpiredIteratorException, TrimmedDataAccessException
from partita.dynamodb.requests import UpdateTable
from partita.dynamodb.shapes import StreamSpecification
from partita.dynamodb.stream_shapes import DescribeStream, GetRecords, GetShardIterator, Shard
from partita.dynamodb.values import Item
from partita.errors import TransferFailed
from partita.recovery.restoring import active_table, describe

LATEST, OLDEST = "LATEST", "TRIM_HORIZON"
PAGE = 1000  # records
MAX_PAGES = 10  # of a shard in one call: writers may be faster than the caller


class ChangedKeys:
    """The changes of a table from now on. A table without a stream gets one, until `close`."""

    def __init__(self, backend: Backend, table: str) -> None:
        self._backend = backend
        self._table = table
        described = describe(backend, table)
        self._is_own = described is None or described.stream_specification is None
        if self._is_own:
            wanted = StreamSpecification(stream_enabled=True, stream_view_type="KEYS_ONLY")
            backend.call(UpdateTable(table_name=table, stream_specification=wanted))
        described = active_table(backend, table)
        self._arn = described.latest_stream_arn
        self._ended: set[str] = set()
        self._iterators: dict[str, str] = {}
        self._after: dict[str, str] = {}
        self._from_oldest: set[str] = set()
        for shard in self._shards():
            if not _is_closed(shard):
                self._open(shard.shard_id or "", LATEST)

    def read(self, *, expired: bool = True) -> list[Item]:
        """Keys of the changes since the last call, a key perhaps several times; none once there are no more.

        It does not wait for writers to stop: the next call goes on where this one ended. `expired=False` leaves out
        items that the table has deleted itself, by their TTL.
        """
        found: list[Item] = []
        for shard in list(self._iterators):
            found += (keys for keys, by_table in self._read_shard(shard) if expired or not by_table)
        if any(shard not in self._iterators for shard in self._ended):
            self._open_children()
        return found

    def close(self) -> None:
        """Ends the stream that was created for this."""
        if self._is_own:
            active_table(self._backend, self._table)
            off = StreamSpecification(stream_enabled=False)
            self._backend.call(UpdateTable(table_name=self._table, stream_specification=off))

    def _read_shard(self, shard: str) -> Iterator[tuple[Item, bool]]:
        for _ in range(MAX_PAGES):
            try:
                page = self._backend.call(GetRecords(shard_iterator=self._iterators[shard], limit=PAGE))
            except ExpiredIteratorException:
                self._open(shard, "AFTER_SEQUENCE_NUMBER" if shard in self._after else OLDEST)  # a key may come again
                continue
            except TrimmedDataAccessException:
                if shard not in self._after and shard not in self._from_oldest:  # DynamoDB Local, of a new iterator
                    self._open(shard, OLDEST)  # has all records since the beginning, and older ones
                    continue
                raise TransferFailed("StreamTrimmed", f"{self._table}: changes were not followed in time") from None
            for record in page.records or ():
                if record.dynamodb is not None and record.dynamodb.keys is not None:
                    self._after[shard] = record.dynamodb.sequence_number or ""
                    yield record.dynamodb.keys, record.user_identity is not None
            if page.next_shard_iterator is None:
                self._ended.add(shard)
                del self._iterators[shard]
                return
            self._iterators[shard] = page.next_shard_iterator
            if not page.records:
                return

    def _open(self, shard: str, kind: str) -> None:
        if kind == OLDEST:
            self._from_oldest.add(shard)
        sequence = self._after[shard] if kind == "AFTER_SEQUENCE_NUMBER" else None
        request = GetShardIterator(
            stream_arn=self._arn, shard_id=shard, shard_iterator_type=kind, sequence_number=sequence
        )
        iterator = self._backend.call(request).shard_iterator
        if iterator is not None:
            self._iterators[shard] = iterator

    def _open_children(self) -> None:
        """Opens the shards that follow those that have ended, from their beginning."""
        for shard in self._shards():
            name = shard.shard_id or ""
            if shard.parent_shard_id in self._ended and name not in self._iterators and name not in self._ended:
                self._open(name, OLDEST)

    def _shards(self) -> Iterator[Shard]:
        start: str | None = None
        while True:
            request = DescribeStream(stream_arn=self._arn, exclusive_start_shard_id=start)
            described = self._backend.call(request).stream_description
            yield from (described.shards or ()) if described else ()
            start = described.last_evaluated_shard_id if described else None
            if start is None:
                return


def _is_closed(shard: Shard) -> bool:
    return shard.sequence_number_range is not None and shard.sequence_number_range.ending_sequence_number is not None
