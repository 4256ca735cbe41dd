"""The index of a table's history by item: the numbers of the changes of one item, without reading those of others.

A write pays nothing for it. Background work reads the records that are not indexed yet, a thousand at a time, and adds
a *run*: the hashes of their items with their numbers, sorted. Many short runs become a long one.

    number     1 ............. 64000 | ..65000 | ..66000 | 66001 ......... now
    where      one run of 64 rows    | a run   | a run   | not indexed yet: the records themselves

    row        first number of the run, its last number, first entry  ->  entries of 16 bytes: hash of item, number

A run is added in one transaction under the condition that the records before it are indexed, and its key says how far
that is. So the work can end at any moment, go on in another process, and begin again from an empty space. A run is
dropped when the history has none of its records any more.
"""

from bisect import bisect_left
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

try:
    from _blake2 import blake2b  # as in `key_encoding`
except ImportError:
    from hashlib import blake2b

from msgspec.structs import replace

from partita.engine.change_log import NUMBER_BYTES, last_number, number_key, oldest_number
from partita.engine.context import EngineContext
from partita.engine.history import DAY, oldest_first
from partita.engine.schema import RecoveryRecord, StoredTable
from partita.engine.writer import Writer
from partita.storage.contract import Reader, Row, StorageTransaction, Write

RUN_RECORDS = 1000  # of a short run, which is one row
RUN_BYTES = 1_000_000  # of the records of a short run
MERGED_RUNS = 64
_ENTRY = 16
_HASH = 8


class Run(NamedTuple):
    """The numbers of the first and the last record of a run."""

    first: int
    last: int

    @property
    def prefix(self) -> bytes:
        return number_key(self.first) + number_key(self.last)


def item_hash(storage_key: bytes) -> bytes:
    """Equal for equal items; the record itself tells apart the few others with the same hash."""
    return blake2b(storage_key, digest_size=_HASH).digest()


def run_of(key: bytes) -> Run:
    """The run of a row."""
    return Run(int.from_bytes(key[:NUMBER_BYTES], "big"), int.from_bytes(key[NUMBER_BYTES : 2 * NUMBER_BYTES], "big"))


def indexed_to(reader: Reader, recovery: RecoveryRecord | None) -> int:
    """The number of the last record that is indexed; 0 when there is none."""
    newest = None if recovery is None or recovery.by_item is None else reader.last_key(recovery.by_item)
    return 0 if newest is None else run_of(newest).last


def changes_of(reader: Reader, recovery: RecoveryRecord, storage_key: bytes, below: int) -> Iterator[int]:
    """The numbers of the indexed changes of an item, and of a few others, below `below`, the newest first."""
    if recovery.by_item is None:
        return
    wanted = item_hash(storage_key)
    for run in _newest_runs(reader, recovery.by_item, below):
        end = run.prefix + wanted + b"\xff" * NUMBER_BYTES + b"\0"
        for key, _, value in reader.range(recovery.by_item, run.prefix, end, reverse=True):
            yield from (number for number in _numbers(value, wanted) if number < below)
            if key[len(run.prefix) :][:_HASH] < wanted:
                break


def _newest_runs(reader: Reader, space: str, below: int) -> Iterator[Run]:
    high = number_key(below)
    while (row := next(iter(reader.range(space, b"", high, reverse=True)), None)) is not None:
        yield (run := run_of(row[0]))
        high = run.prefix


def _numbers(value: bytes, wanted: bytes) -> Iterator[int]:
    """The numbers with a hash in a row, the highest first."""
    count = len(value) // _ENTRY
    first = bisect_left(range(count), wanted, key=lambda at: value[at * _ENTRY : at * _ENTRY + _HASH])
    end = first
    while end < count and value.startswith(wanted, end * _ENTRY):
        end += 1
    for at in range(end - 1, first - 1, -1):
        yield int.from_bytes(value[at * _ENTRY + _HASH : (at + 1) * _ENTRY], "big")


