"""Backups of tables: their records in the catalogue, and the background work that fills and drops them.

    USER     a snapshot of a table (`snapshots`), in compressed blocks of items in the order of storage keys
    SYSTEM   the items of a table with recovery that was deleted, as they were; dropped after 35 days

A backup is in the same file as its table and outlives it. It has the record of the table as it was, so a restore needs
nothing else.
"""

import zlib
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from partita.engine.catalog import SPACE
from partita.engine.context import EngineContext
from partita.engine.key_encoding import prefix_end
from partita.engine.row_blocks import pack_rows, unpack_rows
from partita.engine.schema import SnapshotRecord, TableRecord
from partita.engine.snapshots import CopiedRows, after, bounded_rows, next_rows, with_mark
from partita.storage.contract import Reader, Row, StorageTransaction, Write

SYSTEM_BACKUP_SECONDS = 35 * 86_400.0
_PREFIX = b"\0backup/"  # of keys in the catalogue
_LEVEL = 3
_encode = msgspec.json.encode


class BackupRecord(msgspec.Struct, kw_only=True, frozen=True):
    """The record of a backup in the catalogue; `items` and `size` are those of the table."""

    id: str
    name: str
    type: str
    created: float
    table: TableRecord
    items: int
    size: int
    space: str
    stored: int | None = None  # the bytes of its blocks, when it is complete
    expires: float | None = None

    @property
    def is_available(self) -> bool:
        return self.stored is not None

    @property
    def has_blocks(self) -> bool:
        return self.type == "USER"


_decode = msgspec.json.Decoder(BackupRecord).decode


def backup_arn(context: EngineContext, backup: BackupRecord) -> str:
    return f"{context.table_arn(backup.table.name)}/backup/{backup.id}"


def backups(reader: Reader, after_id: str = "") -> Iterator[BackupRecord]:
    """The backups in the order of their ids, those behind one id."""
    low = _key(after_id) + b"\0" if after_id else _PREFIX
    for _, _, value in reader.range(SPACE, low, prefix_end(_PREFIX)):
        yield _decode(value)


def find_backup(context: EngineContext, reader: Reader, arn: str | None) -> BackupRecord | None:
    row = reader.get(SPACE, _key((arn or "").rpartition("/backup/")[2]))
    found = None if row is None else _decode(row.value)
    return found if found is not None and backup_arn(context, found) == arn else None


def save_backup(txn: StorageTransaction, backup: BackupRecord) -> None:
    """Writes the record of a backup; a new one gets its space."""
    before = txn.get(SPACE, _key(backup.id))
    if before is None and backup.has_blocks:
        txn.create_space(backup.space)
    txn.apply([Write(SPACE, _key(backup.id), before, Row(0, _encode(backup)))])


def drop_backup(txn: StorageTransaction, backup: BackupRecord) -> None:
    txn.drop_space(backup.space)
    txn.apply([Write(SPACE, _key(backup.id), txn.get(SPACE, _key(backup.id)), None)])


def _key(backup_id: str) -> bytes:
    return _PREFIX + backup_id.encode()


def backup_step(context: EngineContext, name: str, snapshot: SnapshotRecord, txn: StorageTransaction) -> bool:
    """Copies one batch of a table into a backup; true if there is more."""
    table = context.write_catalog.tables.get(name)
    if table is None or snapshot not in table.record.snapshots or snapshot.backup is None:
        return False  # another process has gone on with it
    row = txn.get(SPACE, _key(snapshot.backup))
    assert row is not None
    backup = _decode(row.value)
    rows, reached = next_rows(txn, table, snapshot)
    if rows:
        txn.apply([_block_write(backup.space, rows)])
    context.write_catalog.save(txn, with_mark(table.record, snapshot, reached), table.record)
    if reached is None:
        save_backup(txn, replace(backup, stored=txn.totals(backup.space).weight))
    return reached is not None


def fail_backup(context: EngineContext, name: str, snapshot: SnapshotRecord, txn: StorageTransaction) -> None:
    """Drops a backup that cannot be completed."""
    table = context.write_catalog.tables.get(name)
    if table is not None and snapshot in table.record.snapshots and snapshot.backup is not None:
        row = txn.get(SPACE, _key(snapshot.backup))
        if row is not None:
            drop_backup(txn, _decode(row.value))
        context.write_catalog.save(txn, with_mark(table.record, snapshot, None), table.record)


def _block_write(space: str, rows: list[tuple[bytes, Row]]) -> Write:
    compressed = zlib.compress(pack_rows(rows), _LEVEL)
    return Write(space, rows[-1][0], None, Row(len(compressed), compressed))


def backup_rows(reader: Reader, backup: BackupRecord, mark: str) -> CopiedRows:
    """The next items of a backup behind a mark, some at a time."""
    found = reader.range(backup.space, after(mark), None)
    if not backup.has_blocks:
        return CopiedRows(*bounded_rows(found))
    for key, _, value in found:
        return CopiedRows(list(unpack_rows(zlib.decompress(value))), key)
    return CopiedRows([], None)


def drop_expired_backups(context: EngineContext, txn: StorageTransaction) -> None:
    """Drops the backups of deleted tables after 35 days; one from the future counts from now on."""
    now = context.clock()
    in_use = {each.record.restore.backup for each in context.write_catalog.restoring.values() if each.record.restore}
    for backup in list(backups(txn)):
        if backup.expires is None or backup_arn(context, backup) in in_use:
            continue
        if backup.expires <= now:
            drop_backup(txn, backup)
        elif backup.expires > now + SYSTEM_BACKUP_SECONDS:
            save_backup(txn, replace(backup, expires=now + SYSTEM_BACKUP_SECONDS))
