"""Removes the damaged rows of a space.

The space is written again: a row is not found by a damaged key, not even to delete it. Values in `large` stay where
they are. That of a damaged row is not deleted, since its number may be damaged too and be that of another row.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from partita.storage.checksums import VALUE_BITS, row_checksum
from partita.storage.contract import DamagedRow, is_log
from partita.storage.sqlite_connection import SqliteConnection, checksum_of_any
from partita.storage.sqlite_format import create_space
from partita.storage.sqlite_keys import key_from, key_to

KeyOf = Callable[[bytes], bytes | None]

_VALUE = "CASE typeof(s.v) WHEN 'integer' THEN (SELECT l.v FROM large l WHERE l.id = s.v) ELSE s.v END"

_COLUMNS = ("s.k", "s.w", "s.v", "s.c", _VALUE)


class _StoredRow(NamedTuple):
    """A row as it is stored, damaged or not: its columns, and its value, be it in `large` or in the row."""

    columns: tuple[Any, ...]
    value: Any
    has_text: bool  # which no column of ours is; it has been read as bytes, since it may not be UTF-8

    @property
    def is_intact(self) -> bool:
        key, weight, _, checksum = self.columns
        return not self.has_text and type(checksum) is int and checksum_of_any(key, weight, self.value) == checksum

    @property
    def is_value_intact(self) -> bool:
        _, weight, _, checksum = self.columns
        expected = checksum_of_any(b"", weight, self.value)
        return expected is not None and type(checksum) is int and not (expected ^ checksum) & VALUE_BITS


def repair_rows(connection: SqliteConnection, space: str, key_of: KeyOf) -> list[DamagedRow]:
    """Removes the damaged rows, in the connection's transaction, and returns them; those left are all found by key."""
    damaged = [row for row in _stored_rows(connection, space) if not row.is_intact]
    if not damaged and not (is_log(space) and _misses_rows(connection, space)):
        return []
    fresh = f"{space} repaired"
    connection.execute(create_space(fresh))
    for row in _stored_rows(connection, space):
        if row.is_intact:
            _insert(connection, fresh, row.columns)
    found = [
        DamagedRow(row.columns[0], row.columns[1], row.value, _restore(connection, fresh, row, key_of))
        for row in damaged
    ]
    connection.execute(f'DROP TABLE "{space}"')
    connection.execute(f'ALTER TABLE "{fresh}" RENAME TO "{space}"')
    return found


def _misses_rows(connection: SqliteConnection, space: str) -> bool:
    """Whether a search by key misses rows of a log, because of a damaged number in an inner page."""
    row = f'SELECT 1 FROM "{space}" s WHERE s.k = each.k'
    missed: Any = connection.execute(f'SELECT 1 FROM "{space}" each WHERE NOT EXISTS ({row}) LIMIT 1').get
    return missed is not None


def _stored_rows(connection: SqliteConnection, space: str) -> Iterator[_StoredRow]:
    columns = ", ".join(f"iif(typeof({each}) = 'text', CAST({each} AS BLOB), {each})" for each in _COLUMNS)
    has_text = " OR ".join(f"typeof({each}) = 'text'" for each in _COLUMNS)
    rows: Any = connection.apsw.execute(f'SELECT {columns}, {has_text} FROM "{space}" s')
    for key, *others, value, is_text in rows:
        yield _StoredRow((key_from(space, key), *others), value, bool(is_text))


def _restore(
    connection: SqliteConnection, space: str, row: _StoredRow, key_of: Callable[[bytes], bytes | None]
) -> bool:
    """Stores a row whose value is intact under its own key; false where it has none, or another row has it."""
    if not row.is_value_intact:
        return False
    try:
        key = key_of(row.value)
    except Exception:  # noqa: BLE001 - of a value that does not have its key
        return False
    if key is None:
        return False
    _, weight, stored, _ = row.columns
    return _insert(connection, space, (key, weight, stored, row_checksum(key, weight, row.value)))


def _insert(connection: SqliteConnection, space: str, columns: tuple[Any, ...]) -> bool:
    """Inserts a row; false where there is one with its key."""
    key, *others = columns
    sql = f'INSERT OR IGNORE INTO "{space}" (k, w, v, c) VALUES (?, ?, ?, ?) RETURNING 1'
    return bool(connection.execute(sql, (key_to(space, key), *others)).fetchall())
