"""Calls a second in the process, typed request in to reply bytes out, beside raw SQLite reading the same rows."""

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from bench.embedded import fill, typed
from bench.engines import scratch
from bench.report import Section, Target, alone, table
from bench.workload import ITEMS, OPERATIONS
from partita import connect
from partita.dynamodb.requests import Request
from partita.engine.engine import Engine

WANTED = 0.4  # of raw apsw's rate
RAW = "raw apsw, one row"
AT_REST = ", while nothing is written"


def measure(quick: bool) -> Section:
    """Rounds in turns, medians compared; first on a file that was closed, so that no row is in SQLite's log."""
    rounds = 3 if quick else 9
    with scratch() as folder:
        file = folder / "bench.db"
        with connect(file) as backend:
            fill(backend, ITEMS)
        with connect(file) as backend:
            resting = {RAW + AT_REST: raw_reads(file), "GetItem" + AT_REST: calls(backend, typed("GetItem"))}
            writing = {RAW: raw_reads(file)} | {name: calls(backend, typed(name)) for name in OPERATIONS}
            taken = _turns(resting, rounds) | _turns(writing, rounds)
    rates = {name: statistics.median(samples) for name, samples in taken.items()}
    text = (
        f"Calls a second of one thread on {ITEMS:,} items in a power-safe file. A call is a typed request in and the "
        "reply's bytes out.\n\n" + table(["", "a second"], [[name, f"{rate:,.0f}"] for name, rate in rates.items()])
    )
    targets = [
        Target(f"GetItem{when}, of raw apsw's rate", rates[f"GetItem{when}"] / rates[RAW + when], WANTED, "of it")
        for when in ("", AT_REST)
    ]
    return Section("In the process", text, targets)


def _turns(runs: dict[str, Callable[[], int]], rounds: int) -> dict[str, list[float]]:
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begun = time.perf_counter()
            count = run()
            rates[name].append(count / (time.perf_counter() - begun))
    return rates


def calls(backend: Engine, requests: list[Request[Any]]) -> Callable[[], int]:
    """A run of up to 2,000 requests; the next run goes on where it ended."""
    at = 0
    encode = msgspec.json.Encoder().encode

    def run() -> int:
        nonlocal at
        batch = requests[at : at + 2_000]
        at = (at + 2_000) % len(requests)
        for request in batch:
            encode(backend.call(request))
        return len(batch)

    return run


def raw_reads(path: Path) -> Callable[[], int]:
    """A run of reads by key of the table's own rows, as fast as `apsw` does them."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute(f"PRAGMA mmap_size = {1 << 40}")
    space = _space(connection)
    keys = [key for (key,) in connection.execute(f'SELECT k FROM "{space}"')]
    random.Random(0).shuffle(keys)
    execute = connection.cursor().execute
    statement = f'SELECT v FROM "{space}" WHERE k = ?'

    def run() -> int:
        for key in keys:
            execute(statement, (key,)).get  # noqa: B018 (reading is the point)
        return len(keys)

    return run


def _space(connection: apsw.Connection) -> str:
    """The SQLite table with a row an item; the table's own has a lower number than its index's."""
    sql = "SELECT name FROM spaces WHERE n = ? ORDER BY length(name), name"
    return str(connection.execute(sql, (ITEMS,)).fetchall()[0][0])


if __name__ == "__main__":
    alone(measure)
