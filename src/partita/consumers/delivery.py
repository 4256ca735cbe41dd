"""From a record of a stream to the change that a handler receives."""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import Protocol

import msgspec

from partita.consumers.consumer import Consumer, Handler
from partita.consumers.entity_changes import Change, ChangeInfo, Created, Deleted, Updated
from partita.consumers.handler_transaction import HandlerTransaction
from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb.stream_shapes import Record
from partita.dynamodb.values import Item
from partita.errors import ConfigurationError, StoredItemInvalid
from partita.store.decoding import decoder_of, recogniser_of

SEQUENCE_DIGITS = 40  # DynamoDB's numbers have 21 to 40
SCANNED = "0"  # the sequence number of an item that existed before its first change that is handled
_SERVICE = "dynamodb.amazonaws.com"
_log = logging.getLogger("partita.consumers")


class Delivery(msgspec.Struct, eq=False):
    """A change on its way to the handlers of one consumer."""

    shard: str  # the item itself where the host does not know the shard
    sequence: str
    table: str
    item: str  # identifies the item in the order of its changes
    entity: str
    change: Change[object]
    handlers: tuple[Handler, ...]
    record: Record
    decode: Callable[[], Change[object]]
    is_decoded: bool = True  # whether no handler has received `change` yet
    note: Callable[[HandlerTransaction], None] | None = None  # adds what is committed with the change

    @property
    def order(self) -> str:
        """The sequence number with as many digits as any other, so that text order is its order."""
        return self.sequence.zfill(SEQUENCE_DIGITS)

    def change_for_handler(self) -> Change[object]:
        """The change with entities that no other run of a handler has received, and may have edited."""
        if not self.is_decoded:
            return self.decode()
        self.is_decoded = False
        return self.change

    @property
    def is_scanned(self) -> bool:
        """Whether it is not a change of the stream, but an item that existed before."""
        return self.sequence == SCANNED


class Checkpoint(Protocol):
    """Stores how far the deliveries of one source are done."""

    def commit(self, whole: HandlerTransaction, deliveries: Sequence[Delivery]) -> None:
        """Commits a transaction together with the progress after some deliveries."""


class Recognition:
    """Recognises the entities of a table's records."""

    def __init__(self, consumer: Consumer, table: Table) -> None:
        self._consumer = consumer
        self._table = table
        self.table = table.name
        self._recogniser = recogniser_of(table)
        self._reported: set[str] = set()  # entities with items that are not valid

    def delivery(self, shard: str, record: Record, *, is_late: bool = False) -> Delivery | None:
        """The delivery of a record; None if no entity explains it, or no handler wants it."""
        self._check_images(record)
        stored = record.dynamodb
        image = None if stored is None else stored.new_image or stored.old_image
        if stored is None or not image:
            return None
        model = self._recogniser.model_of(image)
        handlers = () if model is None else tuple(self._consumer.handlers_of(model))
        if model is None or not handlers:
            return None
        item = item_id(self._table.name, stored.keys or {})
        decode = partial(_change, model, record, item, is_late)
        try:
            change = decode()
        except StoredItemInvalid as invalid:
            self._report_once(model, invalid)
            return None
        sequence, table = stored.sequence_number or "", self._table.name
        return Delivery(shard or item, sequence, table, item, model.name, change, handlers, record, decode)

    def _report_once(self, model: Model, invalid: StoredItemInvalid) -> None:
        """Logs that the changes of an entity are skipped, for the first of them: there may be many."""
        if model.name not in self._reported:
            self._reported.add(model.name)
            skipped = "consumer %s: a change of %s is skipped, as others like it: its item is not valid: %s"
            _log.warning(skipped, self._consumer.name, model.name, invalid)

    def _check_images(self, record: Record) -> None:
        """Rejects a record without the images before and after the change."""
        stored = record.dynamodb
        old, new = (None, None) if stored is None else (stored.old_image, stored.new_image)
        if (new is None and record.event_name != "REMOVE") or (old is None and record.event_name != "INSERT"):
            raise ConfigurationError(
                f"the stream of table {self._table.name} has no images before and after each change; "
                "enable it with the view type NEW_AND_OLD_IMAGES"
            )


def item_id(table: str, keys: Item) -> str:
    """Identifies an item among those of all tables."""
    encoded = msgspec.json.encode(keys, order="deterministic")
    return blake2b(table.encode() + b"\0" + encoded, digest_size=16).hexdigest()


def written_at(record: Record) -> datetime:
    moment = None if record.dynamodb is None else record.dynamodb.approximate_creation_date_time
    return datetime.fromtimestamp(moment or 0.0, UTC)


def _change(model: Model, record: Record, item: str, is_late: bool) -> Change[object]:
    stored = record.dynamodb
    assert stored is not None
    decode = decoder_of(model)
    before = decode(stored.old_image) if stored.old_image else None
    after = decode(stored.new_image) if stored.new_image else None
    origin = record.event_id if stored.sequence_number == SCANNED else ""
    info = ChangeInfo(
        id=blake2b(f"{item}#{stored.sequence_number}{origin}".encode(), digest_size=16).hexdigest(),
        at=written_at(record),
        by_ttl=record.user_identity is not None and record.user_identity.principal_id == _SERVICE,
        is_late=is_late,
        before_image=stored.old_image or None,
        after_image=stored.new_image or None,
    )
    if before is None:
        return Created(info, after)
    return Deleted(info, before) if after is None else Updated(info, before, after)
