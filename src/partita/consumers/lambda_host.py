"""Runs a consumer in AWS Lambda, which reads the stream and calls a function with a batch of records.

There is neither a position nor a lease: Lambda repeats a batch from its first failure on. So the transaction of each
change also writes "done up to this sequence number" for its item, if that was lower. A change that was done before is
recognised, and a late repetition changes nothing. Failed tries are counted in the same place.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import msgspec

from partita.consumers import state
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Delivery, Recognition
from partita.consumers.handler_runs import FAILURES, HandlerRuns
from partita.consumers.handler_transaction import HandlerTransaction, TakenOver, Unavailable
from partita.consumers.parking import Parking, describe
from partita.consumers.shards import check_host
from partita.consumers.state import ItemProgress, TableProgress
from partita.design.conditions import F
from partita.dynamodb.stream_shapes import Record
from partita.errors import AlreadyExists, ConfigurationError, PartitaError
from partita.store.store import Store

MAX_TOGETHER = 25  # changes in a transaction
MAX_ACTIONS = 90  # in a transaction of several changes: DynamoDB takes 100, and invariants may add some
KEEP_PROGRESS = timedelta(days=7)  # longer than a stream stores its records, which is a day
MAX_ATTEMPTS = 3  # to write the progress of an item that others write, too

_log = logging.getLogger("partita.consumers")


def lambda_handler(consumer: Consumer, db: Store) -> Callable[[dict[str, Any], object], dict[str, Any]]:
    """A function for AWS Lambda: it takes the event of a DynamoDB stream, and returns the records that failed.

    Connect outside the function, and use the result as its handler:

        handler = lambda_handler(notifications, connect("dynamodb://", design))

    A failed change is reported as a partial batch failure, and Lambda calls again. After the last of the consumer's
    `tries` it becomes a dead letter, and the later changes of its item continue, or are held, as declared.
    """
    if "scan" in (consumer.start, *(each.start for each in consumer.handlers)):
        raise ConfigurationError(
            f'consumer {consumer.name}: start="scan" needs a worker; '
            "in AWS Lambda, the event source mapping sets where to begin"
        )
    return LambdaHost(consumer, db)


class LambdaHost:
    """One consumer as a function of AWS Lambda."""

    def __init__(self, consumer: Consumer, db: Store) -> None:
        self._consumer = consumer
        self._db = ConsumerStore(db)
        self._parking = Parking(self._db, consumer)
        self._runs = HandlerRuns(self._db)
        self._has_begun = False
        self._counts: Counter[tuple[str, str]] = Counter()  # of one call: by table, and what is counted
        self._recognitions = {
            self._db.table_name(each.name): Recognition(consumer, each)
            for each in self._db.tables_of(consumer.name, consumer.tables)
        }

    def __call__(self, event: dict[str, Any], context: object = None) -> dict[str, Any]:
        """Handles the records of an event, and returns those that have to be sent again."""
        records = list(self._deliveries(event))
        self._begin()
        self._counts.clear()
        self._retry_parked()
        deliveries = [each for _, each in records if each is not None]
        failed: list[Delivery] = []
        waiting: set[str] = set()  # items whose later changes wait behind a failed one
        while deliveries:
            done, error = self._handle_together(deliveries, waiting)
            for delivery in deliveries[done : done + 1]:
                if delivery.item in waiting or not self._handle_alone(delivery, error):
                    waiting.add(delivery.item)
                    failed.append(delivery)
            deliveries = deliveries[done + 1 :]
        for table, each in records:
            if each is None:
                self._counts[table, "skipped"] += 1
            elif each in failed:
                break  # the records after it are sent again
        self._store_counts()
        reply: dict[str, Any] = {"batchItemFailures": [{"itemIdentifier": each.sequence} for each in failed]}
        if "window" in event:  # Lambda expects the state of a tumbling window back; consumers have none
            reply["state"] = event.get("state") or {}
        return reply

    def _store_counts(self) -> None:
        """Adds the counts of a call to the consumer's; they are not worth failing for."""
        for table in {table for table, _ in self._counts}:
            try:
                with self._db.change(state.table_progress(self._consumer.name, table), system_change=True) as draft:
                    draft.handled += self._counts[table, "handled"]
                    draft.skipped += self._counts[table, "skipped"]
                    draft.retries += self._counts[table, "retries"]
            except (PartitaError, OSError) as error:
                _log.warning("consumer %s: the counts of a call are lost: %s", self._consumer.name, error)

    def _begin(self) -> None:
        """Notes that the consumer runs in Lambda, once in each instance of the function."""
        if not self._has_begun:
            name, now = self._consumer.name, self._db.now()
            for table in self._consumer.tables:
                found = self._db.get(state.table_progress(name, table), consistent=True)
                if found is not None:
                    check_host(found, "lambda")
                    continue
                with suppress(AlreadyExists):
                    self._db.create(TableProgress(consumer=name, table=table, begun_at=now, host="lambda"))
            self._has_begun = True

    def _deliveries(self, event: Any) -> Iterator[tuple[str, Delivery | None]]:
        """The table of each record, and its delivery; None if no handler wants it."""
        records = event.get("Records") if isinstance(event, dict) else None
        if not isinstance(records, list):
            raise ConfigurationError("the event has no Records; the function is for the event of a DynamoDB stream")
        for each in records:
            recognition = self._recognition(each)
            try:
                delivery = recognition.delivery("", _record(each))
            except (AttributeError, TypeError, msgspec.MsgspecError) as error:
                wrong = f"the event has a record that is not one of a DynamoDB stream: {error}"
                raise ConfigurationError(wrong) from None
            yield recognition.table, delivery

    def _recognition(self, record: Any) -> Recognition:
        """The recognition of the table that a record is from."""
        arn = str(record.get("eventSourceARN", "") if isinstance(record, dict) else "")
        name = arn.partition(":table/")[2].partition("/")[0]
        if not name and len(self._recognitions) == 1:  # an event of a test without an ARN
            name = next(iter(self._recognitions))
        found = self._recognitions.get(name)
        if found is None:
            known = ", ".join(self._recognitions)
            raise ConfigurationError(
                f"consumer {self._consumer.name}: the event is of {arn or 'no table'}; the consumer handles {known}"
            )
        return found

    def _group(self, deliveries: list[Delivery], waiting: set[str]) -> list[Delivery]:
        """The first changes, as far as they are of different items and wait for nothing."""
        found: dict[str, Delivery] = {}
        for each in deliveries[:MAX_TOGETHER]:
            if each.item in found or each.item in waiting or self._parking.holds(each.item):
                break
            found[each.item] = each
        return list(found.values())

    def _handle_together(self, deliveries: list[Delivery], waiting: set[str]) -> tuple[int, BaseException | None]:
        """Commits the first changes together; returns their number, and the error of the next one if it has failed.

        The next one is handled alone, without another run of its handler if that has failed.
        """
        group = self._group(deliveries, waiting)
        if len(group) < 2:
            return 0, None
        calls = [state.item_progress(self._consumer.name, each.item) for each in group]
        progresses = self._db.get_many(calls, consistent=True)
        whole, done, error = HandlerTransaction(self._db), 0, None
        for each, progress in zip(group, progresses, strict=True):
            if not _is_done(progress, each):
                try:
                    effects = self._runs.run(each)
                except FAILURES as failure:
                    # Earlier changes that are not committed yet may be what it missed: then it runs again.
                    is_final = whole.is_empty and not isinstance(failure, Unavailable)
                    error = failure if is_final else None
                    break
                if whole.size + effects.size >= MAX_ACTIONS or not whole.include(effects):
                    break
                self._note_done(whole, each, progress)
            done += 1
        try:
            if not whole.is_empty:
                whole.commit()
        except FAILURES:  # they are handled one by one, and reported then
            return 0, None
        for each, progress in zip(group[:done], progresses, strict=False):
            self._count(each, progress)
        return done, error

    def _count(self, delivery: Delivery, progress: ItemProgress | None, *, is_done: bool = True) -> None:
        """Counts a change that this call has handled, or tried again."""
        if not _is_done(progress, delivery):
            self._counts[delivery.table, "handled"] += is_done
            self._counts[delivery.table, "retries"] += progress is not None and progress.failing == delivery.order

    def _handle_alone(self, delivery: Delivery, error: BaseException | None = None) -> bool:
        """Handles one change, whose handler may have failed already; false if it has to be sent again."""
        for _ in range(MAX_ATTEMPTS):
            progress = self._db.get(state.item_progress(self._consumer.name, delivery.item), consistent=True)
            if _is_done(progress, delivery):
                return True
            try:
                is_done = self._attempt(delivery, progress, error)
            except TakenOver:
                continue  # another call has written the progress of this item
            self._count(delivery, progress, is_done=is_done)
            return is_done
        return False

    def _attempt(self, delivery: Delivery, progress: ItemProgress | None, error: BaseException | None) -> bool:
        if self._parking.holds(delivery.item):
            whole = HandlerTransaction(self._db)
            self._parking.park(whole, delivery, None)
            self._finish(whole, delivery, progress)
            return True
        try:
            if error is None:
                error = self._runs.attempt(delivery, lambda whole: self._finish(whole, delivery, progress))
        except Unavailable as unavailable:  # the progress tells later whether it was applied
            _log.warning("consumer %s: %s is sent again: %s", self._consumer.name, delivery.change.id, unavailable)
            return False
        if error is None:
            return True
        _log.warning("consumer %s: %s failed: %s", self._consumer.name, delivery.change.id, describe(error))
        return self._count_failure(delivery, progress, error)

    def _count_failure(self, delivery: Delivery, progress: ItemProgress | None, error: BaseException) -> bool:
        """Counts a failed try; after the last, gives the change up and returns true."""
        is_again = progress is not None and progress.failing == delivery.order
        tries = progress.tries + 1 if progress is not None and is_again else 1
        whole = HandlerTransaction(self._db)
        if tries >= self._consumer.tries:
            self._parking.give_up(whole, delivery, tries, error)
            self._finish(whole, delivery, progress)
            return True
        self._write(whole, delivery, progress, "" if progress is None else progress.sequence, delivery.order, tries)
        self._commit(whole)
        return False

    def _finish(self, whole: HandlerTransaction, delivery: Delivery, progress: ItemProgress | None) -> None:
        self._note_done(whole, delivery, progress)
        self._commit(whole)

    def _note_done(self, whole: HandlerTransaction, delivery: Delivery, progress: ItemProgress | None) -> None:
        self._write(whole, delivery, progress, delivery.order, "", 0)

    def _write(
        self,
        whole: HandlerTransaction,
        delivery: Delivery,
        progress: ItemProgress | None,
        sequence: str,
        failing: str,
        tries: int,
    ) -> None:
        """Adds the progress of an item to a transaction, which fails if another call has written it."""
        name, expires_at = self._consumer.name, self._db.now() + KEEP_PROGRESS
        if progress is None:
            whole.create(
                ItemProgress(
                    consumer=name,
                    item=delivery.item,
                    sequence=sequence,
                    failing=failing,
                    tries=tries,
                    expires_at=expires_at,
                )
            )
            return
        seen = (F.sequence == progress.sequence) & (F.failing == progress.failing) & (F.tries == progress.tries)
        draft = whole.change(state.item_progress(name, delivery.item), when=seen, system_change=True)
        draft.sequence, draft.failing, draft.tries, draft.expires_at = sequence, failing, tries, expires_at

    def _commit(self, whole: HandlerTransaction) -> None:
        whole.commit_as_owner(self._consumer.name, ItemProgress)

    def _retry_parked(self) -> None:
        """Handles dead letters that are retried, and held changes that go on; their failures are not the batch's."""
        try:
            self._parking.load()  # a dead letter may have been retried since the last call
            self._parking.retry_due(self._runs.attempt)
        except (PartitaError, OSError) as error:
            _log.warning("consumer %s: parked changes are tried again later: %s", self._consumer.name, error)


def _is_done(progress: ItemProgress | None, delivery: Delivery) -> bool:
    return progress is not None and progress.sequence >= delivery.order


def _record(given: Any) -> Record:
    """A record of an event; Lambda writes the members of userIdentity in camelCase, the API does not."""
    identity = given.get("userIdentity")
    if isinstance(identity, dict):
        given = {**given, "userIdentity": {name[:1].upper() + name[1:]: value for name, value in identity.items()}}
    return msgspec.json.decode(msgspec.json.encode(given), type=Record)
