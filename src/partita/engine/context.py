"""What operations are given: the storage, the tables in it, the time, and the names of the pretended region."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from partita.engine.catalog import Catalog
from partita.engine.schema import StoredTable
from partita.storage.contract import Storage, StorageTransaction

Job: TypeAlias = Callable[[StorageTransaction], Any]
"""A prepared write: run inside a transaction, it applies its writes last, all at once, and returns the reply."""


@dataclass(frozen=True, slots=True)
class EngineContext:
    storage: Storage
    catalog: Catalog  # the readers': what is committed
    writing: Catalog  # the writer's: what its transaction has made of it
    clock: Callable[[], float]
    region: str = "us-east-1"
    account: str = "000000000000"

    def table(self, name: str | None) -> StoredTable:
        """For reads."""
        found = self.catalog.tables.get(name or "")
        return self.catalog.table(name or "") if found is None else found

    def known_table(self, name: str | None) -> StoredTable:
        """For writes, inside their transaction."""
        return self.writing.known(name or "")

    def at_one_moment(self) -> "EngineContext":
        """The same with the clock standing still: what one transaction writes, it writes at one time."""
        now = self.clock()
        return replace(self, clock=lambda: now)

    def table_arn(self, name: str) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{name}"
