"""The change log: one record for each change of an item, for streams.

    table --- change log --- its stream: the changes of the last 24 hours, in the stream's view type

A record is written where the table has a stream, and only when the item changed. Records are numbered in the order of
commit. A number is at least the time in microseconds, so it is unique even after the log was trimmed, and the records
of a time are found by its number.

A clock that was set forwards and back leaves numbers that lie in the future. Then the age of records is known from
marks: now and then the newest number is written down with the time (`LogMark`).
"""

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from partita.dynamodb.values import Item
from partita.engine.schema import LogMark, StoredTable, TableRecord
from partita.storage.contract import Reader, Row, Write

CLOCK_SLACK_SECONDS = 60.0  # that the clocks of processes on one file may differ by
MARK_SECONDS = 900.0  # between two marks

_encode = msgspec.json.encode

_ABSENT = Raw(b"")


class LogRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One change: `old` and `new` are the item's bytes before and after (empty: no item), `expired` marks TTL."""

    at: float
    event: str
    keys: Item
    old: Raw = _ABSENT
    new: Raw = _ABSENT
    expired: bool = False


_decode = msgspec.json.Decoder(LogRecord).decode


def change_write(
    reader: Reader,
    table: StoredTable,
    keys: Item,
    old: Row | None,
    new: Row | None,
    at: float,
    expired: bool,
    offset: int,
    last: int | None,
) -> Write | None:
    """The write of a record; `offset` is the number of earlier records of the transaction, not yet in storage.

    `last` is the number of the newest record in storage, where the caller knows it.
    """
    if old is not None and new is not None and _same_item(old, new):
        return None
    event = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
    change = LogRecord(
        at=at,
        event=event,
        keys=keys,
        old=Raw(old.value) if old else _ABSENT,
        new=Raw(new.value) if new else _ABSENT,
        expired=expired,
    )
    first = table.stream.first if table.stream else 0  # even when the clock was set back
    last = last_number(reader, table) if last is None else last
    number = max(last + 1, int(at * 1_000_000), first) + offset
    return Write(table.record.changes, number.to_bytes(8, "big"), None, Row(0, _encode(change)))


def _same_item(old: Row, new: Row) -> bool:
    """Whether two rows are the same item; attributes have no order, but their bytes do."""
    if old.value == new.value:
        return True
    alike = old.weight == new.weight and len(old.value) == len(new.value)
    return alike and bool(msgspec.json.decode(old.value) == msgspec.json.decode(new.value))


def last_number(reader: Reader, table: StoredTable) -> int:
    """The number of the newest record; 0 when the log is empty."""
    for key, _, _ in reader.range(table.record.changes, b"", None, reverse=True):
        return int.from_bytes(key, "big")
    return 0


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


def read_changes(reader: Reader, table: StoredTable, after: int, limit: int) -> Iterator[tuple[int, LogRecord]]:
    """Records with a number above `after`, oldest first."""
    for read, (key, _, value) in enumerate(reader.range(table.record.changes, (after + 1).to_bytes(8, "big"), None), 1):
        yield int.from_bytes(key, "big"), _decode(value)
        if read >= limit:
            return
