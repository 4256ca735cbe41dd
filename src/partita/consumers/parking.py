"""Parked changes: those that have failed and are tried again, and those that wait behind them.

The changes of an item are tried in their order. After its last try, a change becomes a dead letter.
"""

import logging
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from partita.consumers import state
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import Delivery, Recognition, written_at
from partita.consumers.handler_transaction import HandlerTransaction
from partita.consumers.state import ChangePart, DeadLetter, ParkedChange
from partita.consumers.stream_reader import decoded_record, encoded_record
from partita.design.conditions import F
from partita.design.reads import Get
from partita.dynamodb.limits import TRANSACTION_ACTIONS
from partita.dynamodb.stream_shapes import Record
from partita.errors import NotFound

PART_BYTES = 300_000
FIRST_WAIT = timedelta(seconds=1)
LONGEST_WAIT = timedelta(minutes=10)
LOAD_SECONDS = 5.0  # between two looks for what other processes have changed
RETRY_SECONDS = 1.0  # for tries of parked changes, before others are handled again
MAX_RETRIED = 200  # changes in that time
MAX_ERROR = 2000  # characters of an error that are stored

_log = logging.getLogger("partita.consumers")

Attempt = Callable[[Delivery, Callable[[HandlerTransaction], None]], BaseException | None]


