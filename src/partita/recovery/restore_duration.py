"""How long a restore on this engine takes, about: from the number and the size of the rows that it writes.

The costs were measured, power-safe, with items of 100 bytes to 4 KB and up to three indexes; `python -m bench.recovery`
prints the expected duration beside the measured one.
"""

from datetime import timedelta

import msgspec

from partita.dynamodb.backup_shapes import BackupDescription
from partita.dynamodb.shapes import TableDescription

START_SECONDS = 0.2
ITEM_SECONDS, ITEM_BYTE_SECONDS = 8e-6, 8e-9
INDEX_ROW_SECONDS, INDEX_BYTE_SECONDS = 16e-6, 18e-9  # rows of an index are sorted first


class TableSize(msgspec.Struct, frozen=True):
    """The rows of a table, and of each of its indexes: their number and bytes."""

    items: int
    size: int
    indexes: tuple[tuple[int, int], ...] = ()

    @property
    def restore_duration(self) -> timedelta:
        table = self.items * ITEM_SECONDS + self.size * ITEM_BYTE_SECONDS
        indexes = (rows * INDEX_ROW_SECONDS + size * INDEX_BYTE_SECONDS for rows, size in self.indexes)
        return timedelta(seconds=START_SECONDS + table + sum(indexes))


def size_of_table(table: TableDescription | None) -> TableSize:
    if table is None:
        return TableSize(0, 0)
    indexes = [
        *(table.local_secondary_indexes or ()),
        *(table.global_secondary_indexes or ()),
        *(table.vector_indexes or ()),
    ]
    sizes = tuple((each.item_count or 0, each.index_size_bytes or 0) for each in indexes)
    return TableSize(table.item_count or 0, table.table_size_bytes or 0, sizes)


def size_of_backup(backup: BackupDescription | None) -> TableSize:
    """A backup does not have the sizes of indexes: each may be as large as the table."""
    source = backup.source_table_details if backup else None
    features = backup.source_table_feature_details if backup else None
    items, size = ((source.item_count or 0), (source.table_size_bytes or 0)) if source else (0, 0)
    indexes = 0
    if features is not None:
        known = (features.local_secondary_indexes, features.global_secondary_indexes, features.vector_indexes)
        indexes = sum(len(each or ()) for each in known)
    return TableSize(items, size, ((items, size),) * indexes)
