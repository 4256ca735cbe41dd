"""The context of operations: the storage, its tables, the clock, and the region and account of ARNs."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from partita.dynamodb.exceptions import AccessDeniedException, ResourceInUseException
from partita.engine.catalog import Catalog, name_of
from partita.engine.schema import StoredTable
from partita.engine.vector_memory import VectorMemory
from partita.storage.contract import Storage, StorageTransaction

if TYPE_CHECKING:
    from partita.engine.buckets import Buckets

Job: TypeAlias = Callable[[StorageTransaction], Any]
"""A prepared write. Run in a transaction, it applies its writes last, all at once, and returns the reply."""


class EngineContext(msgspec.Struct, frozen=True):
    storage: Storage
    catalog: Catalog  # for reads: the committed tables
    write_catalog: Catalog  # for the writer: with the changes of its open transaction
    clock: Callable[[], float]
    region: str = "us-east-1"
    account: str = "000000000000"
    vectors: VectorMemory = msgspec.field(default_factory=VectorMemory)
    bucket_folder: "str | os.PathLike[str] | None" = None

    @property
    def buckets(self) -> "Buckets":
        """The buckets of exports, imports and bulk puts; few programs use any."""
        from partita.engine.buckets import Buckets

        return Buckets(self.bucket_folder)

    def table(self, name: str | None) -> StoredTable:
        """The table by name or ARN, for a read."""
        found = self.catalog.tables.get(name or "")
        return self.catalog.table(name or "") if found is None else found

    def table_for_write(self, name: str | None) -> StoredTable:
        """The table by name or ARN, for a write of items inside its transaction; one that was moved rejects it."""
        table = self.write_catalog.table_in_txn(name or "")
        if table.record.moved_to is not None:
            raise AccessDeniedException(
                f"Table {table.name} was moved to {table.record.moved_to}, and its items cannot be written here any "
                "more; connect to the new address, or take the move back with partita move --unfence"
            )
        return table

    def table_for_update(self, name: str | None) -> StoredTable:
        """The table by name or ARN, for a change of its settings inside a transaction."""
        return self.write_catalog.table_in_txn(name or "")

    def check_not_restoring(self, name: str | None) -> None:
        """Rejects a change of a table that a restore is filling, inside the transaction of the change."""
        if self.write_catalog.restoring and name_of(name or "") in self.write_catalog.restoring:
            raise ResourceInUseException(
                f"Attempt to change a resource which is still in use: Table is being created: {name}"
            )

    def with_frozen_clock(self) -> "EngineContext":
        """The same context with a stopped clock: all writes of a transaction have one time."""
        now = self.clock()
        return msgspec.structs.replace(self, clock=lambda: now)

    def table_arn(self, name: str) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{name}"
