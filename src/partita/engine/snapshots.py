"""Snapshots: a table is copied in batches, as it was at one moment, while it is written to.

    storage keys   | copied ............ |mark| not yet copied ............ |
    a write here     does nothing more          saves the item as it was, once

The copy goes through the table in the order of storage keys. A write beyond the mark saves the item that it replaces,
unless one is saved already. The copy takes the saved items in place of the present ones, so it is exactly the table of
the moment when the snapshot began. The mark and the saved items are in storage: a copy goes on after a crash, and
writers of all processes take part. Nothing is locked between two batches.

A restore to a point in time begins with a snapshot, too; `restore_steps` replaces its saved items by older ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from partita.engine.schema import SnapshotRecord, StoredTable, TableRecord
from partita.storage.contract import Reader, Row, Write

NO_ITEM = Row(0, b"")  # saved where there was no item

MAX_ROWS = 2000  # of a batch
MAX_BYTES = 2_000_000


def saving_writes(reader: Reader, table: StoredTable, storage_key: bytes, before: Row | None) -> Iterator[Write]:
    """The writes that save an item for the snapshots that have not copied it yet."""
    for space, copied_to in table.snapshots:
        if storage_key > copied_to and reader.get(space, storage_key) is None:
            yield Write(space, storage_key, None, before or NO_ITEM)


class CopiedRows(NamedTuple):
    """The next rows of a copy, and the mark after them; None at the end."""

    rows: list[tuple[bytes, Row]]
    reached: bytes | None


def next_rows(
    reader: Reader,
    table: StoredTable,
    snapshot: SnapshotRecord,
    max_rows: int | None = None,
    max_bytes: int | None = None,
) -> CopiedRows:
    """The rows of a snapshot after its mark, some at a time."""
    low = after(snapshot.copied_to)
    present, present_to = bounded_rows(reader.range(table.space, low, None), max_rows, max_bytes)
    high = None if present_to is None else present_to + b"\0"
    saved, saved_to = bounded_rows(reader.range(snapshot.saved, low, high), max_rows, max_bytes)
    reached = present_to if saved_to is None else saved_to
    if not saved:
        return CopiedRows(present, reached)
    merged = dict(present) | dict(saved)
    keys = sorted(key for key, row in merged.items() if row != NO_ITEM and (reached is None or key <= reached))
    return CopiedRows([(key, merged[key]) for key in keys], reached)


class CopiedValues(NamedTuple):
    """The next items of a copy, their size, and the mark after them; None at the end."""

    values: Sequence[bytes]
    size: int
    reached: bytes | None


def next_values(reader: Reader, table: StoredTable, snapshot: SnapshotRecord, max_rows: int) -> CopiedValues:
    """The items of a snapshot after its mark, as `next_rows` has them, in less time where none of them is saved."""
    low = after(snapshot.copied_to)
    batch = next(iter(reader.batches(table.space, low, None, expected=max_rows)), None)
    if batch is not None and len(batch.keys) <= max_rows:
        high = batch.keys[-1] + b"\0"
        if next(iter(reader.range(snapshot.saved, low, high)), None) is None:
            return CopiedValues(batch.values, sum(batch.weights), batch.keys[-1])
    rows, reached = next_rows(reader, table, snapshot, max_rows)
    return CopiedValues([row.value for _, row in rows], sum(row.weight for _, row in rows), reached)


def bounded_rows(
    rows: Iterable[tuple[bytes, int, bytes]], max_rows: int | None = None, max_bytes: int | None = None
) -> tuple[list[tuple[bytes, Row]], bytes | None]:
    """The first rows of a range, and the key of the last of them; None where these are all."""
    max_rows, max_bytes = max_rows or MAX_ROWS, max_bytes or MAX_BYTES
    taken: list[tuple[bytes, Row]] = []
    size = 0
    for key, weight, value in rows:
        taken.append((key, Row(weight, value)))
        size += len(value)
        if len(taken) == max_rows or size >= max_bytes:
            return taken, key
    return taken, None


def after(mark: str) -> bytes:
    """The lowest storage key behind a mark."""
    return bytes.fromhex(mark) + b"\0" if mark else b""


def snapshot_of(record: TableRecord, saved: str | None) -> SnapshotRecord:
    return next(each for each in record.snapshots if each.saved == saved)


def with_mark(record: TableRecord, snapshot: SnapshotRecord, reached: bytes | None) -> TableRecord:
    """The record with the mark of a snapshot moved, or without the snapshot at its end."""
    others = [each for each in record.snapshots if each.saved != snapshot.saved]
    if reached is None:
        return replace(record, snapshots=others)
    return replace(record, snapshots=[*others, replace(snapshot, copied_to=reached.hex())])
