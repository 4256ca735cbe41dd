"""The state of consumers, stored with the data: positions, parked changes, dead letters.

CONSUMER#name  TABLE#table                  where the consumer began with a table
               SCAN#table#scan              how far the items are delivered that existed before
               POSITION#stream#shard        how far the changes of a shard are done
               PARKED#item#sequence         a change that has failed, or that waits behind one of the same item
               DEAD#sequence                a change that was given up
CHANGE#name#shard#sequence  PART#n          the images of a parked change
ITEM#name#item  PROGRESS                    how far the changes of an item are done, in AWS Lambda
SCANNED#name#scan#item  ITEM                the image of an item that a scan has delivered
EMBEDDINGS#name  MODEL                      the model whose vectors searches use
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from partita.design.entities import Entity
from partita.design.key_templates import Ordered
from partita.design.keys import Keys
from partita.design.markers import Expires
from partita.design.patterns import pattern
from partita.design.reads import Item, Items
from partita.design.tables import Index, Table
from partita.plan.design import Design
from partita.plan.proof.prove import prove

table = Table("partita-consumers", "PK", "SK", ttl="ttl", indexes=(Index("due", "GSI1PK", "GSI1SK"),))

Host = Literal["worker", "lambda"]


class TableProgress(Entity, table=table, key=("CONSUMER#{consumer}", "TABLE#{table}")):
    """Where a consumer began with the changes of a table, and the sums of shards that exist no longer."""

    consumer: str
    table: str
    begun_at: datetime
    host: Host = "worker"
    entities: list[str] = msgspec.field(default_factory=list)  # those whose changes were ever handled
    skips: dict[str, datetime] = msgspec.field(default_factory=dict)  # entities whose changes before a time are not
    skips_before: datetime | None = None  # changes before this time are not handled
    replay_since: datetime | None = None  # changes since this time are to be handled again
    handled: int = 0
    skipped: int = 0
    gaps: int = 0
    retries: int = 0  # how often parked changes were tried again
    endless_at: datetime | None = None  # when it was seen last that the consumer triggers itself
    endless_entity: str = ""


class Position(Entity, table=table, key=("CONSUMER#{consumer}", "POSITION#{stream}#{shard}")):
    """All changes of a shard up to `sequence` are done or parked; `epoch` counts the runners that took it over.

    done        Entities whose changes up to a later sequence number are done: the shard is read again for others.
    gaps        How often DynamoDB had deleted changes that were perhaps not read: it stores them for 24 hours. The
                last of these were written after `lost_after` and before `lost_before`.
    """

    consumer: str
    stream: str
    shard: str
    table: str
    sequence: str = ""
    begin: str = ""  # the iterator of a consumer that begins now, while it has no sequence number
    at: datetime | None = None  # when the change at `sequence` was written
    epoch: int = 0
    has_ended: bool = False
    done: dict[str, str] = msgspec.field(default_factory=dict)
    handled: int = 0
    skipped: int = 0
    gaps: int = 0
    lost_after: datetime | None = None
    lost_before: datetime | None = None


class ScanProgress(Entity, table=table, key=("CONSUMER#{consumer}", "SCAN#{table}#{scan}")):
    """How far the items of some entities are delivered that existed when a consumer, or its handler, was new."""

    consumer: str
    table: str
    scan: str
    entities: list[str]
    begun_at: datetime
    done_at: datetime | None = None
    cursor: str = ""  # the key after which the scan continues
    epoch: int = 0
    delivered: int = 0


class ScannedItem(Entity, table=table, key=("SCANNED#{consumer}#{scan}#{item}", "ITEM")):
    """An item that was delivered during a scan.

    `digest` is that of its image in the scan; "" once its changes are followed.
    """

    consumer: str
    scan: str
    item: str
    digest: str
    scanned_at: datetime
    expires_at: datetime

    expiry = Expires("expires_at")


class Lease(Entity, table=table, key=("CONSUMER#{consumer}", "LEASE")):
    """Which process runs a consumer; it adds to `beats` now and then. A paused consumer is run by none."""

    consumer: str
    owner: str = ""
    process: str = ""  # where the owner runs, so that others on the same machine see at once that it has ended
    beats: int = 0
    is_paused: bool = False


class ParkedChange(Entity, table=table, key=("CONSUMER#{consumer}", "PARKED#{item}#{sequence}")):
    """A change that is tried again at `due_at`; one that waits behind another change of its item has none."""

    consumer: str
    item: str
    sequence: str
    shard: str
    table: str
    parts: int
    tries: int = 0
    error: str = ""
    due_at: datetime | None = None
    is_late: bool = False  # somebody has retried it after it was given up

    due = Keys("due", "CONSUMER#{consumer}", "{due_at}")


class DeadLetter(Entity, table=table, key=("CONSUMER#{consumer}", "DEAD#{sequence}#{shard}")):
    """A change that was given up after its last try."""

    consumer: str
    item: str
    sequence: str
    shard: str
    table: str
    parts: int
    tries: int
    error: str
    given_up_at: datetime


class ChangePart(Entity, table=table, key=("CHANGE#{consumer}#{shard}#{sequence}", "PART#{number}")):
    """A piece of the record of a parked change: two images of 400 KB do not fit into one item."""

    consumer: str
    shard: str
    sequence: str
    number: Annotated[int, Ordered(0, 99)]
    data: bytes


class ItemProgress(Entity, table=table, key=("ITEM#{consumer}#{item}", "PROGRESS")):
    """All changes of an item up to `sequence` are done; the one at `failing` has failed some times."""

    consumer: str
    item: str
    sequence: str = ""
    failing: str = ""
    tries: int = 0
    expires_at: datetime

    expiry = Expires("expires_at")


class SearchedModel(Entity, table=table, key=("EMBEDDINGS#{name}", "MODEL")):
    """The model whose vectors searches use, and since when; those of the models in `kept` are complete, too."""

    name: str
    model: str
    since: datetime
    kept: list[str] = msgspec.field(default_factory=list)


@pattern
def searched_model(name: str) -> Item[SearchedModel]:
    """The model that searches use."""


@pattern
def item_progress(consumer: str, item: str) -> Item[ItemProgress]:
    """How far the changes of an item are done."""


@pattern
def lease(consumer: str) -> Item[Lease]:
    """The lease of a consumer."""


@pattern
def table_progress(consumer: str, table: str) -> Item[TableProgress]:
    """The progress of a consumer with a table."""


@pattern
def table_progresses(consumer: str) -> Items[TableProgress]:
    """Where a consumer began with each table."""


@pattern
def scan(consumer: str, table: str, scan: str) -> Item[ScanProgress]:
    """The progress of a scan."""


@pattern
def scans(consumer: str, table: str) -> Items[ScanProgress]:
    """The scans of a table for a consumer."""


@pattern
def scanned_item(consumer: str, scan: str, item: str) -> Item[ScannedItem]:
    """An item that was delivered during a scan."""


@pattern
def position(consumer: str, stream: str, shard: str) -> Item[Position]:
    """The position of a consumer in a shard."""


@pattern
def positions(consumer: str) -> Items[Position]:
    """The positions of a consumer."""


@pattern
def parked_change(consumer: str, item: str, sequence: str) -> Item[ParkedChange]:
    """A parked change."""


@pattern
def parked_changes(consumer: str) -> Items[ParkedChange]:
    """The parked changes of a consumer, by item and in their order."""


@pattern
def parked_changes_of(consumer: str, item: str) -> Items[ParkedChange]:
    """The parked changes of an item, in their order."""


@pattern(ParkedChange.due.oldest_first())
def due_changes(consumer: str) -> Items[ParkedChange]:
    """The parked changes that are tried again, the next one first."""


@pattern
def dead_letter(consumer: str, sequence: str, shard: str) -> Item[DeadLetter]:
    """A change that was given up."""


@pattern
def dead_letters(consumer: str) -> Items[DeadLetter]:
    """The changes that a consumer has given up, the oldest first."""


@pattern
def change_parts(consumer: str, shard: str, sequence: str) -> Items[ChangePart]:
    """The pieces of a parked change."""


@pattern
def change_part(consumer: str, shard: str, sequence: str, number: int) -> Item[ChangePart]:
    """A piece of a parked change."""


design = prove("partita-consumers", table)


def with_state(of: Design) -> Design:
    """A design and the state of its consumers, so that one transaction can write both."""
    if table in of.tables:
        return of
    return msgspec.structs.replace(of, tables=(*of.tables, *design.tables))
