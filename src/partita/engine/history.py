"""History: how to undo the changes of a table, back to the beginning of its recovery window.

    number         1 ................ 5000 | 5001 ............ 9000 | 9001 ........ now
    where          history: block          | history: block         | change log: one record each

A write adds one record to the change log, in its own transaction; that is all it pays. Background work moves older
records into blocks, which have the old images only, compressed. The key of a block is the number of its first record,
then that of its last. A block is deleted as a whole, so it never spans more than an hour: an image outlives the
recovery window by no more.
"""

import math
import struct
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, takewhile

from msgspec.structs import replace

from partita.dynamodb.limits import ITERATOR_SECONDS, STREAM_RETENTION_SECONDS
from partita.engine.change_log import (
    NUMBER_BYTES,
    Undo,
    decode_undo,
    encode_undo,
    number_key,
    oldest_number,
)
from partita.engine.context import EngineContext
from partita.engine.schema import StoredTable, TableRecord
from partita.storage.contract import Reader, Row, StorageTransaction, Write

DAY = 86_400.0
ARCHIVE_SECONDS = 900.0  # that records stay in the change log of a table without stream
BLOCK_SECONDS = 3600.0
BLOCK_BYTES = 256 * 1024
BLOCK_RECORDS = 1000
_LEVEL = 3  # of zlib: 6 takes twice the time for 3 % less
_ENTRY = struct.Struct(">QI")  # the number of a record, and its length


def newest_first(reader: Reader, table: StoredTable, below: int) -> Iterator[tuple[int, Undo]]:
    """How to undo the changes with a number below `below`, the newest first."""
    high = number_key(below)
    for key, _, value in reader.range(table.record.changes, b"", high, reverse=True):
        yield int.from_bytes(key, "big"), decode_undo(table, value)
    if table.record.recovery is None:
        return
    for _, _, value in reader.range(table.record.recovery.history, b"", high, reverse=True):
        for number, record in reversed(list(read_block(value))):
            if number < below:
                yield number, decode_undo(table, record)


def recovery_newest_first(reader: Reader, table: StoredTable, below: int) -> Iterator[tuple[int, Undo]]:
    """As `newest_first`, but for changes that were made before recovery was enabled."""
    first = table.record.recovery.first if table.record.recovery else 0
    return takewhile(lambda change: change[0] >= first, newest_first(reader, table, below))


def oldest_first(reader: Reader, table: StoredTable, after: int) -> Iterator[tuple[int, Undo]]:
    """How to undo the changes with a number above `after`, the oldest first, of a table with recovery."""
    assert table.record.recovery is not None
    space, low = table.record.recovery.history, number_key(after + 1)
    newest = reader.last_key(space)
    if newest is not None and int.from_bytes(newest[NUMBER_BYTES:], "big") > after:
        around = next(iter(reader.range(space, b"", low, reverse=True)), None)  # may begin before, and end behind
        for _, _, value in chain([around] if around else [], reader.range(space, low, None)):
            for number, record in read_block(value):
                if number > after:
                    yield number, decode_undo(table, record)
    for key, _, value in reader.range(table.record.changes, low, None):
        yield int.from_bytes(key, "big"), decode_undo(table, value)


def change_numbered(reader: Reader, table: StoredTable, number: int) -> Undo | None:
    """How to undo one change; None where the history does not have it any more."""
    row = next(iter(reader.range(table.record.changes, number_key(number), number_key(number + 1))), None)
    if row is not None:
        return decode_undo(table, row[2])
    if table.record.recovery is None:
        return None
    block = next(iter(reader.range(table.record.recovery.history, b"", number_key(number + 1), reverse=True)), None)
    records = () if block is None else read_block(block[2])
    return next((decode_undo(table, record) for each, record in records if each == number), None)


def read_block(value: bytes) -> Iterator[tuple[int, bytes]]:
    """The records of a block, the oldest first."""
    content, at = zlib.decompress(value), 0
    while at < len(content):
        number, length = _ENTRY.unpack_from(content, at)
        at += _ENTRY.size + length
        yield number, content[at - length : at]


def block_write(space: str, records: list[tuple[int, bytes]]) -> Write:
    """The write of a block."""
    content = b"".join(_ENTRY.pack(number, len(record)) + record for number, record in records)
    compressed = zlib.compress(content, _LEVEL)
    key = number_key(records[0][0]) + number_key(records[-1][0])
    return Write(space, key, None, Row(len(compressed), compressed))


