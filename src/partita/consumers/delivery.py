"""From a record of a stream to the change that a handler receives."""

from datetime import UTC, datetime
from hashlib import blake2b

import msgspec

from partita.consumers.consumer import Consumer, Handler
from partita.consumers.entity_changes import Change, ChangeInfo, Created, Deleted, Updated
from partita.design.models import Model
from partita.design.tables import Table
from partita.dynamodb.stream_shapes import Record
from partita.errors import StoredItemInvalid
from partita.store.decoding import decoder_of, recogniser_of

SEQUENCE_DIGITS = 40  # DynamoDB's numbers have 21 to 40
_SERVICE = "dynamodb.amazonaws.com"


class Delivery(msgspec.Struct, frozen=True, eq=False):
    """A change on its way to the handlers of one consumer."""

    shard: str
    sequence: str
    table: str
    item: str  # identifies the item in the order of its changes
    change: Change[object]
    handlers: tuple[Handler, ...]
    record: Record

    @property
    def order(self) -> str:
        """The sequence number with as many digits as any other, so that text order is its order."""
        return self.sequence.zfill(SEQUENCE_DIGITS)


class Recognition:
    """Recognises the entities of a table's records."""

    def __init__(self, consumer: Consumer, table: Table) -> None:
        self._consumer = consumer
        self._table = table
        self._recogniser = recogniser_of(table)

    def delivery(self, shard: str, record: Record, *, is_late: bool = False) -> Delivery | None:
        """The delivery of a record; None if no entity explains it, or no handler wants it."""
        stored = record.dynamodb
        image = None if stored is None else stored.new_image or stored.old_image
        if stored is None or not image:
            return None
        model = self._recogniser.model_of(image)
        handlers = () if model is None else tuple(self._consumer.handlers_of(model))
        if model is None or not handlers:
            return None
        try:
            change = _change(model, record, shard, is_late)
        except StoredItemInvalid:
            return None
        keys = msgspec.json.encode(stored.keys, order="deterministic")
        item = blake2b(self._table.name.encode() + b"\0" + keys, digest_size=16).hexdigest()
        return Delivery(shard, stored.sequence_number or "", self._table.name, item, change, handlers, record)


def written_at(record: Record) -> datetime:
    moment = None if record.dynamodb is None else record.dynamodb.approximate_creation_date_time
    return datetime.fromtimestamp(moment or 0.0, UTC)


def _change(model: Model, record: Record, shard: str, is_late: bool) -> Change[object]:
    stored = record.dynamodb
    assert stored is not None
    decode = decoder_of(model)
    before = decode(stored.old_image) if stored.old_image else None
    after = decode(stored.new_image) if stored.new_image else None
    info = ChangeInfo(
        id=blake2b(f"{shard}#{stored.sequence_number}".encode(), digest_size=16).hexdigest(),
        at=written_at(record),
        by_ttl=record.user_identity is not None and record.user_identity.principal_id == _SERVICE,
        is_late=is_late,
        before_image=stored.old_image or None,
        after_image=stored.new_image or None,
    )
    if before is None:
        return Created(info, after)
    return Deleted(info, before) if after is None else Updated(info, before, after)
