"""Runs a consumer: reads its changes in order, runs the handlers, and commits their effects with the position.

Effects and position are written in one transaction, and the position only if nobody else has moved it: a change takes
effect once, whatever fails. Several changes of different items share a transaction; where that fails, each is tried
alone. A change that fails alone is parked in place of its effects, so that the others go on.
"""

import asyncio
import inspect
import logging
from collections.abc import Iterator
from typing import Any

from partita.consumers import state
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Delivery, Recognition, written_at
from partita.consumers.handler_transaction import HandlerTransaction, ReadChanged, TakenOver
from partita.consumers.parking import Parking
from partita.consumers.state import Position
from partita.consumers.stream_reader import ShardReader, TableStream
from partita.design.conditions import F
from partita.dynamodb.stream_shapes import Record
from partita.errors import ConditionFailed, PartitaError, RetriesExhausted
from partita.store.store import Store

MAX_TOGETHER = 25  # changes in a transaction
MAX_RUNS = 30  # of a handler whose reads have changed

_log = logging.getLogger("partita.consumers")


class _Shard:
    """A shard that is being read: its reader, and its position as it is stored."""

    def __init__(self, position: Position, reader: ShardReader, recognition: Recognition) -> None:
        self.position = position
        self.reader = reader
        self.recognition = recognition


