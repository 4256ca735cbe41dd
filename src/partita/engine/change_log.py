"""The change log: one record for each change of an item, for streams and for point-in-time recovery.

    table --- change log -+- its stream: the changes of the last 24 hours, in the stream's view type
                          +- its history: how to undo the changes of up to 35 days (`history`)

A record is written where the table has a stream or recovery, and only when the item changed. While there is a stream it
has both images, otherwise only the old one. Records are numbered in the order of commit. A number is at least the time
in microseconds, so it is unique even after the log was trimmed, and the records of a time are found by its number.

A clock that was set forwards and back leaves numbers that lie in the future. Then the age of records is known from
marks: now and then the newest number is written down with the time (`LogMark`).
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import Raw

from partita.dynamodb.canonical import item_size
from partita.dynamodb.values import Item
from partita.engine.schema import LogMark, StoredTable, TableRecord
from partita.storage.contract import Reader, Row, Write

CLOCK_SLACK_SECONDS = 60.0  # that the clocks of processes on one file may differ by
MARK_SECONDS = 900.0  # between two marks
NUMBER_BYTES = 8

_encode = msgspec.json.encode

_ABSENT = Raw(b"")


class LogRecord(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One change: `old` and `new` are the item's bytes before and after (empty: no item), `expired` marks TTL.

    The billed sizes of both are 0 in records of versions that did not store them.
    """

    at: float
    event: str
    keys: Item
    old: Raw = _ABSENT
    new: Raw = _ABSENT
    expired: bool = False
    stored_old_size: int = 0
    stored_new_size: int = 0

    @property
    def old_size(self) -> int:
        return self.stored_old_size or _size(self.old)

    @property
    def new_size(self) -> int:
        return self.stored_new_size or _size(self.new)


_decode = msgspec.json.Decoder(LogRecord).decode


class Undo(NamedTuple):
    """How to undo one change: its time, and the item at a storage key as it was before (None: no item)."""

    at: float
    storage_key: bytes
    old: Row | None


_UNDO_HEAD = struct.Struct(">cdHI")  # the form of the record, the time, the length of the key, the size of the item
_UNDO = b"\1"  # records of streams are JSON and begin with a brace


def encode_undo(at: float, storage_key: bytes, old: Row | None) -> bytes:
    """A record with the old image only."""
    size, image = old or (0, b"")
    return _UNDO_HEAD.pack(_UNDO, at, len(storage_key), size) + storage_key + image


def decode_undo(table: StoredTable, value: bytes) -> Undo:
    """How to undo the change of a record of either form."""
    if value[:1] != _UNDO:
        change = _decode(value)
        image = bytes(change.old)
        old = Row(change.old_size, image) if image else None
        return Undo(change.at, table.keys.storage_key(change.keys), old)
    _, at, length, size = _UNDO_HEAD.unpack_from(value)
    end = _UNDO_HEAD.size + length
    return Undo(at, value[_UNDO_HEAD.size : end], Row(size, value[end:]) if len(value) > end else None)


def change_write(
    reader: Reader,
    table: StoredTable,
    storage_key: bytes,
    keys: Item | None,
    old: Row | None,
    new: Row | None,
    at: float,
    expired: bool,
    offset: int,
    last: int | None,
) -> Write | None:
    """The write of a record; `offset` is the number of earlier records of the transaction, not yet in storage.

    `keys` are the key attributes, which the records of a stream have. `last` is the number of the newest record in
    storage, where the caller knows it.
    """
    if old is not None and new is not None and _same_item(old, new):
        return None
    first = table.stream.first if table.stream else 0  # even when the clock was set back
    last = last_number(reader, table) if last is None else last
    number = max(last + 1, int(at * 1_000_000), first) + offset
    value = encode_undo(at, storage_key, old) if keys is None else _stream_record(keys, old, new, at, expired)
    return Write(table.record.changes, number_key(number), None, Row(len(value), value))


def _stream_record(keys: Item, old: Row | None, new: Row | None, at: float, expired: bool) -> bytes:
    change = LogRecord(
        at=at,
        event="INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
        keys=keys,
        old=Raw(old.value) if old else _ABSENT,
        new=Raw(new.value) if new else _ABSENT,
        expired=expired,
        stored_old_size=old.weight if old else 0,
        stored_new_size=new.weight if new else 0,
    )
    return _encode(change)


def _size(image: Raw) -> int:
    return item_size(msgspec.json.decode(image)) if image else 0


def _same_item(old: Row, new: Row) -> bool:
    """Whether two rows are the same item; attributes have no order, but their bytes do."""
    if old.value == new.value:
        return True
    alike = old.weight == new.weight and len(old.value) == len(new.value)
    return alike and bool(msgspec.json.decode(old.value) == msgspec.json.decode(new.value))


def last_number(reader: Reader, table: StoredTable) -> int:
    """The number of the newest record, which may be in the compressed history; 0 when there is none."""
    newest = reader.last_key(table.record.changes)
    if newest is None and table.record.recovery is not None:
        newest = reader.last_key(table.record.recovery.history)
    return int.from_bytes((newest or b"")[-NUMBER_BYTES:], "big")


def number_at(moment: float) -> int:
    """The lowest number of records at or after a time."""
    return max(0, int(moment * 1_000_000))


def oldest_number(record: TableRecord, now: float, keep: float) -> int:
    """The lowest number of records that are not older than `keep` seconds."""
    marked = [mark.number + 1 for mark in record.log_marks if mark.at < now - keep]
    return max([number_at(now - keep), *marked])


def moved_marks(record: TableRecord, last: int, now: float, oldest: int) -> list[LogMark]:
    """The marks after a while: those below `oldest` are dropped, and one is added while the clock is behind `last`."""
    marks = [LogMark(mark.number, min(mark.at, now)) for mark in record.log_marks if mark.number >= oldest]
    is_behind = last > number_at(now + CLOCK_SLACK_SECONDS)
    if is_behind and (not marks or (marks[-1].number < last and now - marks[-1].at >= MARK_SECONDS)):
        marks.append(LogMark(last, now))
    return marks


def read_changes(
    reader: Reader, table: StoredTable, after: int, limit: int, *, through: int | None = None
) -> Iterator[tuple[int, LogRecord]]:
    """Records of streams with a number above `after`, oldest first, up to `through`."""
    high = None if through is None else number_key(through + 1)
    read = 0
    for key, _, value in reader.range(table.record.changes, number_key(after + 1), high):
        if value[:1] == _UNDO:
            continue
        yield int.from_bytes(key, "big"), _decode(value)
        read += 1
        if read >= limit:
            return


def number_key(number: int) -> bytes:
    """The key of a record in the log."""
    return number.to_bytes(NUMBER_BYTES, "big")
