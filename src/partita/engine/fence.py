"""The fence of tables that were moved: their items cannot be written any more, by no process, also after a restart.

It is a member of the table's record in the catalogue, which each write transaction reads. Reads go on, and so do
changes of settings, backups, and deleting the table.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from partita.engine.catalog import Catalog
from partita.storage.contract import StorageTransaction


class TableFence:
    """The fences of tables, inside one transaction."""

    def __init__(self, catalog: Catalog, txn: StorageTransaction) -> None:
        self._catalog = catalog
        self._txn = txn

    def targets(self, tables: Iterable[str]) -> set[str | None]:
        """Where some tables were moved to; None is among them if one of them was not, or does not exist."""
        self._catalog.refresh(self._txn)
        found = (self._catalog.tables.get(name) for name in tables)
        return {None if each is None else each.record.moved_to for each in found}

    def set(self, tables: Iterable[str], moved_to: str | None) -> list[str]:
        """Rejects writes to some tables, with the address of their items, or accepts them again (None).

        Returns the tables for which that is a change.
        """
        changed = []
        self._catalog.refresh(self._txn)
        for name in tables:
            before = self._catalog.table_in_txn(name).record
            if before.moved_to != moved_to:
                self._catalog.save(self._txn, replace(before, moved_to=moved_to), before)
                changed.append(name)
        return changed
