"""Runs a consumer: reads its changes in order, runs the handlers, and commits their effects with the position.

Effects and position are written in one transaction, and the position only if nobody else has moved it: a change takes
effect once, whatever fails. Several changes of different items share a transaction; where that fails, each half of them
is tried, down to single changes. A change that fails alone is parked in place of its effects, so that the others go on.
"""

import logging
import time
from collections.abc import Callable, Iterator
from datetime import datetime

from partita.consumers import state
from partita.consumers.administration import ConsumerAdministration
from partita.consumers.causes import Causes
from partita.consumers.consumer import MAX_PARALLEL, Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Checkpoint, Delivery, Recognition, written_at
from partita.consumers.faults import ConsumerFaults
from partita.consumers.handler_runs import HandlerRuns
from partita.consumers.handler_transaction import HandlerTransaction, TakenOver, Unavailable
from partita.consumers.initial_scan import TableScans
from partita.consumers.parking import Parking, describe
from partita.consumers.shards import OpenShard, TableShards
from partita.consumers.stream_pages import SharedPages
from partita.design.tables import Table
from partita.dynamodb.stream_shapes import Record
from partita.errors import PartitaError
from partita.store.store import Store

MAX_TOGETHER = 90  # changes in a transaction, where handlers are quick
REPORT_SECONDS = 60.0  # between two reports that a consumer triggers itself
MAX_SKIPPED = 1000  # records, until the position after them is stored at once
MAX_ACTIONS = 90  # in a transaction of several changes: DynamoDB takes 100, and invariants may add some

_NOT_RUN = object()
_log = logging.getLogger("partita.consumers")


class Interrupted(PartitaError):
    """A runner was stopped between two changes."""


