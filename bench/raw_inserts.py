"""Raw inserts of the rows that the storage writes, in the same order and commits: the most that SQLite can do."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from partita.storage import sqlite
from partita.storage.sqlite_format import create_space

Commit = list[tuple[str, bytes | int, int, Any]]


@contextmanager
def recorded_commits() -> Iterator[list[Commit]]:
    """The rows of every commit in the block, as the storage writes them."""
    commits: list[Commit] = [[]]
    put, end = sqlite._SqliteTransaction._put, sqlite._SqliteTransaction.write_totals

    def noted(self: Any, space: str, key: bytes, stored_key: bytes | int, row: Any) -> None:
        commits[-1].append((space, stored_key, row.weight, row.value))
        put(self, space, key, stored_key, row)

    def ended(self: Any) -> None:
        commits.append([])
        end(self)

    sqlite._SqliteTransaction._put = noted  # type: ignore[method-assign]
    sqlite._SqliteTransaction.write_totals = ended  # type: ignore[method-assign]
    try:
        yield commits
    finally:
        sqlite._SqliteTransaction._put = put  # type: ignore[method-assign]
        sqlite._SqliteTransaction.write_totals = end  # type: ignore[method-assign]


def seconds_to_insert(file: Path, commits: list[Commit]) -> float:
    """The seconds that apsw needs for them, on a file with the settings of the storage."""
    connection = apsw.Connection(str(file))
    for pragma in ("page_size = 8192", "journal_mode = WAL", "synchronous = FULL", "cache_size = -8000"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    for space in sorted({row[0] for commit in commits for row in commit}):
        connection.execute(create_space(space))
    execute = connection.cursor().execute
    begun = time.perf_counter()
    for commit in commits:
        execute("BEGIN IMMEDIATE")
        for space, key, weight, value in commit:
            execute(f'INSERT INTO "{space}" (k, w, v) VALUES (?, ?, ?)', (key, weight, value))
        execute("COMMIT")
    seconds = time.perf_counter() - begun
    connection.close()
    return seconds
