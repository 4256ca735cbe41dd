"""Seeding: entities that nothing depends on, against raw inserts of the same rows, in the same order and commits."""

import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.engines import scratch
from bench.raw_inserts import recorded_commits, seconds_to_insert
from bench.report import Section, Target, alone, table
from partita import Store, connect
from partita_systems.checks import design as checks
from partita_systems.checks.seed import _History
from partita_systems.perfectit import design as cards

WANTED = 0.45


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
            with recorded_commits() as every:
                _seconds_to_seed(folder / "recorded.db", design, entities)
            commits = [commit for commit in every if len(commit) >= min(25, len(entities))]
            assert sum(map(len, commits)) >= len(entities)
            ours, raw = [], []
            for turn in range(rounds):
                ours.append(count / _seconds_to_seed(folder / f"ours{turn}.db", design, entities))
                raw.append(count / seconds_to_insert(folder / f"raw{turn}.db", commits))
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


if __name__ == "__main__":
    alone(measure)
