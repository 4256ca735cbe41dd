"""Maps as stored: adoption keeps the members that other code has added to them."""

from typing import Annotated, Any

from partita import Entity, InKey, Item, Table, pattern, prove
from partita_systems.eecar.design.table import table

as_stored = Table(table.name, pk=table.pk, sk=table.sk, naming="camel")


class StoredWatch(Entity, table=as_stored, key=("WATCH#{watch_id}", "METADATA")):
    """A watch with all stored members of its criteria, so that adoption keeps those that other code has added."""

    watch_id: Annotated[str, InKey()]
    criteria: dict[str, Any]
    status: str


class StoredNeed(Entity, table=as_stored, key=("COMPANY#{company_id}", "NEED#{need_id}")):
    company_id: Annotated[str, InKey()]
    need_id: Annotated[str, InKey()]
    required_specs: dict[str, Any]


@pattern
def stored_watch(watch_id: str) -> Item[StoredWatch]: ...
@pattern
def stored_need(company_id: str, need_id: str) -> Item[StoredNeed]: ...


prove("eecar-maps", as_stored)
