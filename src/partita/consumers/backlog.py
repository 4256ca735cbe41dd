"""The backlog of a consumer: the changes in the streams of its tables that it has not read.

It is read from the consumer's positions on, like the consumer itself does, and moves nothing. A stream stores its
records for 24 hours, so the oldest unread one says how long the consumer may still stand still without a loss.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import written_at
from partita.consumers.shards import CLOCK_MARGIN
from partita.consumers.state import Position, TableProgress
from partita.consumers.stream_reader import ShardReader, TableStream, all_streams, stream_label
from partita.dynamodb.stream_shapes import Record

RETENTION = timedelta(hours=24)
MAX_COUNTED = 10_000  # records; counting more would take seconds
EMPTY_PAGES = 3  # in a row, until a shard counts as read: DynamoDB returns empty pages before its last one
LIST_SECONDS = 60.0  # between two looks for new shards


class Backlog(msgspec.Struct, frozen=True):
    """How many records a consumer has not read, and when the oldest of them was written; a count ends at 10,000."""

    records: int = 0
    oldest_at: datetime | None = None

    def age(self, now: datetime) -> timedelta:
        """How far the consumer is behind."""
        return timedelta(0) if self.oldest_at is None else max(timedelta(0), now - self.oldest_at)

    def time_left(self, now: datetime) -> timedelta | None:
        """The time until the oldest unread record expires; None if all are read."""
        return None if self.oldest_at is None else max(timedelta(0), self.oldest_at + RETENTION - now)


class UnreadShard(NamedTuple):
    """A shard whose records after a sequence number are not read; "" is before the first.

    Records before `since` are not wanted.
    """

    stream: str
    shard: str
    after: str
    since: datetime | None

    def wanted(self, records: list[Record]) -> list[Record]:
        return [each for each in records if self.since is None or written_at(each) >= self.since]


def unread_shards(
    db: ConsumerStore, tables: Sequence[TableProgress], positions: Sequence[Position]
) -> Iterator[UnreadShard]:
    """The shards that a consumer reads now or later."""
    for table in tables:
        known = {(each.stream, each.shard): each for each in positions if each.table == table.table}
        labels = [stream_label(stream) for stream, _ in known]
        streams = [arn for arn in all_streams(db, table.table) if not labels or stream_label(arn) >= min(labels)]
        for stream in streams if known else streams[-1:]:
            for shard in TableStream(db, stream).shards():
                key = (stream, shard.shard_id or "")
                position = known.get(key)
                if position is None or not position.has_ended:
                    yield UnreadShard(*key, "" if position is None else position.sequence, _begin(table))


def _begin(table: TableProgress) -> datetime | None:
    """The time before which changes are not wanted.

    A consumer that begins now leaves out what exists, and has no position until the first change after that.
    """
    is_beginning = table.skips_before == table.begun_at - CLOCK_MARGIN
    return table.begun_at if is_beginning else table.skips_before


def count_backlog(db: ConsumerStore, shards: Iterable[UnreadShard]) -> Backlog:
    """Reads what is unread, and counts it."""
    records, oldest = 0, []
    for each in shards:
        reader = TableStream(db, each.stream).read(each.shard, each.after)
        first: datetime | None = None
        empty = 0
        while records < MAX_COUNTED and empty < EMPTY_PAGES and not reader.has_ended:
            page = reader.next_page()
            empty = 0 if page else empty + 1
            wanted = each.wanted(page)
            if wanted and first is None:
                first = written_at(wanted[0])
                oldest.append(first)
            records += len(wanted)
    return Backlog(records, min(oldest, default=None))


class BacklogWatch:
    """Finds the oldest unread record of a consumer again and again, with one small request for each shard at rest."""

    def __init__(self, db: ConsumerStore, timer: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._timer = timer
        self._readers: dict[tuple[str, str], _Reader] = {}
        self._list_at = 0.0

    def oldest(self, tables: Sequence[TableProgress], positions: Sequence[Position]) -> datetime | None:
        """When the oldest unread record was written; None if all are read."""
        at = {(each.stream, each.shard): each.sequence for each in positions if not each.has_ended}
        if self._must_list(at):
            listed = list(unread_shards(self._db, tables, positions))
            self._readers = {(each.stream, each.shard): _Reader(self._db, each) for each in listed}
            self._list_at = self._timer() + LIST_SECONDS
        ended = {(each.stream, each.shard) for each in positions if each.has_ended}
        found = [each.oldest(at.get(key, "")) for key, each in self._readers.items() if key not in ended]
        return min((each for each in found if each is not None), default=None)

    def is_still_empty(self) -> bool:
        """Whether no record was written since all were read: the cheapest look, one small request for each shard."""
        readers = list(self._readers.values())
        return bool(readers) and all(each.oldest_after_the_last() is None and not each.has_ended for each in readers)

    def _must_list(self, at: Mapping[tuple[str, str], str]) -> bool:
        """Whether there may be other shards than those that are known."""
        is_new = not self._readers or not self._readers.keys() >= at.keys()
        return is_new or self._timer() >= self._list_at or any(each.has_ended for each in self._readers.values())


class _Reader:
    """The first wanted record after a position that moves."""

    def __init__(self, db: ConsumerStore, shard: UnreadShard) -> None:
        self._shard = shard
        self._after = shard.after
        self._reader: ShardReader = TableStream(db, shard.stream).read(shard.shard, shard.after)
        self._oldest: datetime | None = None

    @property
    def has_ended(self) -> bool:
        return self._oldest is None and self._reader.has_ended

    def oldest_after_the_last(self) -> datetime | None:
        """As `oldest`, for a position that has not moved."""
        return self.oldest(self._after)

    def oldest(self, after: str) -> datetime | None:
        if after != self._after:
            self._after, self._oldest = after, None
            self._reader.rewind(after)
        while self._oldest is None:
            page = self._reader.next_page() if self._shard.since is not None else self._reader.next_page(limit=1)
            wanted = self._shard.wanted(page)
            if wanted:
                self._oldest = written_at(wanted[0])
            elif not page:
                break
        return self._oldest
