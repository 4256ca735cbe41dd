"""The shards of a table's streams, in their order.

A shard is read once its parent has been read to its end: an item that was written before and after a split has its
first changes in the parent. A stream that was disabled and enabled again is a new stream; it is read once all shards of
the earlier ones have ended.

    stream A   [shard 1]──┬──[shard 2]            disabled: its last shards end
                          └──[shard 3]
    stream B                          [shard 4 ...
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from partita.consumers import state
from partita.consumers.consumer import Consumer, Start
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Delivery, written_at
from partita.consumers.handler_transaction import HandlerTransaction, TakenOver
from partita.consumers.initial_scan import new_scan
from partita.consumers.state import Host, Position, ScannedItem, TableProgress
from partita.consumers.stream_pages import SharedPages
from partita.consumers.stream_reader import ShardReader, TableStream, all_streams, latest_stream, stream_label
from partita.design.conditions import F
from partita.design.tables import Table
from partita.dynamodb.stream_shapes import Record, Shard
from partita.errors import AlreadyExists, ConditionFailed, ConfigurationError, NotFound

REFRESH_SECONDS = 60.0  # between two looks for new shards; an ended shard is followed by one at once
REFRESH_SECONDS_WITHOUT_SHARDS = 5.0
LOOK_SECONDS = 5.0  # between two looks whether a replay was ordered
CLOCK_MARGIN = timedelta(minutes=2)  # DynamoDB Local records whole minutes, and clocks differ

Key = tuple[str, str]  # a stream, and a shard of it

_log = logging.getLogger("partita.consumers")


def check_host(progress: TableProgress, host: Host) -> None:
    """Rejects a second host of a consumer: each stores its progress in its own way, so both would handle a change."""
    if progress.host != host:
        places = {"worker": "a worker", "lambda": "AWS Lambda"}
        raise ConfigurationError(
            f"consumer {progress.consumer} has run in {places[progress.host]}, and cannot go on in {places[host]}; "
            "use another name for it"
        )


class OpenShard:
    """A shard that is being read: its reader, and its position as it is stored."""

    def __init__(self, position: Position, reader: ShardReader) -> None:
        self.position = position
        self.reader = reader
        self.skipped = 0  # records whose position is not stored
        self._skipped_to: Record | None = None
        self._skipped_at = 0.0

    def skip(self, last: Record, records: int, at: float) -> None:
        """Notes that all records up to one need nothing more; the next commit stores the position after it."""
        if self._skipped_to is None:
            self._skipped_at = at
        self._skipped_to = last
        self.skipped += records

    def has_waited(self, since: float) -> bool:
        """Whether the position after skipped records waits since a time, or longer."""
        return self._skipped_to is not None and self._skipped_at <= since

    def rewind(self) -> None:
        """Reads on after the stored position."""
        self._skipped_to, self.skipped = None, 0
        self.reader.rewind(self.position.sequence)

    def commit(self, whole: HandlerTransaction, deliveries: Sequence[Delivery]) -> None:
        """Commits a transaction together with the position after some changes."""
        for each in deliveries:
            if each.note is not None:
                each.note(whole)
        moved = [each.record for each in deliveries if not each.is_scanned]
        self.move(whole, moved[-1] if moved else None, len(deliveries))

    def move(self, whole: HandlerTransaction, last: Record | None, handled: int, skipped: int = 0) -> None:
        """Commits a transaction together with the position after a record, or after those that were skipped."""
        position = self.position
        last, skipped = last or self._skipped_to, skipped + self.skipped
        stored = None if last is None else last.dynamodb
        sequence = position.sequence if stored is None else stored.sequence_number or ""
        at = position.at if last is None else written_at(last)
        has_ended = self.reader.has_ended and not handled
        draft = self._draft(whole)
        draft.sequence, draft.at = sequence, at
        draft.handled += handled
        draft.skipped += skipped
        is_caught_up = bool(position.done) and all(
            _number(each) <= _number(sequence) for each in position.done.values()
        )
        if is_caught_up:
            draft.done = {}
        if has_ended:
            draft.has_ended = True
        self._commit(whole)
        if is_caught_up:
            position.done = {}
        position.sequence, position.at = sequence, at
        position.handled += handled
        position.skipped += skipped
        position.has_ended = has_ended
        self._skipped_to, self.skipped = None, 0

    def is_done(self, delivery: Delivery) -> bool:
        """Whether a change was handled before the shard was read again for other entities."""
        return _number(self.position.done.get(delivery.entity, "")) >= _number(delivery.sequence)

    def note_gap(self, db: ConsumerStore, before: datetime) -> None:
        """Reports that changes were perhaps deleted before they were read, and stores it."""
        position = self.position
        _log.error(
            "consumer %s: changes of table %s between %s and %s were perhaps deleted before they were read; "
            "DynamoDB stores them for 24 hours",
            position.consumer,
            position.table,
            position.at or "the beginning",
            before,
        )
        whole = HandlerTransaction(db)
        draft = self._draft(whole)
        draft.gaps += 1
        draft.lost_after, draft.lost_before = position.at, before
        self._commit(whole)
        position.gaps += 1
        position.lost_after, position.lost_before = position.at, before
        self.reader.has_lost = False

    def _draft(self, whole: HandlerTransaction) -> Position:
        """A change of the position, if no other process has moved it."""
        position = self.position
        unmoved = (F.sequence == position.sequence) & (F.epoch == position.epoch)
        get = state.position(position.consumer, position.stream, position.shard)
        return whole.change(get, when=unmoved, system_change=True)

    def _commit(self, whole: HandlerTransaction) -> None:
        whole.commit_as_owner(self.position.consumer, Position, ScannedItem)


class TableShards:
    """The shards of one table for one consumer; `open` are those that are read now."""

    def __init__(
        self,
        db: ConsumerStore,
        consumer: Consumer,
        table: Table,
        timer: Callable[[], float] = time.monotonic,
        pages: SharedPages | None = None,
    ) -> None:
        self._db = db
        self._consumer = consumer
        self._table = table
        self._timer = timer
        self._pages = pages
        self._refresh_at = 0.0
        self._look_at = 0.0
        self._get_progress = state.table_progress(consumer.name, table.name)
        self._ended: set[Key] = set()
        self.progress = TableProgress(consumer=consumer.name, table=table.name, begun_at=db.now())
        self.open: list[OpenShard] = []

    def take_over(self) -> None:
        """Notes where the consumer stands, or where it begins; `refresh` opens its shards."""
        self.open, self._ended = [], set()
        if self._find_progress():
            self._cover_entities()
        else:
            self._begin()

    def set_back(self) -> None:
        """Sets all positions back to the oldest record; `end_replay` notes that a replay has begun."""
        for key in self._known_positions():
            found = self._take(*key)
            with self._db.change(state.position(found.consumer, *key), when=F.epoch == found.epoch) as draft:
                draft.sequence, draft.begin, draft.at, draft.has_ended, draft.done = "", "", None, False, {}

    def end_replay(self, since: datetime) -> None:
        with self._db.change(self._get_progress, system_change=True) as draft:
            draft.skips_before, draft.replay_since = since, None
        self.progress.skips_before, self.progress.replay_since = since, None

    def refresh_in_time(self) -> bool:
        """Looks for new shards when one has ended, and now and then; true if some were opened."""
        ended = [each for each in self.open if each.position.has_ended]
        if not ended and self._timer() < self._refresh_at:
            if self._timer() >= self._look_at:
                self._look_at = self._timer() + LOOK_SECONDS
                self._check_owner(self._known_positions())
            return False
        self.open = [each for each in self.open if not each.position.has_ended]
        self._ended |= {(each.position.stream, each.position.shard) for each in ended}
        return self.refresh()

    def refresh(self) -> bool:
        """Opens the shards whose parents have ended; true if there are new ones."""
        known = self._known_positions()
        self._check_owner(known)
        self._ended |= {key for key, each in known.items() if each.has_ended}
        is_open = {(each.position.stream, each.position.shard) for each in self.open}
        listed: set[Key] = set()
        before = len(self.open)
        for stream in self._streams(known):
            shards = stream.shards()
            keys = [(stream.arn, each.shard_id or "") for each in shards]
            listed.update(keys)
            # A shard that has expired is opened, too: its reader reports what was lost.
            expired = [key for key in known if key[0] == stream.arn and key not in keys]
            for key in (*expired, *self._ready(stream, shards)):
                if key not in self._ended and key not in is_open:
                    self.open.append(self._opened(stream, key))
            if not self._ended.issuperset((*expired, *keys)):
                break  # later streams wait
        self._forget(known, listed)
        pause = REFRESH_SECONDS if self.open else REFRESH_SECONDS_WITHOUT_SHARDS
        self._refresh_at = self._timer() + pause
        self._look_at = self._timer() + LOOK_SECONDS
        return len(self.open) > before

    def _check_owner(self, known: dict[Key, Position]) -> None:
        """Raises TakenOver if another process has taken over an open shard, or a replay was ordered."""
        for each in self.open:
            found = known.get((each.position.stream, each.position.shard))
            if found is None or found.epoch != each.position.epoch:
                raise TakenOver(self._consumer.name)

    def _ready(self, stream: TableStream, shards: list[Shard]) -> Iterator[Key]:
        """The shards whose parent has ended, or is not known any more."""
        ids = {each.shard_id for each in shards}
        for each in shards:
            if each.parent_shard_id not in ids or (stream.arn, each.parent_shard_id or "") in self._ended:
                yield stream.arn, each.shard_id or ""

    def _streams(self, known: dict[Key, Position]) -> list[TableStream]:
        """The streams from the first one on that the consumer has begun with, the oldest first."""
        if not known:
            return [self._stream(latest_stream(self._db, self._table.name))]
        first = min(stream_label(arn) for arn, _ in known)
        arns = {arn for arn in all_streams(self._db, self._table.name) if stream_label(arn) >= first}
        arns |= {arn for (arn, _), position in known.items() if not position.has_ended}
        return [self._stream(arn) for arn in sorted(arns, key=stream_label)]

    def _stream(self, arn: str) -> TableStream:
        return TableStream(self._db, arn, self._pages)

    def _known_positions(self) -> dict[Key, Position]:
        found = self._db(state.positions(self._consumer.name), consistent=True)
        return {(each.stream, each.shard): each for each in found if each.table == self._table.name}

    def _opened(self, stream: TableStream, key: Key) -> OpenShard:
        position = self._take(*key)
        opened = OpenShard(position, stream.read(position.shard, position.sequence))
        if position.begin and not position.sequence:
            opened.reader.start_at(position.begin)
        return opened

    def _take(self, stream: str, shard: str) -> Position:
        """The stored position of a shard, taken over; a new one is before the first record."""
        get = state.position(self._consumer.name, stream, shard)
        while True:
            found = self._db.get(get, consistent=True)
            try:
                if found is None:
                    return self._db.create(self._position(stream, shard))
                with self._db.change(get, when=F.epoch == found.epoch) as draft:
                    draft.epoch = found.epoch + 1
            except (AlreadyExists, ConditionFailed, NotFound):
                continue  # another process takes it over, too
            return msgspec.structs.replace(found, epoch=found.epoch + 1)

    def _position(self, stream: str, shard: str, *, has_ended: bool = False) -> Position:
        consumer, table = self._consumer.name, self._table.name
        return Position(consumer=consumer, stream=stream, shard=shard, table=table, epoch=1, has_ended=has_ended)

    def _find_progress(self) -> bool:
        found = self._db.get(self._get_progress, consistent=True)
        if found is not None:
            check_host(found, "worker")
            self.progress = found
        return found is not None

    def _begin(self) -> None:
        """Notes where a new consumer begins."""
        now, name, starts = self._db.now(), self._consumer.name, self._consumer.starts_of(self._table.name)
        self.progress = TableProgress(consumer=name, table=self._table.name, begun_at=now, entities=sorted(starts))
        if "oldest" in starts.values():
            self.progress.skips = _skips(starts, now)
        else:
            self.progress.skips_before = now - CLOCK_MARGIN
            self._begin_now()
        whole = HandlerTransaction(self._db)
        whole.create(self.progress)
        self._add_scan(whole, starts)
        try:
            whole.commit()
        except AlreadyExists:
            self._find_progress()

    def _cover_entities(self) -> None:
        """Begins with the entities whose first handlers were added to a consumer that has run before."""
        found, starts = self.progress, self._consumer.starts_of(self._table.name)
        if missing := set(found.entities) - starts.keys():
            absent = "consumer %s has handled changes of %s before, and has no handler of them now: they are skipped"
            _log.warning(absent, self._consumer.name, ", ".join(sorted(missing)))
        added = {name: start for name, start in starts.items() if name not in found.entities}
        if not added:
            return
        if "oldest" in added.values():
            self._read_again(found.entities)
        whole = HandlerTransaction(self._db)
        draft = whole.change(self._get_progress, when=F.entities == found.entities, system_change=True)
        draft.entities = sorted({*found.entities, *added})
        draft.skips = found.skips | {
            name: at for name, at in _skips(added, self._db.now()).items() if added[name] == "now"
        }
        self._add_scan(whole, added)
        with suppress(ConditionFailed):  # another process has noted them
            whole.commit()
        self._find_progress()

    def _add_scan(self, whole: HandlerTransaction, starts: dict[str, Start]) -> None:
        entities = sorted(name for name, start in starts.items() if start == "scan")
        if entities:
            whole.create(new_scan(self._consumer.name, self._table.name, entities, self._db.now()))

    def _read_again(self, done: list[str]) -> None:
        """Sets the positions back to the oldest record, for entities other than those whose changes are done."""
        known = self._known_positions()
        listed = {(each.arn, shard.shard_id or "") for each in self._streams(known) for shard in each.shards()}
        for key in known.keys() & listed:
            found = self._take(*key)
            last = {name: max(found.done.get(name, ""), found.sequence, key=_number) for name in done}
            with self._db.change(state.position(found.consumer, *key), when=F.epoch == found.epoch) as draft:
                draft.done = {name: sequence for name, sequence in last.items() if sequence}
                draft.sequence, draft.begin, draft.at, draft.has_ended = "", "", None, False

    def _begin_now(self) -> None:
        """Opens the last shards after their present records; the others are not read."""
        stream = self._stream(latest_stream(self._db, self._table.name))
        shards = stream.shards()
        parents = {each.parent_shard_id for each in shards}
        for each in shards:
            shard = each.shard_id or ""
            if each.shard_id in parents:
                self._ended.add((stream.arn, shard))
                self._note_ended(stream.arn, shard)
                continue
            opened = self._opened(stream, (stream.arn, shard))
            if not opened.position.sequence and not opened.position.begin:
                self._store_begin(opened)
            self.open.append(opened)

    def _store_begin(self, opened: OpenShard) -> None:
        """Stores where a shard begins, so that a process that takes over begins there, too."""
        position, iterator = opened.position, opened.reader.iterator_of_now()
        get = state.position(position.consumer, position.stream, position.shard)
        with self._db.change(get, when=F.epoch == position.epoch, system_change=True) as draft:
            draft.begin = iterator
        position.begin = iterator
        opened.reader.start_at(iterator)

    def _note_ended(self, stream: str, shard: str) -> None:
        with suppress(AlreadyExists):  # another process has begun at the same time
            self._db.create(self._position(stream, shard, has_ended=True))

    def _forget(self, known: dict[Key, Position], listed: set[Key]) -> None:
        """Deletes the positions of ended shards that DynamoDB does not list any more."""
        if not listed:
            return
        last = max(stream_label(arn) for arn, _ in listed)
        for key, position in known.items():
            if key in listed or not position.has_ended or stream_label(position.stream) > last:
                continue
            whole = HandlerTransaction(self._db)
            whole.delete(state.position(position.consumer, position.stream, position.shard))
            draft = whole.change(state.table_progress(position.consumer, position.table), system_change=True)
            draft.handled += position.handled
            draft.skipped += position.skipped
            draft.gaps += position.gaps
            whole.commit()


def _skips(starts: dict[str, Start], now: datetime) -> dict[str, datetime]:
    """The times before which changes of entities are not handled."""
    return {name: now - CLOCK_MARGIN for name, start in starts.items() if start != "oldest"}


def _number(sequence: str) -> int:
    return int(sequence or 0)
