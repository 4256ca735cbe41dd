"""Looking after a consumer: its state, pausing it, and the changes that it has given up.

consumers = ConsumerAdministration(db, "notifications")
consumers.status().dead_letters
for letter in consumers.dead_letters():
    consumers.retry(letter)
"""

from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from partita.consumers import state
from partita.consumers.backlog import Backlog, count_backlog, unread_shards
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.handler_transaction import HandlerTransaction
from partita.consumers.parking import stored_record
from partita.consumers.shards import check_host
from partita.consumers.state import DeadLetter, ParkedChange
from partita.design.conditions import F
from partita.dynamodb.values import Item
from partita.errors import ConditionFailed, ConfigurationError, InvalidValue, NotFound
from partita.process_identity import is_dead
from partita.store.store import Store


class ConsumerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a consumer has done, and what it has before it.

    handled      Changes, and items of a scan, that are done or parked.
    skipped      Records that no entity explains, or that no handler wants.
    gaps         How often changes were deleted before they were read.
    retries      How often changes were tried again.
    parked       Changes that are tried again, or wait behind one of the same item.
    backlog      The changes that it has not read; None in AWS Lambda, which does not tell.
    last_change  When the last change that it has read was written.
    at           When this was read.
    """

    name: str
    is_running: bool
    is_paused: bool
    handled: int
    skipped: int
    gaps: int
    retries: int
    parked: int
    dead_letters: int
    backlog: Backlog | None
    last_change: datetime | None
    at: datetime

    @property
    def lag(self) -> timedelta:
        """The age of the oldest change that it has not read."""
        return timedelta(0) if self.backlog is None else self.backlog.age(self.at)

    @property
    def time_left(self) -> timedelta | None:
        """The time until the oldest change that it has not read expires; None if it has read all."""
        return None if self.backlog is None else self.backlog.time_left(self.at)

    def rate_since(self, before: "ConsumerStatus") -> float:
        """How many changes it has handled in a second since an earlier status."""
        seconds = (self.at - before.at).total_seconds()
        return (self.handled - before.handled) / seconds if seconds > 0 else 0.0


class ConsumerAdministration:
    """One consumer on a database, whether it runs or not."""

    def __init__(self, db: Store, consumer: str) -> None:
        self._db = ConsumerStore(db)
        self._name = consumer

    def status(self) -> ConsumerStatus:
        """The state of the consumer now; NotFound if it has never run here."""
        lease = self._db.get(state.lease(self._name), consistent=True)
        tables = list(self._db(state.table_progresses(self._name), consistent=True))
        positions = list(self._db(state.positions(self._name), consistent=True))
        scans = [each for table in tables for each in self._db(state.scans(self._name, table.table), consistent=True)]
        if lease is None and not tables:
            raise NotFound("Consumer", {"name": self._name})
        times = [each.at for each in positions if each.at is not None]
        sums: list[state.TableProgress | state.Position] = [*tables, *positions]
        return ConsumerStatus(
            name=self._name,
            is_running=lease is not None and bool(lease.owner) and not is_dead(lease.process),
            is_paused=lease is not None and lease.is_paused,
            handled=sum(each.handled for each in sums) + sum(each.delivered for each in scans),
            skipped=sum(each.skipped for each in sums),
            gaps=sum(each.gaps for each in sums),
            retries=sum(each.retries for each in tables),
            parked=sum(1 for _ in self._db(state.parked_changes(self._name))),
            dead_letters=sum(1 for _ in self._db(state.dead_letters(self._name))),
            backlog=self._backlog(tables, positions),
            last_change=max(times, default=None),
            at=self._db.now(),
        )

    def _backlog(self, tables: list[state.TableProgress], positions: list[state.Position]) -> Backlog | None:
        if any(each.host == "lambda" for each in tables):
            return None
        return count_backlog(self._db, unread_shards(self._db, tables, positions))

    def pause(self) -> None:
        """Lets no process run the consumer until `resume`; a running one ends within seconds."""
        self._set_paused(True)

    def resume(self) -> None:
        """Lets a process run the consumer again."""
        self._set_paused(False)

    def _set_paused(self, value: bool) -> None:
        with self._db.change(state.lease(self._name), create=True) as draft:
            draft.is_paused = value

    def dead_letters(self, most: int | None = None) -> list[DeadLetter]:
        """The changes that were given up, the oldest first; at most so many, where a number is given."""
        found = self._db(state.dead_letters(self._name), consistent=True)
        return list(found) if most is None else found.first(most)

    def keys_of(self, letter: DeadLetter) -> Item:
        """The keys of the item whose change was given up, in DynamoDB JSON."""
        stored = stored_record(self._db, letter).dynamodb
        return {} if stored is None else stored.keys or {}

    def retry(self, letter: DeadLetter) -> None:
        """Has a change handled again from its first try on, marked as late; NotFound if it is no dead letter."""
        whole = self._removing(letter)
        whole.create(
            ParkedChange(
                consumer=self._name,
                item=letter.item,
                sequence=letter.sequence,
                shard=letter.shard,
                table=letter.table,
                parts=letter.parts,
                due_at=self._db.now(),
                is_late=True,
            )
        )
        self._commit(whole, letter)

    def drop(self, letter: DeadLetter) -> None:
        """Forgets a change for good; later changes of its item that were held go on. NotFound as for `retry`."""
        whole = self._removing(letter)
        for number in range(letter.parts):
            whole.delete(state.change_part(self._name, letter.shard, letter.sequence, number))
        waiting = list(self._db(state.parked_changes_of(self._name, letter.item), consistent=True))
        is_last = sum(each.item == letter.item for each in self.dead_letters()) < 2  # others may hold them, too
        if waiting and is_last and all(each.due_at is None for each in waiting):
            first = waiting[0]
            whole.change(state.parked_change(self._name, first.item, first.sequence)).due_at = self._db.now()
        self._commit(whole, letter)

    def replay(self, since: datetime) -> None:
        """Has all changes since a time handled again, given-up ones included; their effects are repeated.

        A change has the same id as before, so that a handler can recognise what it has created. DynamoDB stores changes
        for 24 hours, and their times in whole seconds: all changes of the second are handled again, too. A running
        process begins with it within seconds.
        """
        if since.tzinfo is None:
            raise InvalidValue("replay", "the time has no time zone; write datetime(..., tzinfo=UTC)", argument="since")
        if since > self._db.now():
            raise InvalidValue("replay", f"{since} is in the future", argument="since")
        tables = list(self._db(state.table_progresses(self._name), consistent=True))
        if not tables:
            raise NotFound("Consumer", {"name": self._name})
        for table in tables:
            check_host(table, "worker")
            with self._db.change(state.table_progress(self._name, table.table), system_change=True) as draft:
                draft.replay_since = since.replace(microsecond=0)
        for position in list(self._db(state.positions(self._name), consistent=True)):
            get = state.position(position.consumer, position.stream, position.shard)
            with (
                suppress(NotFound),
                self._db.change(get, system_change=True) as draft,
            ):  # its shard may just have expired
                draft.epoch += 1

    def forget(self) -> None:
        """Deletes all that is stored of a consumer that was renamed or removed, with its dead letters.

        A program that runs it later begins anew. ConfigurationError if a process runs it now.
        """
        if self.status().is_running:
            raise ConfigurationError(f"consumer {self._name} is running; end its process first")
        for letter in self.dead_letters():
            self.drop(letter)
        for parked in list(self._db(state.parked_changes(self._name), consistent=True)):
            for number in range(parked.parts):
                self._db.delete(state.change_part(self._name, parked.shard, parked.sequence, number))
            self._db.delete(state.parked_change(self._name, parked.item, parked.sequence))
        reset(self._db, self._name)
        self._db.delete(state.lease(self._name))

    def _removing(self, letter: DeadLetter) -> HandlerTransaction:
        whole = HandlerTransaction(self._db)
        whole.delete(state.dead_letter(self._name, letter.sequence, letter.shard), when=F.item == letter.item)
        return whole

    def _commit(self, whole: HandlerTransaction, letter: DeadLetter) -> None:
        try:
            whole.commit()
        except ConditionFailed as failed:
            raise NotFound(failed.entity, {"sequence": letter.sequence}) from None


def reset(db: ConsumerStore, consumer: str) -> None:
    """Deletes what is stored of a consumer's progress: it begins anew, and a process that runs it notices."""
    for position in list(db(state.positions(consumer), consistent=True)):
        db.delete(state.position(consumer, position.stream, position.shard))
    for progress in list(db(state.table_progresses(consumer), consistent=True)):
        for scan in list(db(state.scans(consumer, progress.table), consistent=True)):
            db.delete(state.scan(consumer, progress.table, scan.scan))
        db.delete(state.table_progress(consumer, progress.table))


def known_consumers(db: Store) -> list[str]:
    """The names of the consumers that have run on a database."""
    found = ConsumerStore(db).scan(state.TableProgress)
    return sorted({each.consumer for each in found})
