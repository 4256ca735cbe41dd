"""Runs a consumer of batches: each page is applied to its sink, and then the position moves."""

from typing import Any

from partita.consumers import state
from partita.consumers.administration import reset
from partita.consumers.batch_consumer import BatchConsumer
from partita.consumers.consumer import Consumer
from partita.consumers.delivery import SEQUENCE_DIGITS, Checkpoint, Delivery, written_at
from partita.consumers.handler_transaction import HandlerTransaction
from partita.consumers.runner import ConsumerRunner, TableSources
from partita.consumers.shards import OpenShard
from partita.consumers.state import Position, ScanProgress
from partita.dynamodb.stream_shapes import Record
from partita.store.store import Store


def runner_of(db: Store, consumer: Consumer, **options: Any) -> ConsumerRunner:
    """The runner of a consumer; the options are those of `ConsumerRunner`."""
    if isinstance(consumer, BatchConsumer):
        return BatchRunner(db, consumer, **options)
    return ConsumerRunner(db, consumer, **options)


class BatchRunner(ConsumerRunner):
    """One consumer of batches on a store, for one thread."""

    def __init__(self, db: Store, consumer: BatchConsumer, **options: Any) -> None:
        super().__init__(db, consumer, **options)
        self._sink = consumer.open_sink(db)
        self._is_finished = False

    def take_over(self) -> None:
        """Begins where the consumer stands; with a scan, if the sink does not have what was done before."""
        super().take_over()
        self._is_finished = False
        scans, positions = self._stored_scans(), self._stored_positions()
        standing = {_source(each): padded(each.sequence) for each in positions}
        if self._sink.accepts(_named(scans), standing):
            return
        if not self._is_new(scans, positions):
            reset(self.db, self.consumer.name)
            super().take_over()
        self._sink.begin(_named(self._stored_scans()))

    def step(self) -> int:
        handled = super().step()
        if not self._is_finished and all(table.scans.are_done for table in self._tables):
            self._sink.finish()
            self._is_finished = True
        return handled

    def _handle_all(self, checkpoint: Checkpoint, deliveries: list[Delivery]) -> None:
        """Applies a page of a scan."""
        if deliveries:
            self._sink.apply(deliveries)
            checkpoint.commit(HandlerTransaction(self.db), deliveries)

    def _handle_page(self, table: TableSources, shard: OpenShard, records: list[Record]) -> int:
        self._check_running()
        if shard.reader.has_lost:
            shard.note_gap(self.db, written_at(records[0]) if records else self.db.now())
        if not records and not shard.reader.has_ended:
            return 0
        begin = table.shards.progress.skips_before
        wanted = [each for each in records if begin is None or written_at(each) >= begin]
        found = [table.recognition.delivery(shard.position.shard, each) for each in wanted]
        deliveries = [each for each in found if each is not None]
        if records:
            stored = records[-1].dynamodb
            after = "" if stored is None else stored.sequence_number or ""
            before = padded(shard.position.sequence)
            self._sink.apply_page(deliveries, _source(shard.position), before, padded(after))
        last = records[-1] if records else None
        shard.move(HandlerTransaction(self.db), last, len(deliveries), len(records) - len(deliveries))
        return len(records)

    def _stored_scans(self) -> list[ScanProgress]:
        name = self.consumer.name
        return [each for table in self._tables for each in self.db(state.scans(name, table.name), consistent=True)]

    def _stored_positions(self) -> list[Position]:
        return list(self.db(state.positions(self.consumer.name), consistent=True))

    def _is_new(self, scans: list[ScanProgress], positions: list[Position]) -> bool:
        """Whether nothing is done yet: all that exists will be delivered."""
        has_scans = {each.table for each in scans} == {table.name for table in self._tables}
        is_untouched = all(not each.cursor and each.done_at is None and not each.delivered for each in scans)
        return has_scans and is_untouched and not any(each.sequence for each in positions)


def padded(sequence: str) -> str:
    """A sequence number with as many digits as any other, so that text order is its order; "" is before all."""
    return sequence.zfill(SEQUENCE_DIGITS) if sequence else ""


def _source(position: Position) -> str:
    return f"{position.stream}/{position.shard}"


def _named(scans: list[ScanProgress]) -> str:
    return " ".join(sorted(each.scan for each in scans))
