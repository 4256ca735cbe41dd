"""Runs a consumer: reads its changes in order, runs the handlers, and commits their effects with the position.

Effects and position are written in one transaction, and the position only if nobody else has moved it: a change takes
effect once, whatever fails. Several changes of different items share a transaction; where that fails, each is tried
alone. A change that fails alone is parked in place of its effects, so that the others go on.
"""

import logging
import time
from collections.abc import Callable

from partita.consumers import state
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Delivery, written_at
from partita.consumers.handler_runs import HandlerRuns
from partita.consumers.handler_transaction import HandlerTransaction, TakenOver
from partita.consumers.parking import Parking
from partita.consumers.shards import OpenShard, TableShards
from partita.consumers.state import Position
from partita.design.conditions import F
from partita.dynamodb.stream_shapes import Record
from partita.errors import ConditionFailed, PartitaError
from partita.store.store import Store

MAX_TOGETHER = 25  # changes in a transaction

_log = logging.getLogger("partita.consumers")


class ConsumerRunner:
    """One consumer on a store, for one thread. `take_over` first, then `step` again and again."""

    def __init__(self, db: Store, consumer: Consumer, timer: Callable[[], float] = time.monotonic) -> None:
        self.db = ConsumerStore(db)
        self.consumer = consumer
        self.parking = Parking(self.db, consumer, timer)
        self._runs = HandlerRuns(self.db)
        tables = {each.name: each for each in self.db.design.tables}
        self._tables = [TableShards(self.db, consumer, tables[name], timer) for name in consumer.tables]

    def take_over(self) -> None:
        """Begins where the consumer stands; from now on, no other process can move it."""
        for table in self._tables:
            table.take_over()
        self.parking.load()

    def step(self) -> int:
        """Handles one page of each shard, and the parked changes that are due; returns the number of changes."""
        handled = 0
        for table in self._tables:
            handled += sum(self._step_shard(table, shard) for shard in table.open)
            while table.refresh_in_time():
                self.parking.load()  # another process may have parked changes of the new shards
                handled += sum(self._step_shard(table, shard) for shard in table.open)
        handled += self.parking.retry_due(self._runs.attempt)
        return handled

    def close(self) -> None:
        self._runs.close()

    def _step_shard(self, table: TableShards, shard: OpenShard) -> int:
        try:
            return self._handle_page(table, shard, shard.reader.next_page())
        except BaseException:
            shard.reader.rewind(shard.position.sequence)
            raise

    def _handle_page(self, table: TableShards, shard: OpenShard, records: list[Record]) -> int:
        if shard.reader.has_lost:
            self._note_gap(shard, records)
        waiting: list[Delivery] = []
        skipped = 0
        for record in records:
            delivery = self._delivery(table, shard, record)
            if delivery is None:
                skipped += 1
                continue
            if len(waiting) == MAX_TOGETHER or any(each.item == delivery.item for each in waiting):
                self._handle_together(shard, waiting)
                waiting = []
            waiting.append(delivery)
        if waiting:
            self._handle_together(shard, waiting)
        if skipped or shard.reader.has_ended:
            self._move(shard, HandlerTransaction(self.db), records[-1] if records else None, 0, skipped)
        return len(records)

    def _note_gap(self, shard: OpenShard, records: list[Record]) -> None:
        """Reports that changes were deleted before they were read, and stores it."""
        position = shard.position
        before = written_at(records[0]) if records else self.db.now()
        _log.error(
            "consumer %s: changes of table %s between %s and %s were perhaps deleted before they were read; "
            "DynamoDB stores them for 24 hours",
            self.consumer.name,
            position.table,
            position.at or "the beginning",
            before,
        )
        whole = HandlerTransaction(self.db)
        draft = self._draft(shard, whole)
        draft.gaps += 1
        draft.lost_after, draft.lost_before = position.at, before
        self._commit(whole)
        position.gaps += 1
        position.lost_after, position.lost_before = position.at, before
        shard.reader.has_lost = False

    def _delivery(self, table: TableShards, shard: OpenShard, record: Record) -> Delivery | None:
        begin = table.progress.skips_before
        if begin is not None and written_at(record) < begin:
            return None
        return shard.recognition.delivery(shard.position.shard, record)

    def _handle_together(self, shard: OpenShard, deliveries: list[Delivery]) -> None:
        """Commits as many changes together as fit; one after the other where they do not."""
        while deliveries:
            done = self._commit_prefix(shard, deliveries)
            if done == 0:
                self._handle_alone(shard, deliveries[0])
                done = 1
            deliveries = deliveries[done:]

    def _commit_prefix(self, shard: OpenShard, deliveries: list[Delivery]) -> int:
        """The number of first changes that were committed together; 0 if the first must be tried alone."""
        whole = HandlerTransaction(self.db)
        count = 0
        for delivery in deliveries:
            if self.parking.holds(delivery.item):
                break
            try:
                whole.include(self._runs.run(delivery))
            except Exception:  # noqa: BLE001 - it is tried alone, and reported then
                break
            count += 1
        if count == 0:
            return 0
        try:
            self._move(shard, whole, deliveries[count - 1].record, count)
        except TakenOver:
            raise
        except PartitaError:
            return 0
        return count

    def _handle_alone(self, shard: OpenShard, delivery: Delivery) -> None:
        """Commits one change, or parks it: behind another change of its item, or after a failure."""
        if not self.parking.holds(delivery.item):
            error = self._runs.attempt(delivery, lambda whole: self._move(shard, whole, delivery.record, 1))
            if error is None:
                return
            _log.warning("consumer %s: %s failed: %s", self.consumer.name, delivery.change.id, error)
        else:
            error = None
        whole = HandlerTransaction(self.db)
        self.parking.park(whole, delivery, error)
        self._move(shard, whole, delivery.record, 1)

    def _move(
        self, shard: OpenShard, whole: HandlerTransaction, last: Record | None, handled: int, skipped: int = 0
    ) -> None:
        """Commits a transaction together with the position after a record, or after all if the shard has ended."""
        position = shard.position
        stored = None if last is None else last.dynamodb
        sequence = position.sequence if stored is None else stored.sequence_number or ""
        at = position.at if last is None else written_at(last)
        has_ended = shard.reader.has_ended and not handled
        draft = self._draft(shard, whole)
        draft.sequence, draft.at = sequence, at
        draft.handled += handled
        draft.skipped += skipped
        if has_ended:
            draft.has_ended = True
        self._commit(whole)
        position.sequence, position.at = sequence, at
        position.handled += handled
        position.skipped += skipped
        position.has_ended = has_ended

    def _draft(self, shard: OpenShard, whole: HandlerTransaction) -> Position:
        """A change of a position, if no other process has moved it."""
        position = shard.position
        unmoved = (F.sequence == position.sequence) & (F.epoch == position.epoch)
        get = state.position(position.consumer, position.stream, position.shard)
        return whole.change(get, when=unmoved, system_change=True)

    def _commit(self, whole: HandlerTransaction) -> None:
        try:
            whole.commit()
        except ConditionFailed as failed:
            if failed.entity == Position.__name__:
                raise TakenOver(self.consumer.name) from None
            raise
