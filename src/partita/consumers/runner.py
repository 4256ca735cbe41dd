"""Runs a consumer: reads its changes in order, runs the handlers, and commits their effects with the position.

Effects and position are written in one transaction, and the position only if nobody else has moved it: a change takes
effect once, whatever fails. Several changes of different items share a transaction; where that fails, each is tried
alone. A change that fails alone is parked in place of its effects, so that the others go on.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime

from partita.consumers.administration import ConsumerAdministration
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Checkpoint, Delivery, Recognition, written_at
from partita.consumers.handler_runs import HandlerRuns
from partita.consumers.handler_transaction import HandlerTransaction, TakenOver
from partita.consumers.initial_scan import TableScans
from partita.consumers.parking import Parking
from partita.consumers.shards import OpenShard, TableShards
from partita.design.tables import Table
from partita.dynamodb.stream_shapes import Record
from partita.errors import PartitaError
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
        self._tables = [_Table(self.db, consumer, tables[name], timer) for name in consumer.tables]

    def take_over(self) -> None:
        """Begins where the consumer stands; from now on, no other process can move it."""
        for table in self._tables:
            table.shards.take_over()
            since = table.shards.progress.replay_since
            if since is not None:
                table.shards.set_back()
                self.parking.drop_since(table.name, since)
                table.shards.end_replay(since)
            table.scans.take_over()
            table.shards.refresh()
        self.parking.load()

    def replay(self, since: datetime) -> None:
        """Handles all changes since a time again, as `ConsumerAdministration.replay`, and takes the consumer over."""
        ConsumerAdministration(self.db, self.consumer.name).replay(since)
        self.take_over()

    def step(self) -> int:
        """Handles one page of each shard and scan, and the parked changes that are due; returns how many."""
        handled = 0
        for table in self._tables:
            handled += table.scans.step(self._handle_all)
            handled += self._step_shards(table)
            while table.shards.refresh_in_time():
                self.parking.load()  # another process may have parked changes of the new shards
                handled += self._step_shards(table)
        handled += self.parking.retry_due(self._runs.attempt)
        return handled

    def close(self) -> None:
        self._runs.close()

    def _step_shards(self, table: "_Table") -> int:
        handled = 0
        for shard in table.shards.open:
            try:
                handled += self._handle_page(table, shard, shard.reader.next_page())
            except BaseException:
                shard.reader.rewind(shard.position.sequence)
                raise
        return handled

    def _handle_page(self, table: "_Table", shard: OpenShard, records: list[Record]) -> int:
        if shard.reader.has_lost:
            shard.note_gap(self.db, written_at(records[0]) if records else self.db.now())
        begin = table.shards.progress.skips_before
        wanted = [each for each in records if begin is None or written_at(each) >= begin]
        found = [table.recognition.delivery(shard.position.shard, each) for each in wanted]
        deliveries = table.scans.admit([each for each in found if each is not None])
        self._handle_all(shard, deliveries)
        skipped = len(records) - sum(not each.is_scanned for each in deliveries)
        if skipped or shard.reader.has_ended:
            shard.move(HandlerTransaction(self.db), records[-1] if records else None, 0, skipped)
        return len(records)

    def _handle_all(self, checkpoint: Checkpoint, deliveries: list[Delivery]) -> None:
        """Handles changes in their order, those of different items together."""
        waiting: list[Delivery] = []
        for delivery in deliveries:
            if len(waiting) == MAX_TOGETHER or any(each.item == delivery.item for each in waiting):
                self._handle_together(checkpoint, waiting)
                waiting = []
            waiting.append(delivery)
        self._handle_together(checkpoint, waiting)

    def _handle_together(self, checkpoint: Checkpoint, deliveries: list[Delivery]) -> None:
        """Commits as many changes together as fit; one after the other where they do not."""
        while deliveries:
            done = self._commit_prefix(checkpoint, deliveries)
            if done == 0:
                self._handle_alone(checkpoint, deliveries[0])
                done = 1
            deliveries = deliveries[done:]

    def _commit_prefix(self, checkpoint: Checkpoint, deliveries: list[Delivery]) -> int:
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
            checkpoint.commit(whole, deliveries[:count])
        except TakenOver:
            raise
        except PartitaError:
            return 0
        return count

    def _handle_alone(self, checkpoint: Checkpoint, delivery: Delivery) -> None:
        """Commits one change, or parks it: behind another change of its item, or after a failure."""
        error = None
        if not self.parking.holds(delivery.item):
            error = self._runs.attempt(delivery, lambda whole: checkpoint.commit(whole, [delivery]))
            if error is None:
                return
            _log.warning("consumer %s: %s failed: %s", self.consumer.name, delivery.change.id, error)
        whole = HandlerTransaction(self.db)
        self.parking.park(whole, delivery, error)
        checkpoint.commit(whole, [delivery])


class _Table:
    """A table whose changes are handled: its shards, and the scans of items that existed before."""

    def __init__(self, db: ConsumerStore, consumer: Consumer, table: Table, timer: Callable[[], float]) -> None:
        self.name = table.name
        self.recognition = Recognition(consumer, table)
        self.shards = TableShards(db, consumer, table, timer)
        self.scans = TableScans(db, consumer, self.recognition, table)
