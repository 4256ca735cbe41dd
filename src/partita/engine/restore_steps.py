"""Restores: background work that fills a new table with the items of another moment, or of a backup.

    1  snapshot    the source is copied as it is at the request (`snapshots`), whatever is written meanwhile
    2  undo        changes after the target second, newest first: the oldest old image of an item is saved last
    3  copy        the items of the snapshot, in the order of storage keys
    4  fill        the rows of the indexes, in the order of their keys (`index_fill`)

Each step is a transaction of bounded size that also moves a mark, so a restore goes on after a crash, takes the same
memory for any number of items, and lets writers of the source in between. The new table has status CREATING until the
last step: it can be described, but neither read nor written.
"""

from msgspec.structs import replace

from partita.engine.context import EngineContext
from partita.engine.history import recovery_newest_first
from partita.engine.index_fill import begin_fill, completed
from partita.engine.schema import RestoreRecord, StoredTable, TableRecord
from partita.engine.snapshots import NO_ITEM, next_rows, snapshot_of, with_mark
from partita.engine.table_backups import backup_rows, find_backup
from partita.engine.write import ItemVersion, derived_writes
from partita.storage.contract import Row, StorageTransaction, Write

MAX_UNDONE = 2000  # changes in one transaction
MAX_UNDONE_BYTES = 4_000_000


def restore_step(context: EngineContext, name: str, txn: StorageTransaction) -> bool:
    """Does one batch for a table that is being restored; true if there is more."""
    target = context.write_catalog.restoring.get(name)
    if target is None or target.record.restore is None or target.record.restore.error is not None:
        return False
    if target.record.fill is not None:
        return True  # another process has just copied the last items
    restore = target.record.restore
    if restore.backup is not None:
        return _copy_backup(context, txn, target, restore)
    source = context.write_catalog.tables[restore.source]
    if restore.undo_below is not None:
        _undo(context, txn, target.record, source, restore, restore.undo_below)
        return True
    snapshot = snapshot_of(source.record, restore.saved)
    rows, reached = next_rows(txn, source, snapshot)
    add_items(txn, target, rows)
    context.write_catalog.save(txn, with_mark(source.record, snapshot, reached), source.record)
    return True if reached is not None else _finish(context, txn, target.record, restore)


def _copy_backup(context: EngineContext, txn: StorageTransaction, target: StoredTable, restore: RestoreRecord) -> bool:
    backup = find_backup(context, txn, restore.backup)
    assert backup is not None  # it cannot be deleted meanwhile
    rows, reached = backup_rows(txn, backup, restore.copied_to)
    add_items(txn, target, rows)
    if reached is None:
        return _finish(context, txn, target.record, restore)
    moved = replace(restore, copied_to=reached.hex())
    context.write_catalog.save(txn, replace(target.record, restore=moved), target.record)
    return True


def _undo(
    context: EngineContext,
    txn: StorageTransaction,
    record: TableRecord,
    source: StoredTable,
    restore: RestoreRecord,
    below: int,
) -> None:
    """Saves the items as they were before some changes, until one that was made at the target second or earlier."""
    reached = undo_changes(txn, source, restore.saved or "", below, restore.at)
    context.write_catalog.save(txn, replace(record, restore=replace(restore, undo_below=reached)), record)


def undo_changes(
    txn: StorageTransaction, source: StoredTable, saved: str, below: int, at: float, *, is_exclusive: bool = False
) -> int | None:
    """Saves items as they were before some changes, newest first, until one that was made at a second or earlier.

    Returns the number below which there may be more; None at the end. `is_exclusive` undoes those at the second too.
    """
    oldest: dict[bytes, Row] = {}
    size = undone = 0
    reached: int | None = None
    for number, undo in recovery_newest_first(txn, source, below):
        if undo.at < at or (undo.at == at and not is_exclusive):
            break
        oldest[undo.storage_key] = undo.old or NO_ITEM
        undone, size = undone + 1, size + (len(undo.old.value) if undo.old else 0)
        if undone == MAX_UNDONE or size > MAX_UNDONE_BYTES:
            reached = number
            break
    txn.apply(Write(saved, key, txn.get(saved, key), oldest[key]) for key in sorted(oldest))
    return reached


def add_items(txn: StorageTransaction, table: StoredTable, rows: list[tuple[bytes, Row]]) -> None:
    """Adds items to a table that nobody else can write to, with what follows from them but for unfilled indexes."""
    writes: list[Write] = []
    for key, row in rows:
        writes.append(Write(table.space, key, None, row))
        writes.extend(derived_writes(table, key, ItemVersion(row)))
    txn.apply(writes)


def _finish(context: EngineContext, txn: StorageTransaction, record: TableRecord, restore: RestoreRecord) -> bool:
    """Ends the copy; true if the indexes have to be filled."""
    copied = replace(record, restore=replace(restore, saved=None))
    context.write_catalog.save(txn, begin_fill(copied) if record.indexes else completed(copied), record)
    return bool(record.indexes)


def fail_restore(context: EngineContext, name: str, error: str, txn: StorageTransaction) -> None:
    """Ends a restore that cannot go on: its table can only be deleted."""
    target = context.write_catalog.restoring.get(name)
    if target is None or target.record.restore is None:
        return
    restore = target.record.restore
    source = context.write_catalog.tables.get(restore.source)
    if source is not None and restore.saved is not None:
        kept = [each for each in source.record.snapshots if each.saved != restore.saved]
        context.write_catalog.save(txn, replace(source.record, snapshots=kept), source.record)
    failed = replace(restore, saved=None, error=error)
    context.write_catalog.save(txn, replace(target.record, restore=failed), target.record)
