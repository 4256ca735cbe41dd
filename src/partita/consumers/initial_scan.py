"""Items that existed before a consumer, or before its first handler of an entity: a scan delivers them as `Created`.

The stream is read from before the scan, and both go on side by side. Which of them sees an item first delivers it, and
notes that in the same transaction:

    scan sees it first     Created with the image of the scan, whose digest is stored. The changes that the image
                           contains already are left out: the first change to follow is the one whose old image it is.
    stream sees it first   The same with the old image of the change, and then the change. The scan leaves it out.

So nothing depends on clocks, on the order of pages, or on how late a change appears in the stream. A consumer that
recognises old changes by itself (`is_idempotent`) needs no notes.
"""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b

import msgspec

from partita.consumers import state
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.delivery import SCANNED, Checkpoint, Delivery, Recognition, item_id
from partita.consumers.handler_transaction import HandlerTransaction
from partita.consumers.state import ScannedItem, ScanProgress
from partita.design.conditions import F
from partita.design.tables import Table
from partita.dynamodb.canonical import checked_item
from partita.dynamodb.requests import Scan
from partita.dynamodb.stream_shapes import Record, StreamRecord
from partita.dynamodb.values import Item
from partita.store.retries import send_idempotent

PAGE = 500  # items of a request
MARGIN = timedelta(minutes=15)  # after a scan: changes written later are not contained in its images
KEEP_ITEMS = timedelta(days=14)  # longer than a scan takes, and a stream stores its records
_STREAM_DAY = timedelta(days=1)

HandleAll = Callable[[Checkpoint, list[Delivery]], None]


def new_scan(consumer: str, table: str, entities: list[str], now: datetime) -> ScanProgress:
    return ScanProgress(consumer=consumer, table=table, scan=os.urandom(8).hex(), entities=entities, begun_at=now)


class TableScans:
    """The scans of a table for one consumer that still matter."""

    def __init__(self, db: ConsumerStore, consumer: Consumer, recognition: Recognition, table: Table) -> None:
        self._db = db
        self._consumer = consumer
        self._recognition = recognition
        self._table = table
        self._scans: list[InitialScan] = []

    def take_over(self) -> None:
        """Continues the scans where they stand; from now on, no other process can move them."""
        oldest = self._db.now() - _STREAM_DAY - MARGIN
        found = self._db(state.scans(self._consumer.name, self._table.name), consistent=True)
        wanted = [each for each in found if each.done_at is None or each.done_at > oldest]
        takes_notes = not self._consumer.is_idempotent
        self._scans = [
            InitialScan(self._db, self._recognition, self._table, each, takes_notes=takes_notes) for each in wanted
        ]
        for each in self._scans:
            if each.progress.done_at is None:
                each.take_over()

    def admit(self, deliveries: list[Delivery]) -> list[Delivery]:
        """The changes of a page that are handled, and the items that have to be created before them."""
        if self._consumer.is_idempotent:
            return deliveries
        for each in self._scans:
            deliveries = each.admit(deliveries)
        return deliveries

    @property
    def are_done(self) -> bool:
        return all(each.progress.done_at is not None for each in self._scans)

    def step(self, handle_all: HandleAll) -> int:
        """Delivers a page of the first scan that is not done; returns the number of its items."""
        for each in self._scans:
            if each.progress.done_at is None:
                return each.step(handle_all)
        return 0