def window(record: TableRecord, now: float) -> tuple[int, int]:
    """The earliest and the latest second that a table with recovery can be restored to.

    The first second is that in which recovery was enabled, and means the moment of enabling.
    """
    assert record.recovery is not None
    latest = int(now)
    return min(latest, max(int(record.recovery.beginning(now)), math.ceil(now - record.recovery.days * DAY))), latest


def is_due(reader: Reader, table: StoredTable, now: float) -> bool:
    """Whether there are records to archive, or blocks to drop."""
    record = table.record
    if record.recovery is None or record.snapshots:
        return False
    first = next(iter(reader.range(record.changes, b"", number_key(_archive_below(record, now)))), None)
    return first is not None or bool(_outdated_blocks(reader, record, now))


def archive(context: EngineContext, name: str, txn: StorageTransaction) -> bool:
    """Moves older records of one table into a block, and drops the blocks behind its window; true if more is due."""
    table = context.write_catalog.tables.get(name)
    if table is None or table.record.recovery is None or table.record.snapshots:
        return False  # a copy of the table may need what would be dropped
    record, recovery, now = table.record, table.record.recovery, context.clock()
    taken, is_full = _block_records(txn.range(record.changes, b"", number_key(_archive_below(record, now))))
    is_old = bool(taken) and int.from_bytes(taken[0][0], "big") < oldest_number(
        record, now, _keep(record) + BLOCK_SECONDS
    )
    writes: list[Write] = []
    if is_full or is_old:
        undos = [(int.from_bytes(key, "big"), decode_undo(table, row.value)) for key, row in taken]
        writes.append(block_write(recovery.history, [(number, encode_undo(*undo)) for number, undo in undos]))
        writes.extend(Write(record.changes, key, row, None) for key, row in taken)
    outdated = _outdated_blocks(txn, record, now)
    writes.extend(Write(recovery.history, key, row, None) for key, row in outdated)
    txn.apply(writes)
    if outdated:
        cut = recovery.cut(_end_of_block(table, outdated[-1][1]))
        context.write_catalog.save(txn, replace(record, recovery=cut), record)
    return bool(writes)


def _end_of_block(table: StoredTable, block: Row) -> float:
    """The time of the newest change in a block."""
    *_, (_, newest) = read_block(block.value)
    return decode_undo(table, newest).at


def _keep(record: TableRecord) -> float:
    """The seconds that a record stays in the change log: a stream reads it there."""
    return STREAM_RETENTION_SECONDS + ITERATOR_SECONDS if record.streams else ARCHIVE_SECONDS


def _archive_below(record: TableRecord, now: float) -> int:
    return oldest_number(record, now, _keep(record))


def _block_records(rows: Iterable[tuple[bytes, int, bytes]]) -> tuple[list[tuple[bytes, Row]], bool]:
    """The records of the next block, and whether it is as large or as long as a block may be."""
    taken: list[tuple[bytes, Row]] = []
    size = 0
    for key, weight, value in rows:
        if taken and int.from_bytes(key, "big") - int.from_bytes(taken[0][0], "big") > BLOCK_SECONDS * 1_000_000:
            return taken, True
        taken.append((key, Row(weight, value)))
        size += len(value)
        if size >= BLOCK_BYTES or len(taken) == BLOCK_RECORDS:
            return taken, True
    return taken, False


def _outdated_blocks(reader: Reader, record: TableRecord, now: float) -> list[tuple[bytes, Row]]:
    """Some blocks whose newest record is behind the window."""
    assert record.recovery is not None
    oldest = oldest_number(record, now, record.recovery.days * DAY)
    found: list[tuple[bytes, Row]] = []
    for key, weight, value in reader.range(record.recovery.history, b"", number_key(oldest)):
        if int.from_bytes(key[NUMBER_BYTES:], "big") >= oldest or len(found) == 20:
            break
        found.append((key, Row(weight, value)))
    return found


def history_bytes(reader: Reader, record: TableRecord) -> int:
    """The size of the history: the change log, the compressed blocks, and their index by item."""
    spaces = [record.changes]
    if record.recovery is not None:
        spaces += [record.recovery.history, *filter(None, [record.recovery.by_item])]
    return sum(reader.totals(each).weight for each in spaces)