class Parking:
    """The parked changes of a consumer."""

    def __init__(self, db: ConsumerStore, consumer: Consumer, timer: Callable[[], float] = time.monotonic) -> None:
        self._db = db
        self._consumer = consumer
        self._items: set[str] = set()
        self._has_late = False  # whether dead letters are retried: later changes of their items do not wait
        self._timer = timer
        self._loaded_at = 0.0
        self._recognitions = {
            each.name: Recognition(consumer, each) for each in db.tables_of(consumer.name, consumer.tables)
        }

    def load(self) -> None:
        """Notes which items have parked changes."""
        held = self._held_items()  # first: one that is retried meanwhile is in both lists
        parked = list(self._db(state.parked_changes(self._consumer.name), consistent=True))
        in_order = [each for each in parked if self._is_in_order(each)]
        self._items = held | {each.item for each in in_order}
        self._has_late = any(each.is_late for each in parked)
        self._release_left_behind([each for each in in_order if each.item not in held])
        self._loaded_at = self._timer()

    def _held_items(self) -> set[str]:
        """The items whose later changes wait until somebody has repaired a dead letter."""
        if not self._holds_after_failure:
            return set()
        return {each.item for each in self._db(state.dead_letters(self._consumer.name), consistent=True)}

    @property
    def _holds_after_failure(self) -> bool:
        return self._consumer.after_failure == "hold"

    def _is_in_order(self, parked: ParkedChange) -> bool:
        """Whether later changes of its item wait for it; they have gone on without one that was given up."""
        return self._holds_after_failure or not parked.is_late

    def _release_left_behind(self, parked: list[ParkedChange]) -> None:
        """Makes the first change of each item due that waits for nothing.

        The one that it waited for was dropped, or finished by another call in AWS Lambda, while it was parked.
        """
        waiting = {each.item for each in parked} - {each.item for each in parked if each.due_at is not None}
        for item in waiting and waiting - self._held_items():  # another call may have given one up meanwhile
            first = next(each for each in parked if each.item == item)
            with suppress(NotFound), self._db.change(self._key(first)) as draft:
                draft.due_at = self._db.now()

    def look_again(self) -> None:
        """Lets the next `retry_due` notice at once what other processes have changed."""
        self._loaded_at = float("-inf")

    def holds(self, item: str) -> bool:
        """Whether changes of an item wait here, so that its later ones have to wait, too."""
        return item in self._items

    def park(self, whole: HandlerTransaction, delivery: Delivery, error: BaseException | None) -> None:
        """Adds the parking of a change to a transaction; without an error, it waits behind another one."""
        name, now = self._consumer.name, self._db.now()
        parts = self._store_record(whole, delivery)
        whole.create(
            ParkedChange(
                consumer=name,
                item=delivery.item,
                sequence=delivery.order,
                shard=delivery.shard,
                table=delivery.table,
                parts=parts,
                tries=0 if error is None else 1,
                error="" if error is None else describe(error),
                due_at=None if error is None else now + self._wait(1),
            )
        )
        self._items.add(delivery.item)

    def give_up(self, whole: HandlerTransaction, delivery: Delivery, tries: int, error: BaseException) -> None:
        """Adds the dead letter of a change that was never parked to a transaction."""
        whole.create(
            DeadLetter(
                consumer=self._consumer.name,
                item=delivery.item,
                sequence=delivery.order,
                shard=delivery.shard,
                table=delivery.table,
                parts=self._store_record(whole, delivery),
                tries=tries,
                error=describe(error),
                given_up_at=self._db.now(),
            )
        )
        if self._holds_after_failure:
            self._items.add(delivery.item)
        log_given_up(self._consumer.name, delivery.order, tries, error)

    def _store_record(self, whole: HandlerTransaction, delivery: Delivery) -> int:
        """Adds the record of a change to a transaction, in parts; returns their number."""
        data = zlib.compress(encoded_record(delivery.record), 1)
        parts = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
        name = self._consumer.name
        for number, part in enumerate(parts):
            whole.create(
                ChangePart(consumer=name, shard=delivery.shard, sequence=delivery.order, number=number, data=part)
            )
        return len(parts)

    def drop_since(self, table: str, since: datetime) -> None:
        """Deletes the parked changes and dead letters of a table that were written since a time."""
        name = self._consumer.name
        for parked in list(self._db(state.parked_changes(name), consistent=True)):
            self._drop(parked, self._key(parked), table, since)
        for letter in list(self._db(state.dead_letters(name), consistent=True)):
            self._drop(letter, state.dead_letter(name, letter.sequence, letter.shard), table, since)

    def _drop(self, given: ParkedChange | DeadLetter, key: Get[Any], table: str, since: datetime) -> None:
        if given.table != table or not int(given.sequence) or written_at(stored_record(self._db, given)) < since:
            return
        whole = HandlerTransaction(self._db)
        whole.delete(key)
        for number in range(given.parts):
            whole.delete(state.change_part(given.consumer, given.shard, given.sequence, number))
        whole.commit()

    def seconds_until_due(self) -> float:
        """The time until the next try; infinite if nothing is tried again."""
        if not self._items and not self._has_late:
            return float("inf")
        first = self._db(state.due_changes(self._consumer.name)).first(1)
        due = first[0].due_at if first else None
        return float("inf") if due is None else (due - self._db.now()).total_seconds()

    def retry_due(self, attempt: Attempt, check: Callable[[], None] = lambda: None) -> int:
        """Tries the changes that are due once, for a second at most, so that others do not wait; returns how many.

        `check` is called before each, and raises an error to stop.
        """
        if self._timer() - self._loaded_at > LOAD_SECONDS:
            self.load()  # a dead letter may have been retried or dropped
        elif not self._items and not self._has_late:
            return 0
        tried: Counter[str] = Counter()
        until = self._timer() + RETRY_SECONDS
        for listed in self._db(state.due_changes(self._consumer.name)).first(MAX_RETRIED):
            if not self._is_due(listed) or (tried and self._timer() > until):
                break
            check()
            # An index of DynamoDB may still list what was done or moved a moment ago.
            parked = self._db.get(self._key(listed), consistent=True)
            if parked is not None and self._is_due(parked):
                self._retry(parked, attempt)
                tried[parked.table] += 1
        for table, count in tried.items():
            with self._db.change(state.table_progress(self._consumer.name, table), system_change=True) as draft:
                draft.retries += count
        return tried.total()

    def _is_due(self, parked: ParkedChange) -> bool:
        return parked.due_at is not None and parked.due_at <= self._db.now()

    def _retry(self, parked: ParkedChange, attempt: Attempt) -> None:
        delivery = self._delivery(parked)
        error = None
        if delivery is not None:  # otherwise no handler wants it any longer
            error = attempt(delivery, lambda whole: self._finish(whole, parked))
        else:
            self._finish(HandlerTransaction(self._db), parked)
        if error is None:
            return
        if parked.tries + 1 < self._consumer.tries:
            with self._db.change(self._key(parked), when=F.tries == parked.tries) as draft:
                draft.tries = parked.tries + 1
                draft.error = describe(error)
                draft.due_at = self._db.now() + self._wait(parked.tries + 1)
            return
        self._give_up(parked, error)

    def _give_up(self, parked: ParkedChange, error: BaseException) -> None:
        whole = HandlerTransaction(self._db)
        whole.create(
            DeadLetter(
                consumer=parked.consumer,
                item=parked.item,
                sequence=parked.sequence,
                shard=parked.shard,
                table=parked.table,
                parts=parked.parts,
                tries=parked.tries + 1,
                error=describe(error),
                given_up_at=self._db.now(),
            )
        )
        whole.delete(self._key(parked), when=F.tries == parked.tries)
        is_last = not self._holds_after_failure and self._release_next(whole, parked)
        whole.commit()
        log_given_up(self._consumer.name, parked.sequence, parked.tries + 1, error)
        if is_last:
            self._items.discard(parked.item)

    def _finish(self, whole: HandlerTransaction, parked: ParkedChange) -> None:
        """Commits the effects of a parked change and removes it; the next one of its item is due."""
        whole.delete(self._key(parked), when=F.tries == parked.tries)
        is_last = self._release_next(whole, parked)
        parts = [state.change_part(parked.consumer, parked.shard, parked.sequence, at) for at in range(parked.parts)]
        fits = whole.size + len(parts) <= TRANSACTION_ACTIONS
        for each in parts if fits else ():
            whole.delete(each)
        whole.commit_as_owner(self._consumer.name, ParkedChange)
        for each in () if fits else parts:
            self._db.delete(each)
        if is_last:
            self._items.discard(parked.item)

    def _release_next(self, whole: HandlerTransaction, parked: ParkedChange) -> bool:
        """Makes the change of an item due that waits for this one; true if no other is parked in its order."""
        for each in self._db(state.parked_changes_of(parked.consumer, parked.item), consistent=True):
            if (each.sequence, each.shard) != (parked.sequence, parked.shard) and self._is_in_order(each):
                if each.due_at is None:
                    draft = whole.change(self._key(each))
                    draft.due_at = self._db.now()
                return False
        return True

    def _delivery(self, parked: ParkedChange) -> Delivery | None:
        recognition = self._recognitions.get(parked.table)
        if recognition is None:
            return None
        return recognition.delivery(parked.shard, stored_record(self._db, parked), is_late=parked.is_late)

    def _key(self, parked: ParkedChange) -> Get[ParkedChange]:
        return state.parked_change(parked.consumer, parked.item, parked.sequence)

    def _wait(self, tries: int) -> timedelta:
        """The time before the next try: it doubles, with jitter."""
        most: timedelta = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(tries - 1, 20))
        jitter: float = 0.5 + self._db.context.random() / 2
        return most * jitter


def stored_record(db: ConsumerStore, given: ParkedChange | DeadLetter) -> Record:
    """The record of a change that is parked or was given up."""
    parts = db(state.change_parts(given.consumer, given.shard, given.sequence), consistent=True)
    return decoded_record(zlib.decompress(b"".join(each.data for each in parts)))


def log_given_up(consumer: str, sequence: str, tries: int, error: BaseException) -> None:
    _log.error(
        "consumer %s has given up change %s after %d tries: %s; partita consumers retries or drops it",
        consumer,
        sequence,
        tries,
        describe(error),
    )


def describe(error: BaseException) -> str:
    """An error as it is stored: in text that can be, whatever its message is."""
    try:
        text = str(error)
    except Exception as failure:  # noqa: BLE001 - of an error of the user's
        text = f"its message failed with {type(failure).__name__}"
    return f"{type(error).__name__}: {text}"[:MAX_ERROR].encode(errors="replace").decode()