class InitialScan:
    """One scan, for the entities whose handlers were new."""

    def __init__(
        self,
        db: ConsumerStore,
        recognition: Recognition,
        table: Table,
        progress: ScanProgress,
        *,
        takes_notes: bool = True,
    ) -> None:
        self._db = db
        self._takes_notes = takes_notes
        self._recognition = recognition
        self._table = table
        self._get = state.scan(progress.consumer, progress.table, progress.scan)
        self.progress = progress

    def take_over(self) -> None:
        with self._db.change(self._get, system_change=True) as draft:
            draft.epoch += 1
        self.progress = self._db.one(self._get, consistent=True)

    def step(self, handle_all: HandleAll) -> int:
        """Delivers the items of a page that the stream has not delivered; returns their number, at least 1."""
        cursor = msgspec.json.decode(self.progress.cursor) if self.progress.cursor else None
        request = Scan(table_name=self._table.name, exclusive_start_key=cursor, consistent_read=True, limit=PAGE)
        reply = self._db.run(send_idempotent(self._db.context, request))
        items: Sequence[msgspec.Raw] = reply.items or ()
        now = self._db.now()
        found = [self._delivery(raw, _keys(self._table, raw), now) for raw in items]
        deliveries = [each for each in found if each is not None and each.entity in self.progress.entities]
        if self._takes_notes:
            known = self._known(deliveries)
            deliveries = [self._noted(each) for each in deliveries if known[each.item] is None]
        handle_all(self, deliveries)
        last = reply.last_evaluated_key
        self._move("" if last is None else bytes(last).decode(), is_done=last is None)
        return max(1, len(items))

    def commit(self, whole: HandlerTransaction, deliveries: Sequence[Delivery]) -> None:
        """Commits a transaction together with the notes of the items in it."""
        for each in deliveries:
            if each.note is not None:
                each.note(whole)
        draft = self._draft(whole)
        draft.delivered += len(deliveries)
        self._commit(whole)
        self.progress.delivered += len(deliveries)

    def admit(self, deliveries: list[Delivery]) -> list[Delivery]:
        """The changes that the images of the scan do not contain, with the items that were not delivered before."""
        covered = [each for each in deliveries if self._covers(each)]
        if not covered:
            return deliveries
        known = self._known(covered)
        found: list[Delivery] = []
        for each in deliveries:
            if not self._covers(each):
                found.append(each)
                continue
            noted = known[each.item]
            if noted is None and (before := self._before(each)) is not None:
                found.append(before)
                noted = self._item(each, self._image_digest(before))
            if noted is None:
                noted = self._item(each, "")
                found.append(msgspec.structs.replace(each, note=self._create_note(noted)))
            elif not noted.digest:
                found.append(each)
            elif self._follows(noted, each):
                found.append(msgspec.structs.replace(each, note=self._follow_note(noted)))
                noted = msgspec.structs.replace(noted, digest="")
            known[each.item] = noted
        return found

    def _covers(self, delivery: Delivery) -> bool:
        """Whether the image of the scan may contain a change."""
        done_at = self.progress.done_at
        is_in_time = done_at is None or delivery.change.at <= done_at + MARGIN
        return is_in_time and delivery.entity in self.progress.entities and not delivery.is_scanned

    def _known(self, deliveries: list[Delivery]) -> dict[str, ScannedItem | None]:
        """The items of deliveries as they are noted."""
        items = list(dict.fromkeys(each.item for each in deliveries))
        calls = [state.scanned_item(self.progress.consumer, self.progress.scan, each) for each in items]
        return dict(zip(items, self._db.get_many(calls, consistent=True), strict=True))

    def _before(self, delivery: Delivery) -> Delivery | None:
        """The item as it was before its first change that is handled; None if it did not exist."""
        stored = delivery.record.dynamodb
        if stored is None or stored.old_image is None:
            return None
        found = self._delivery(stored.old_image, stored.keys or {}, delivery.change.at)
        return None if found is None else self._noted(found)

    def _follows(self, noted: ScannedItem, delivery: Delivery) -> bool:
        """Whether a change was written after the scan has read its item."""
        stored = delivery.record.dynamodb
        old = None if stored is None else stored.old_image
        return (old is not None and _digest(old) == noted.digest) or delivery.change.at > noted.scanned_at + MARGIN

    def _delivery(self, image: msgspec.Raw, keys: Item, at: datetime) -> Delivery | None:
        """The delivery of an item that existed before."""
        stored = StreamRecord(
            approximate_creation_date_time=float(int(at.timestamp())),
            keys=keys,
            new_image=image,
            sequence_number=SCANNED,
        )
        record = Record(event_id=self.progress.scan, event_name="INSERT", dynamodb=stored)
        return self._recognition.delivery(f"{self.progress.scan}/{item_id(self._table.name, keys)}", record)

    def _noted(self, delivery: Delivery) -> Delivery:
        """A delivery whose image is stored with its effect."""
        note = self._create_note(self._item(delivery, self._image_digest(delivery)))
        return msgspec.structs.replace(delivery, note=note)

    def _image_digest(self, delivery: Delivery) -> str:
        stored = delivery.record.dynamodb
        assert stored is not None
        assert stored.new_image is not None
        return _digest(stored.new_image)

    def _item(self, delivery: Delivery, digest: str) -> ScannedItem:
        now = self._db.now()
        return ScannedItem(
            consumer=self.progress.consumer,
            scan=self.progress.scan,
            item=delivery.item,
            digest=digest,
            scanned_at=now,
            expires_at=now + KEEP_ITEMS,
        )

    def _create_note(self, item: ScannedItem) -> Callable[[HandlerTransaction], None]:
        def note(whole: HandlerTransaction) -> None:
            whole.create(item)

        return note

    def _follow_note(self, item: ScannedItem) -> Callable[[HandlerTransaction], None]:
        def note(whole: HandlerTransaction) -> None:
            get = state.scanned_item(item.consumer, item.scan, item.item)
            draft = whole.change(get, when=F.digest == item.digest, system_change=True)
            draft.digest = ""

        return note

    def _move(self, cursor: str, *, is_done: bool) -> None:
        whole = HandlerTransaction(self._db)
        draft = self._draft(whole)
        draft.cursor = cursor
        now = self._db.now()
        if is_done:
            draft.done_at = now
        self._commit(whole)
        self.progress.cursor, self.progress.done_at = cursor, now if is_done else None

    def _draft(self, whole: HandlerTransaction) -> ScanProgress:
        """A change of the progress, if no other process has taken it over."""
        return whole.change(self._get, when=F.epoch == self.progress.epoch, system_change=True)

    def _commit(self, whole: HandlerTransaction) -> None:
        whole.commit_as_owner(self.progress.consumer, ScanProgress, ScannedItem)


def _keys(table: Table, raw: msgspec.Raw) -> Item:
    item: Item = msgspec.json.decode(raw)
    return {name: item[name] for name in table.key_names}


def _digest(image: msgspec.Raw) -> str:
    """Identifies an image, whatever the order of its attributes and of the elements of its sets."""
    item, _ = checked_item(msgspec.json.decode(image))
    return blake2b(msgspec.json.encode(item, order="deterministic"), digest_size=16).hexdigest()