class HistoryIndexing:
    """The background work of one process: adds, merges and drops runs."""

    def __init__(self, context: EngineContext, writer: Writer) -> None:
        self._context = context
        self._writer = writer
        self._checked: dict[str, int] = {}  # the last number of a table at the last look

    def step(self, table: StoredTable) -> bool:
        """Adds the next run of a table, or merges or drops some; true if more is due."""
        recovery = table.record.recovery
        if recovery is None:
            self._checked.pop(table.name, None)
            return False
        if recovery.by_item is None:
            return bool(self._writer.run(partial(_create_space, self._context, table.name)))
        if not self._add(table, recovery):
            return self._drop(table, recovery)
        self._merge(table, recovery)
        return True

    def _add(self, table: StoredTable, recovery: RecoveryRecord) -> bool:
        storage, space = self._context.storage, recovery.by_item
        assert space is not None
        newest = last_number(storage, table)
        if self._checked.get(table.name) == newest:
            return False  # no records since the last look
        with storage.snapshot() as reader:
            mark = indexed_to(reader, recovery)
            entries, size, last = _next_entries(reader, table, mark)
        if len(entries) < RUN_RECORDS and size < RUN_BYTES:
            self._checked[table.name] = newest
            return False
        self._checked.pop(table.name, None)
        run = Run(mark + 1, last)
        return self._replaced(table, recovery, [], list(_row_writes(space, run, sorted(entries))), mark)

    def _merge(self, table: StoredTable, recovery: RecoveryRecord) -> None:
        """Replaces the last runs by a long one, when so many of them are short."""
        space = recovery.by_item
        assert space is not None
        newest = self._context.storage.range(space, b"", None, reverse=True)
        rows = list(islice(newest, MERGED_RUNS + 1))  # with one more, which tells whether the oldest is a short run
        if len({run_of(key) for key, _, _ in rows}) < len(rows) or len(rows) < MERGED_RUNS:
            return
        del rows[MERGED_RUNS:]
        runs = [run_of(key) for key, _, _ in rows]
        merged = Run(min(runs).first, max(runs).last)
        entries = sorted(chain.from_iterable(entries_of(value) for _, _, value in rows))
        old = [Write(space, key, Row(weight, value), None) for key, weight, value in rows]
        self._replaced(table, recovery, old, list(_row_writes(space, merged, entries)), merged.last)

    def _drop(self, table: StoredTable, recovery: RecoveryRecord) -> bool:
        """Drops the oldest run when the history has none of its records any more."""
        storage, space = self._context.storage, recovery.by_item
        assert space is not None
        oldest = next(iter(storage.range(space, b"", None)), None)
        behind = oldest_number(table.record, self._context.clock(), recovery.days * DAY)
        if oldest is None or (run := run_of(oldest[0])).last >= behind:
            return False
        with storage.snapshot() as reader:
            first = next(oldest_first(reader, table, 0), None)
            mark = indexed_to(reader, recovery)
            if first is not None and first[0] <= run.last:
                return False
            rows = reader.range(space, run.prefix, number_key(run.first + 1))
            old = [Write(space, key, Row(weight, value), None) for key, weight, value in rows]
        return self._replaced(table, recovery, old, [], mark)

    def _replaced(
        self, table: StoredTable, recovery: RecoveryRecord, old: list[Write], new: list[Write], mark: int
    ) -> bool:
        """Replaces rows, unless another process has done so meanwhile."""

        def job(txn: StorageTransaction) -> bool:
            current = self._context.write_catalog.tables.get(table.name)
            now = None if current is None else current.record.recovery
            if now is None or now.by_item != recovery.by_item or indexed_to(txn, now) != mark:
                return False
            if any(txn.get(each.space, each.key) is None for each in old):
                return False
            txn.apply([*old, *new])
            return True

        return bool(self._writer.run(job))


def _create_space(context: EngineContext, name: str, txn: StorageTransaction) -> bool:
    """For a table whose recovery was enabled by a version without the index."""
    table = context.write_catalog.tables.get(name)
    if table is None or table.record.recovery is None or table.record.recovery.by_item is not None:
        return False
    (space,) = context.write_catalog.new_spaces(txn, 1)
    after = replace(table.record, recovery=replace(table.record.recovery, by_item=space))
    context.write_catalog.save(txn, after, table.record)
    return True


def _next_entries(reader: Reader, table: StoredTable, mark: int) -> tuple[list[bytes], int, int]:
    """The entries of the records behind a mark for one run, the bytes of these records, and the last number."""
    entries: list[bytes] = []
    size, last = 0, mark
    for last, undo in oldest_first(reader, table, mark):
        entries.append(item_hash(undo.storage_key) + number_key(last))
        size += len(undo.storage_key) + (len(undo.old.value) if undo.old else 0)
        if len(entries) == RUN_RECORDS or size >= RUN_BYTES:
            break
    return entries, size, last


def _row_writes(space: str, run: Run, entries: list[bytes]) -> Iterator[Write]:
    for at in range(0, len(entries), RUN_RECORDS):
        value = b"".join(entries[at : at + RUN_RECORDS])
        yield Write(space, run.prefix + value[:_ENTRY], None, Row(len(value), value))


def entries_of(value: bytes) -> list[bytes]:
    """The entries of a row."""
    return [value[at : at + _ENTRY] for at in range(0, len(value), _ENTRY)]


def index_problems(reader: Reader, table: StoredTable, space: str) -> Iterator[str]:
    """One sentence for each run that is not that of its records, and for records between runs."""
    name = f"{table.name}: history by item"
    records = oldest_first(reader, table, 0)
    record = next(records, None)
    oldest = 0 if record is None else record[0]
    position = b""
    while (row := next(iter(reader.range(space, position, None)), None)) is not None:
        run = run_of(row[0])
        position = number_key(run.first + 1)
        expected: list[bytes] = []
        while record is not None and record[0] <= run.last:
            if record[0] < run.first:
                yield f"{name}: change {record[0]} is missing"
            expected.append(item_hash(record[1].storage_key) + number_key(record[0]))
            record = next(records, None)
        rows = list(reader.range(space, run.prefix, position))
        actual = [each for _, _, value in rows for each in entries_of(value)]
        kept = [each for each in actual if int.from_bytes(each[_HASH:], "big") >= oldest]
        if kept != sorted(expected) or any(key != run.prefix + value[:_ENTRY] for key, _, value in rows):
            yield f"{name}: the run {run.first} to {run.last} differs from its records"
