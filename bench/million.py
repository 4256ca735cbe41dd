"""A million items: does reading one take longer, and does memory grow with the data?

Each file is read by a process of its own, so that what the loading left behind is not counted.
"""

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench import workload
from bench.embedded import anonymous_megabytes, fill
from bench.engines import scratch
from bench.report import Section, Target, alone, table
from partita import connect
from partita.dynamodb.requests import GetItem, Scan
from partita.engine.engine import Engine

FEW, MANY = 10_000, 1_000_000
GETS = 20_000
SLOWER = 1.4
MEGABYTES = 200.0
GROWTH = 10.0  # megabytes that a Scan of everything may add to a Scan of one page


@dataclass(frozen=True)
class Reading:
    """What a process saw of one file."""

    items: int
    file_megabytes: float
    scanned: int
    scan_seconds: float
    first_page_megabytes: float
    most_megabytes: float
    fresh_get_microseconds: float
    get_microseconds: float


def read(path: Path, items: int) -> Reading:
    """Gets random items while most of their pages are new to the process, scans everything, then gets again.

    The second time, every page of the file is already mapped, as in a process that has been running.
    """
    with connect(path) as backend:
        fresh = _get_seconds(backend, items) * 1e6
        begun = time.perf_counter()
        counts, memory = zip(*_pages(backend), strict=True)
        scan_seconds = time.perf_counter() - begun
        microseconds = _get_seconds(backend, items) * 1e6
    size = path.stat().st_size / 1e6
    return Reading(items, size, sum(counts), scan_seconds, memory[0], max(memory), fresh, microseconds)


def _pages(backend: Engine) -> Iterator[tuple[int, float]]:
    """A Scan of everything: each page's items, and the memory that the process then has."""
    start: dict[str, Any] | None = None
    while True:
        page = backend.call(Scan(table_name=workload.TABLE_NAME, exclusive_start_key=start))
        yield page.count or 0, anonymous_megabytes()
        if page.last_evaluated_key is None:
            return
        start = msgspec.json.decode(page.last_evaluated_key)


def _get_seconds(backend: Engine, items: int) -> float:
    """The median GetItem of random items, typed request in to reply bytes out."""
    encode = msgspec.json.Encoder().encode
    chance = random.Random(items)
    times = []
    for _ in range(GETS):
        request = GetItem(table_name=workload.TABLE_NAME, key=workload.key(chance.randrange(items)))
        begun = time.perf_counter()
        encode(backend.call(request))
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def loaded(folder: Path, items: int) -> tuple[float, Reading]:
    """Seconds that loading took, and what another process then read."""
    path = folder / f"{items}.db"
    begun = time.perf_counter()
    with connect(path, durability="process") as backend:
        fill(backend, items)
    seconds = time.perf_counter() - begun
    command = [sys.executable, "-m", "bench.million", str(path), str(items)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"reading {items} items failed:\n{done.stderr}")
    return seconds, Reading(**json.loads(done.stdout))


def measure(quick: bool) -> Section:
    """Ten thousand items and a million, side by side."""
    with scratch() as folder:
        outcomes = [loaded(folder, items) for items in (FEW, 100_000 if quick else MANY)]
    rows = [
        [
            f"{reading.items:,}",
            f"{reading.file_megabytes:,.0f}",
            f"{seconds:,.1f}",
            f"{reading.scan_seconds:.2f}",
            f"{reading.first_page_megabytes:.0f}",
            f"{reading.most_megabytes:.0f}",
            f"{reading.fresh_get_microseconds:.1f}",
            f"{reading.get_microseconds:.1f}",
        ]
        for seconds, reading in outcomes
    ]
    header = ["items", "file, MB", "load, s", "Scan, s", "memory after a page, MB", "most memory, MB"]
    header += ["GetItem at first, us", "GetItem, us"]
    few, many = (reading for _, reading in outcomes)
    if (few.scanned, many.scanned) != (few.items, many.items):
        raise RuntimeError(f"Scan found {few.scanned} and {many.scanned} items")
    targets = [
        Target(
            "GetItem, against ten thousand items",
            many.get_microseconds / few.get_microseconds,
            SLOWER,
            "times",
            below=True,
        ),
        Target("anonymous memory", many.most_megabytes, MEGABYTES, "MB", below=True),
        Target(
            "memory that a whole Scan adds to one page",
            many.most_megabytes - many.first_page_megabytes,
            GROWTH,
            "MB",
            below=True,
        ),
    ]
    text = (
        "A process gets random items, scans the table, and gets again. At first most pages are new to it, then "
        "none is, and that is what is compared. Memory is the anonymous part.\n\n" + table(header, rows)
    )
    return Section("A million items", text, targets)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(asdict(read(Path(sys.argv[1]), int(sys.argv[2])))))
    else:
        alone(measure)