class ConsumerRunner:
    """One consumer on a store, for one thread. `take_over` first, then `step` again and again."""

    def __init__(self, db: Store, consumer: Consumer) -> None:
        self.db = ConsumerStore(db)
        self.consumer = consumer
        self.parking = Parking(self.db, consumer)
        self._shards: list[_Shard] = []
        self._loop: asyncio.Runner | None = None

    def take_over(self) -> None:
        """Begins where the consumer stands; from now on, no other process can move it."""
        self._shards = [shard for table in self.consumer.tables for shard in self._open_shards(table)]
        self.parking.load()

    def step(self) -> int:
        """Handles one page of each shard, and the parked changes that are due; returns the number of changes."""
        handled = 0
        for shard in self._shards:
            if not shard.position.has_ended:
                handled += self._step_shard(shard)
        handled += self.parking.retry_due(self.attempt)
        return handled

    def close(self) -> None:
        if self._loop is not None:
            self._loop.close()

    def _open_shards(self, name: str) -> Iterator[_Shard]:
        stream = TableStream(self.db, name)
        table = next(each for each in self.db.design.tables if each.name == name)
        recognition = Recognition(self.consumer, table)
        for each in stream.shards():
            position = self._position(stream.arn, each.shard_id or "")
            yield _Shard(position, stream.read(position.shard, position.sequence), recognition)

    def _position(self, stream: str, shard: str) -> Position:
        """The stored position of a shard, taken over; a new one where the consumer begins."""
        now = self.db.now()
        begin = now if self.consumer.start == "now" else None
        with self.db.change(state.position(self.consumer.name, stream, shard), create=True) as draft:
            draft.epoch += 1
        found = self.db.one(state.position(self.consumer.name, stream, shard), consistent=True)
        if found.begun_at is None:
            with self.db.change(state.position(self.consumer.name, stream, shard)) as draft:
                draft.begun_at = now
                draft.skips_before = begin
            found = self.db.one(state.position(self.consumer.name, stream, shard), consistent=True)
        return found

    def _step_shard(self, shard: _Shard) -> int:
        records = shard.reader.next_page()
        waiting: list[Delivery] = []
        skipped = 0
        for record in records:
            delivery = self._delivery(shard, record)
            if delivery is None:
                skipped += 1
                continue
            if len(waiting) == MAX_TOGETHER or any(each.item == delivery.item for each in waiting):
                self._handle_together(shard, waiting)
                waiting = []
            waiting.append(delivery)
        if waiting:
            self._handle_together(shard, waiting)
        last = records[-1].dynamodb.sequence_number if records and records[-1].dynamodb else None
        if skipped or shard.reader.has_ended:
            self._move(shard, HandlerTransaction(self.db), last or shard.position.sequence, 0, skipped)
        return len(records)

    def _delivery(self, shard: _Shard, record: Record) -> Delivery | None:
        begin = shard.position.skips_before
        if begin is not None and written_at(record) < begin:
            return None
        return shard.recognition.delivery(shard.position.shard, record)

    def _handle_together(self, shard: _Shard, deliveries: list[Delivery]) -> None:
        """Commits as many changes together as fit; one after the other where they do not."""
        while deliveries:
            done = self._commit_prefix(shard, deliveries)
            if done == 0:
                self._handle_alone(shard, deliveries[0])
                done = 1
            deliveries = deliveries[done:]

    def _commit_prefix(self, shard: _Shard, deliveries: list[Delivery]) -> int:
        """The number of first changes that were committed together; 0 if the first must be tried alone."""
        whole = HandlerTransaction(self.db)
        count = 0
        for delivery in deliveries:
            if self.parking.holds(delivery.item):
                break
            try:
                whole.include(self.run_handlers(delivery))
            except Exception:  # noqa: BLE001 - it is tried alone, and reported then
                break
            count += 1
        if count == 0:
            return 0
        try:
            self._move(shard, whole, deliveries[count - 1].sequence, count)
        except TakenOver:
            raise
        except PartitaError:
            return 0
        return count

    def _handle_alone(self, shard: _Shard, delivery: Delivery) -> None:
        """Commits one change, or parks it: behind another change of its item, or after a failure."""
        if not self.parking.holds(delivery.item):
            error = self.attempt(delivery, lambda whole: self._move(shard, whole, delivery.sequence, 1))
            if error is None:
                return
            _log.warning("consumer %s: %s failed: %s", self.consumer.name, delivery.change.id, error)
        else:
            error = None
        whole = HandlerTransaction(self.db)
        self.parking.park(whole, delivery, error)
        self._move(shard, whole, delivery.sequence, 1)

    def attempt(self, delivery: Delivery, commit: Any) -> Exception | None:
        """Runs the handlers and commits; again while what they read changes. Returns the error of a failure."""
        try:
            for attempt in range(MAX_RUNS):
                transaction = self.run_handlers(delivery)
                try:
                    commit(transaction)
                except ReadChanged:
                    self.db.wait_after(attempt)
                    continue
                return None
        except TakenOver:
            raise
        except Exception as error:  # noqa: BLE001 - the change is tried again later
            return error
        return RetriesExhausted(type(delivery.change).__name__, MAX_RUNS)

    def run_handlers(self, delivery: Delivery) -> HandlerTransaction:
        transaction = HandlerTransaction(self.db)
        for handler in delivery.handlers:
            outcome = handler.function(delivery.change, transaction)
            if inspect.isawaitable(outcome):
                self._await(outcome)
        return transaction

    def _await(self, outcome: Any) -> None:
        if self._loop is None:
            self._loop = asyncio.Runner()

        async def wait() -> None:
            await outcome

        self._loop.run(wait())

    def _move(self, shard: _Shard, whole: HandlerTransaction, sequence: str, handled: int, skipped: int = 0) -> None:
        """Commits a transaction together with the position after it."""
        position = shard.position
        unmoved = (F.sequence == position.sequence) & (F.epoch == position.epoch)
        draft = whole.change(
            state.position(position.consumer, position.stream, position.shard), when=unmoved, system_change=True
        )
        draft.sequence = sequence
        draft.handled += handled
        draft.skipped += skipped
        has_ended = shard.reader.has_ended and not handled
        if has_ended:
            draft.has_ended = True
        try:
            whole.commit()
        except ConditionFailed as failed:
            if failed.entity == Position.__name__:
                raise TakenOver(self.consumer.name) from None
            raise
        position.sequence = sequence
        position.handled += handled
        position.skipped += skipped
        position.has_ended = has_ended
