"""Fills the indexes of a new table that has all of its items: of a restore, or of an import.

Rows of an index are in another order than their items. Added item by item, nearly each of them changes a page of its
own, and the write-ahead log gets ten times the bytes of the index. So the rows are sorted first, outside of the
database (`row_sorter`), and then added in the order of their keys, in transactions of bounded size:

    items --- sorted by the keys of each index, in temporary files ---> added behind the mark `fill.filled_to`

Nobody else can write to the table meanwhile. After a crash the rows are sorted again, and added from the mark on. Of
the processes on one file the one that has the lock does it; the mark decides, the lock only saves the others the work.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from partita.engine.context import EngineContext
from partita.engine.row_blocks import first_rows
from partita.engine.row_sorter import RUN_BYTES, RowSorter
from partita.engine.schema import FillRecord, StoredTable, TableRecord
from partita.engine.snapshots import bounded_rows
from partita.engine.write import ItemVersion, index_row
from partita.engine.writer import Writer
from partita.storage.contract import Row, StorageTransaction, Write

SORTED_ROWS = 10_000  # of a step
ADDED_ROWS = 4000
ADDED_BYTES = 4_000_000

Finish = Callable[[StorageTransaction, TableRecord], None]


def begin_fill(record: TableRecord) -> TableRecord:
    """The record of a table that has its items, and not yet the rows of its indexes."""
    return replace(record, fill=FillRecord())


class IndexFill:
    """The fill of one table's indexes, as far as this process has come."""

    def __init__(self, context: EngineContext, writer: Writer, name: str, finish: Finish) -> None:
        """`finish` is called in the transaction that completes the table."""
        self._context = context
        self._finish = finish
        self._writer = writer
        self._name = name
        self._lock = WorkLock(getattr(context.storage, "path", None))
        self._sorters: dict[str, RowSorter] | None = None
        self._sorted_to: bytes | None = b""
        self._rows: Iterator[tuple[bytes, Row]] | None = None

    def step(self) -> bool:
        """Sorts or adds some rows; true if this process has more to do."""
        target = self._context.catalog.restoring.get(self._name)
        if target is None or target.record.fill is None:
            self.close()
            return False
        if not self._lock.acquire():
            return False
        try:
            if self._sorted_to is not None:
                self._sort_some(target)
                return True
            return self._add_some(target, target.record.fill)
        except BaseException:
            self._forget_step()
            raise

    def _forget_step(self) -> None:
        """Does what a failed step has read again: sorted rows from the mark on, or all rows of the table."""
        self._rows = None
        if self._sorted_to is not None:
            self._drop_sorters()
            self._sorted_to = b""

    def _drop_sorters(self) -> None:
        for sorter in (self._sorters or {}).values():
            sorter.close()
        self._sorters = None

    def close(self) -> None:
        self._drop_sorters()
        self._rows = None
        self._lock.release()

    def _sort_some(self, target: StoredTable) -> None:
        waiting = [each for each in target.indexes.values() if each.record.backfilled_to is not None]
        if self._sorters is None:
            size = RUN_BYTES * 2 // (1 + len(waiting))
            self._sorters = {each.name: RowSorter(self._lock.folder, size) for each in waiting}
        assert self._sorted_to is not None
        low = self._sorted_to + b"\0" if self._sorted_to else b""
        rows, reached = bounded_rows(self._context.storage.range(target.space, low, None), SORTED_ROWS, ADDED_BYTES * 4)
        for key, row in rows:
            image = ItemVersion(row)
            for index in waiting:
                index_key = index.storage_key(image.item, key)
                if index_key is not None:
                    self._sorters[index.name].add(index_key, index_row(index, image))
        self._sorted_to = reached

    def _add_some(self, target: StoredTable, fill: FillRecord) -> bool:
        index = next(each for each in target.indexes.values() if each.record.backfilled_to is not None)
        assert self._sorters is not None
        if self._rows is None:
            self._rows = self._sorters[index.name].merged(bytes.fromhex(fill.filled_to))
        rows = list(bounded_slice(self._rows))

        def job(txn: StorageTransaction) -> TableRecord | None:
            found = self._context.write_catalog.restoring.get(self._name)
            if found is None or found.record.fill != fill:
                return None  # another process has gone on with it
            txn.apply(Write(index.space, key, None, row) for key, row in rows)
            record = _moved(found.record, index.name, rows[-1][0] if rows else None)
            self._context.write_catalog.save(txn, record, found.record)
            if record.fill is None:
                self._finish(txn, found.record)
            return record

        done = self._writer.run(job)
        if done is None or not rows:
            self._rows = None
        return done is None or done.fill is not None


def bounded_slice(rows: Iterator[tuple[bytes, Row]]) -> Iterator[tuple[bytes, Row]]:
    """The rows of one transaction."""
    return first_rows(rows, ADDED_ROWS, ADDED_BYTES)


def _moved(record: TableRecord, index: str, reached: bytes | None) -> TableRecord:
    """The record with the mark moved; at the end of the last index the table is complete."""
    if reached is not None:
        return replace(record, fill=FillRecord(filled_to=reached.hex()))
    indexes = [replace(each, backfilled_to=None) if each.name == index else each for each in record.indexes]
    record = replace(record, indexes=indexes, fill=FillRecord())
    return record if any(each.backfilled_to is not None for each in indexes) else completed(record)


def completed(record: TableRecord) -> TableRecord:
    """The record of a table that can be used."""
    restore = replace(record.restore, is_running=False, saved=None) if record.restore else None
    return replace(record, fill=None, restore=restore, importing=None)


class WorkLock:
    """A lock on a file beside the database; it ends with its process. Without a file there is one process only."""

    def __init__(self, path: str | None, kind: str = "filling") -> None:
        self.path = path
        self._file = f"{path}-{kind}"
        self._descriptor: int | None = None

    @property
    def folder(self) -> str | None:
        """The folder of the database, for temporary files."""
        return None if self.path is None else str(Path(self.path).absolute().parent)

    def acquire(self) -> bool:
        if self._descriptor is not None or self.path is None:
            return True
        try:
            import fcntl
        except ImportError:  # Windows
            return True
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_locked = os.path.samestat(os.fstat(descriptor), os.stat(self._file))  # noqa: PTH116
        except OSError:
            is_locked = False  # another process has the lock, or has just deleted the file
        if not is_locked:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None and self.path is not None:
            with suppress(OSError):
                os.unlink(self._file)  # noqa: PTH108
            os.close(self._descriptor)
            self._descriptor = None
