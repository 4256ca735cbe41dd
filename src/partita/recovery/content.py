"""The content of tables, compared by digests of their items, which are in a temporary file and not in memory.

The file has the keys of items. SQLite deletes its name when it opens it, so it ends with the process, however that
ends.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import msgspec

from partita.dynamodb.backend import Backend
from partita.dynamodb.canonical import checked_item, item_size
from partita.dynamodb.requests import Scan
from partita.dynamodb.values import Item

_encoder = msgspec.json.Encoder(order="sorted")


def scan_pages(backend: Backend, table: str) -> Iterator[list[Item]]:
    """Every item of a table, read consistently, page by page."""
    start: Any = None
    while True:
        page = backend.call(Scan(table_name=table, consistent_read=True, exclusive_start_key=start))
        yield [msgspec.json.decode(raw) for raw in page.items or ()]
        if page.last_evaluated_key is None:
            return
        start = msgspec.json.decode(page.last_evaluated_key)


def encoded_key(item: Item, names: list[str]) -> bytes:
    """The key of an item as bytes, the same whatever wrote it."""
    return _encoder.encode(checked_item({name: item[name] for name in names})[0])


def item_digest(item: Item) -> bytes:
    """A digest that is the same for equal items, whatever wrote them."""
    return blake2b(_encoder.encode(checked_item(item)[0]), digest_size=16).digest()


class Contents:
    """The digests of one table at several times, by its keys."""

    def __init__(self, connection: sqlite3.Connection, keys: list[str], times: tuple[str, ...]) -> None:
        self._connection = connection
        self._names = keys
        self._times = times
        columns = ", ".join(f"{each} BLOB" for each in times)
        connection.execute(f"CREATE TABLE items (k BLOB PRIMARY KEY, {columns}) WITHOUT ROWID")

    def read(self, backend: Backend, table: str, time: str) -> tuple[int, int]:
        """Reads a table; returns the number of its items, and their size."""
        items = size = 0
        statement = f"INSERT INTO items (k, {time}) VALUES (?, ?) ON CONFLICT DO UPDATE SET {time} = excluded.{time}"
        for item in (each for page in scan_pages(backend, table) for each in page):
            items, size = items + 1, size + item_size(item)
            self._connection.execute(statement, (encoded_key(item, self._names), item_digest(item)))
        return items, size

    def keys(self, condition: str) -> list[bytes]:
        """The encoded keys of the items that a condition on the times selects."""
        return [key for (key,) in self._connection.execute(f"SELECT k FROM items WHERE {condition}")]

    def count(self, condition: str) -> int:
        found: int = self._connection.execute(f"SELECT count(*) FROM items WHERE {condition}").fetchone()[0]
        return found


@contextmanager
def contents(keys: list[str], *times: str) -> Iterator[Contents]:
    """An empty comparison of a table with these key attributes."""
    connection = sqlite3.connect("", isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        yield Contents(connection, keys, times)
    finally:
        connection.close()
