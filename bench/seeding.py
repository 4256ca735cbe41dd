"""Seeding: entities that nothing depends on, against raw inserts of the same rows, in the same order and commits."""

import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw

from bench.engines import scratch
from bench.report import Section, Target, alone, table
from partita import Store, connect
from partita.storage import sqlite
from partita_systems.checks import design as checks
from partita_systems.checks.seed import _History
from partita_systems.perfectit import design as cards

WANTED = 0.45
Commit = list[tuple[str, bytes, int, Any]]


def measure(quick: bool) -> Section:
    """Medians of rounds taken in turns; each round on a new file, safe from a loss of power."""
    rounds, count = (1, 2_000) if quick else (5, 10_000)
    kinds: dict[str, tuple[Any, Sequence[Any]]] = {
        "results of checks, no index": (checks.design, _results(count)),
        "trends of cards, one index": (cards.design, _trends(count)),
    }
    rows, targets = [], []
    for what, (design, entities) in kinds.items():
        with scratch() as folder:
            commits = _recorded(folder / "recorded.db", design, entities)
            ours, raw = [], []
            for turn in range(rounds):
                ours.append(count / _seconds_to_seed(folder / f"ours{turn}.db", design, entities))
                raw.append(count / _inserted(folder / f"raw{turn}.db", commits))
        rate, most = statistics.median(ours), statistics.median(raw)
        rows.append([what, f"{rate:,.0f}", f"{most:,.0f}"])
        targets.append(Target(f"seeding {what}, of raw inserts", rate / most, WANTED, "times"))
    text = (
        f"{count:,} entities through `put_many` on a file that survives power loss, and the same rows inserted by apsw "
        "in the same order and commits: every row that Partita wrote, so those of items and indexes, of expiry, and "
        "for trends of the stream. Entities a second.\n\n" + table(["", "Partita", "apsw"], rows)
    )
    return Section("Seeding", text, targets)


def _results(count: int) -> list[checks.Result]:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, checks.design)
        db.create_tables()
        made: list[checks.Result] = []
        number = 0
        while len(made) < count:
            piece = _History(1, number)
            piece(db)
            made += [each for at in range(4) for each in db(checks.results(piece.check_id(at)))]
            number += 1
        return made[:count]


def _trends(count: int) -> list[cards.Trend]:
    at = datetime(2040, 1, 1, tzinfo=UTC)
    return [
        cards.Trend(card_id=f"c_{number * 7919 % count:08}", score=number % 997, seen_at=at + timedelta(seconds=number))
        for number in range(count)
    ]


def _seconds_to_seed(file: Path, design: Any, entities: Sequence[Any]) -> float:
    with connect(str(file), maintain=False) as backend:
        db = Store(backend, design)
        db.create_tables()
        begun = time.perf_counter()
        db.put_many(entities)
        return time.perf_counter() - begun


def _recorded(file: Path, design: Any, entities: Sequence[Any]) -> list[Commit]:
    """The rows of every commit, as the storage writes them."""
    commits: list[Commit] = [[]]
    put, end = sqlite._SqliteTransaction._put, sqlite._SqliteTransaction.write_totals

    def noted(self: Any, space: str, key: bytes, row: Any) -> None:
        commits[-1].append((space, key, row.weight, row.value))
        put(self, space, key, row)

    def ended(self: Any) -> None:
        commits.append([])
        end(self)

    sqlite._SqliteTransaction._put = noted  # type: ignore[method-assign]
    sqlite._SqliteTransaction.write_totals = ended  # type: ignore[method-assign]
    try:
        _seconds_to_seed(file, design, entities)
    finally:
        sqlite._SqliteTransaction._put = put  # type: ignore[method-assign]
        sqlite._SqliteTransaction.write_totals = end  # type: ignore[method-assign]
    found = [commit for commit in commits if len(commit) >= min(25, len(entities))]
    assert sum(map(len, found)) >= len(entities)
    return found


def _inserted(file: Path, commits: list[Commit]) -> float:
    connection = apsw.Connection(str(file))
    for pragma in ("page_size = 8192", "journal_mode = WAL", "synchronous = FULL", "cache_size = -8000"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    for space in sorted({row[0] for commit in commits for row in commit}):
        connection.execute(f'CREATE TABLE "{space}" (k BLOB PRIMARY KEY, w INTEGER NOT NULL, v NOT NULL) WITHOUT ROWID')
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


if __name__ == "__main__":
    alone(measure)
