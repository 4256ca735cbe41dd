"""The table of requests with an Idempotency-Key: what each key was used for, and the response, for a day."""

from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Struct

from partita.design.entities import Entity
from partita.design.markers import Compressed, Expires
from partita.design.patterns import pattern
from partita.design.reads import Item
from partita.design.tables import Table
from partita.plan.proof.prove import prove

KEPT_FOR = timedelta(days=1)

table = Table("partita-requests", "PK", ttl="expiresAt", naming="camel")


class SavedResponse(Struct):
    status: int
    headers: dict[str, str]
    body: str


class RequestRecord(Entity, table=table, key="{record_id}"):
    """A request that has begun; `response` is None until it has ended, and where that is unknown."""

    record_id: str
    fingerprint: str
    begun_at: datetime
    response: Annotated[SavedResponse | None, Compressed()] = None

    kept = Expires("begun_at", after=KEPT_FOR)


@pattern
def request_record(record_id: str) -> Item[RequestRecord]:
    """The record of a request."""


design = prove("partita-requests", table)
