"""The content of tables, compared by digests of their items, which are in a temporary file and not in memory."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from partita.dynamodb.backend import Backend
from partita.dynamodb.canonical import checked_item, item_size
from partita.dynamodb.requests import Scan
from partita.dynamodb.values import Item

_encoder = msgspec.json.Encoder(order="sorted")


def scan(backend: Backend, table: str) -> Iterator[Item]:
    """Every item of a table, read consistently, page by page."""
    start: Any = None
    while True:
        page = backend.call(Scan(table_name=table, consistent_read=True, exclusive_start_key=start))
        for raw in page.items or ():
            yield msgspec.json.decode(raw)
        if page.last_evaluated_key is None:
            return
        start = msgspec.json.decode(page.last_evaluated_key)


def item_digest(item: Item) -> bytes:
    """A digest that is the same for equal items, whatever wrote them."""
    return blake2b(_encoder.encode(checked_item(item)[0]), digest_size=16).digest()


class Contents:
    """The digests of one table at several times, by its keys."""

    def __init__(self, connection: sqlite3.Connection, keys: list[str], times: tuple[str, ...]) -> None:
        self._connection = connection
        self._keys = keys
        self._times = times
        columns = ", ".join(f"{each} BLOB" for each in times)
        connection.execute(f"CREATE TABLE items (k BLOB PRIMARY KEY, {columns}) WITHOUT ROWID")

    def read(self, backend: Backend, table: str, time: str) -> tuple[int, int]:
        """Reads a table; returns the number of its items, and their size."""
        items = size = 0
        statement = f"INSERT INTO items (k, {time}) VALUES (?, ?) ON CONFLICT DO UPDATE SET {time} = excluded.{time}"
        for item in scan(backend, table):
            items, size = items + 1, size + item_size(item)
            key = _encoder.encode({name: item[name] for name in self._keys})
            self._connection.execute(statement, (blake2b(key, digest_size=16).digest(), item_digest(item)))
        return items, size

    def count(self, condition: str) -> int:
        found: int = self._connection.execute(f"SELECT count(*) FROM items WHERE {condition}").fetchone()[0]
        return found


@contextmanager
def contents(keys: list[str], *times: str) -> Iterator[Contents]:
    """An empty comparison of a table with these key attributes."""
    with tempfile.TemporaryDirectory(prefix="partita-") as folder:
        connection = sqlite3.connect(Path(folder) / "digests.db", isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
            yield Contents(connection, keys, times)
        finally:
            connection.close()