class ConsumerRunner:
    """One consumer on a store, for one thread. `take_over` first, then `step` again and again.

    pages        Pages of streams that other consumers of this process read as well.
    parallel     How many slow handlers run at the same time.
    should_stop  Asked between changes: Interrupted is raised if it is true; all before it is done and stored.
    patience     For how many seconds the position after skipped records may wait for a change that is stored with it.
    faults       Faults that a test injects.
    causes       What the consumers of this process cause, to notice those that trigger each other without an end.
    """

    def __init__(
        self,
        db: Store,
        consumer: Consumer,
        timer: Callable[[], float] = time.monotonic,
        *,
        pages: SharedPages | None = None,
        parallel: int = 1,
        should_stop: Callable[[], bool] = lambda: False,
        patience: float = 0.0,
        faults: ConsumerFaults | None = None,
        causes: Causes | None = None,
    ) -> None:
        self.db = ConsumerStore(db)
        self.consumer = consumer
        self.parking = Parking(self.db, consumer, timer)
        self._should_stop = should_stop
        self._patience = patience
        self._together = MAX_TOGETHER if faults is None else 1
        self.causes = (Causes() if causes is None else causes).of(consumer)
        self._report_at = 0.0  # when it may be reported again that it triggers itself
        self._timer = timer
        if faults is None:
            self._runs = HandlerRuns(self.db, parallel, causes=self.causes)
        else:
            self._runs = HandlerRuns(self.db, 1, lambda: faults.deliveries(consumer.name), self.causes)
        tables = self.db.tables_of(consumer.name, consumer.tables)
        self._tables = [TableSources(self.db, consumer, each, timer, pages) for each in tables]

    def take_over(self) -> None:
        """Begins where the consumer stands; from now on, no other process can move it."""
        self.consumer.prepare(self.db)
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
        handled += self.parking.retry_due(self._runs.attempt, self._check_running)
        self.store_positions(self._patience)
        if self.causes.is_endless:
            self._report_endless()
        return handled

    def store_positions(self, patience: float = 0.0) -> None:
        """Stores the positions after skipped records that have waited for some seconds."""
        for shard in self._shards:
            if shard.has_waited(self._timer() - patience):
                shard.move(HandlerTransaction(self.db), None, 0)

    @property
    def has_unstored_positions(self) -> bool:
        """Whether a position waits: `step` stores it once the patience has ended."""
        return any(each.has_waited(self._timer()) for each in self._shards)

    @property
    def _shards(self) -> Iterator[OpenShard]:
        return (shard for table in self._tables for shard in table.shards.open)

    def close(self) -> None:
        self._runs.close()

    def _report_endless(self) -> None:
        """Logs and stores that the consumer triggers itself, once a minute."""
        causes = self.causes
        if self._timer() >= self._report_at:
            self._report_at = self._timer() + REPORT_SECONDS
            endless = "consumer %s triggers itself: %d changes in a row were caused by one another, the last of %s"
            _log.warning(endless, self.consumer.name, causes.deepest, causes.entity)
            for table in self.consumer.tables:
                with self.db.change(state.table_progress(self.consumer.name, table), system_change=True) as draft:
                    draft.endless_at, draft.endless_entity = self.db.now(), causes.entity
        causes.deepest = 0

    def _check_running(self) -> None:
        if self._should_stop():
            raise Interrupted(f"consumer {self.consumer.name} is stopped")

    def _step_shards(self, table: "TableSources") -> int:
        handled = 0
        for shard in table.shards.open:
            try:
                handled += self._handle_page(table, shard, shard.reader.next_page())
            except BaseException:
                shard.rewind()
                raise
        return handled

    def _handle_page(self, table: "TableSources", shard: OpenShard, records: list[Record]) -> int:
        if shard.reader.has_lost:
            shard.note_gap(self.db, written_at(records[0]) if records else self.db.now())
        begin, skips = table.shards.progress.skips_before, table.shards.progress.skips
        wanted = [each for each in records if begin is None or written_at(each) >= begin]
        found = [table.recognition.delivery(shard.position.shard, each) for each in wanted]
        changes = [each for each in found if each is not None and not _is_before(each, skips)]
        done = sum(shard.is_done(each) for each in changes) if shard.position.done else 0
        if done:
            changes = [each for each in changes if not shard.is_done(each)]
        deliveries = table.scans.admit(changes)
        self._handle_all(shard, deliveries)
        skipped = len(records) - done - sum(not each.is_scanned for each in deliveries)
        if records and (skipped or done):
            shard.skip(records[-1], skipped, self._timer())
        if done or shard.reader.has_ended or shard.skipped >= MAX_SKIPPED:
            shard.move(HandlerTransaction(self.db), None, 0)
        return len(records)

    def _handle_all(self, checkpoint: Checkpoint, deliveries: list[Delivery]) -> None:
        """Handles changes in their order, those of different items together."""
        done = 0
        while done < len(deliveries):
            done += self._handle_together(checkpoint, self._group(deliveries, done))

    def _group(self, deliveries: list[Delivery], start: int) -> list[Delivery]:
        """The next changes of different items, as many as are handled together."""
        together = self._together if self._runs.are_quick else min(self._together, MAX_PARALLEL)
        found: dict[str, Delivery] = {}
        for delivery in deliveries[start : start + together]:
            if delivery.item in found:
                break
            found[delivery.item] = delivery
        return list(found.values())

    def _handle_together(self, checkpoint: Checkpoint, deliveries: list[Delivery]) -> int:
        """Commits as many changes of different items together as fit; alone those that fail or wait.

        Returns how many it has handled: only the first ones, where the handlers take long.
        """
        self._check_running()
        free = [each for each in deliveries if not self.parking.holds(each.item)]
        outcomes = self._runs.outcomes(free)
        batch = _Batch(HandlerTransaction(self.db), [])
        for handled, delivery in enumerate(deliveries):
            outcome = None if self.parking.holds(delivery.item) else next(outcomes, _NOT_RUN)
            if outcome is _NOT_RUN:
                self._commit(checkpoint, batch)
                return handled
            if isinstance(outcome, HandlerTransaction) and batch.add(delivery, outcome):
                continue
            self._commit(checkpoint, batch)
            if isinstance(outcome, HandlerTransaction) and not outcome.reads:
                batch = _Batch(outcome, [delivery])
                continue
            # The commit before it may have changed what its handlers read, so they run again.
            error = outcome if isinstance(outcome, BaseException) and delivery is deliveries[0] else None
            self._handle_alone(checkpoint, delivery, error)
            batch = _Batch(HandlerTransaction(self.db), [])
        self._commit(checkpoint, batch)
        return len(deliveries)

    def _commit(self, checkpoint: Checkpoint, batch: "_Batch") -> None:
        """Commits changes together; each half of them if that fails."""
        if not batch.deliveries:
            return
        try:
            checkpoint.commit(batch.whole, batch.deliveries)
        except (TakenOver, Unavailable):
            raise
        except PartitaError:
            self._check_running()
            if len(batch.deliveries) == 1:
                self._handle_alone(checkpoint, batch.deliveries[0])
                return
            half = len(batch.deliveries) // 2
            self._handle_all(checkpoint, batch.deliveries[:half])
            self._handle_all(checkpoint, batch.deliveries[half:])

    def _handle_alone(self, checkpoint: Checkpoint, delivery: Delivery, error: BaseException | None = None) -> None:
        """Commits one change, or parks it: behind another change of its item, or after a failure."""
        if isinstance(error, Unavailable):
            raise error
        if error is None and not self.parking.holds(delivery.item):
            error = self._runs.attempt(delivery, lambda whole: checkpoint.commit(whole, [delivery]))
            if error is None:
                return
        if error is not None:
            _log.warning("consumer %s: %s failed: %s", self.consumer.name, delivery.change.id, describe(error))
        whole = HandlerTransaction(self.db)
        if error is not None and self.consumer.tries == 1:
            self.parking.give_up(whole, delivery, 1, error)
        else:
            self.parking.park(whole, delivery, error)
        checkpoint.commit(whole, [delivery])


def _is_before(delivery: Delivery, skips: dict[str, datetime]) -> bool:
    """Whether a change was written before the consumer has begun with its entity."""
    begin = skips.get(delivery.entity)
    return begin is not None and delivery.change.at < begin


class _Batch:
    """Changes of different items whose effects are committed together."""

    def __init__(self, whole: HandlerTransaction, deliveries: list[Delivery]) -> None:
        self.whole = whole
        self.deliveries = deliveries

    def add(self, delivery: Delivery, outcome: HandlerTransaction) -> bool:
        """Adds the effects of a change; false if they do not fit, or concern an item that is written already."""
        if self.whole.size + outcome.size > MAX_ACTIONS or not self.whole.include(outcome):
            return False
        self.deliveries.append(delivery)
        return True


class TableSources:
    """A table whose changes are handled: its shards, and the scans of items that existed before."""

    def __init__(
        self,
        db: ConsumerStore,
        consumer: Consumer,
        table: Table,
        timer: Callable[[], float],
        pages: SharedPages | None,
    ) -> None:
        self.name = table.name
        self.recognition = Recognition(consumer, table)
        self.shards = TableShards(db, consumer, table, timer, pages)
        self.scans = TableScans(db, consumer, self.recognition, table)
