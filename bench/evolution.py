"""Designs that change: what a plan of a million items takes, how fast apply writes, and what programs notice of it.

Both sides of a ratio work on the same items, one after the other. `python -m bench.evolution` runs it alone; `--quick`
takes fewer items.
"""

import itertools
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import IO

from bench.embedded import anonymous_megabytes
from bench.engines import PARTITA, scratch
from bench.evolution_designs import NOTE, TABLE_NAME, batches, fill, first, second
from bench.raw_inserts import recorded_commits, seconds_to_insert
from bench.report import Section, Target, alone, table
from partita import Store, apply_design, connect, plan_migration
from partita.dynamodb.backend import Backend
from partita.evolution.apply import Progress
from partita.evolution.pages import ITEMS_PER_SECOND
from tests.evolution.test_costs import MeteredBackend
from tests.peers import started

APPLY_SHARE = 0.4  # of the rate of BatchWriteItem
BACKFILL_SHARE = 0.7  # of that of raw inserts
PLAN_SECONDS = 30.0
PLAN_MEGABYTES = 32.0  # more than the plan of ten thousand items
SLOWER = 1.25  # p99 of writes while apply works, of that while it pauses
TURN = 2.5  # seconds of work, and of a pause
COST_ERROR = 0.1
WRITERS = 32
WRITES_A_SECOND = 4  # of each writer


def measure(quick: bool) -> Section:
    """All parts, on files that survive a loss of power."""
    rounds, some, many = (1, 10_000, 50_000) if quick else (3, 50_000, 1_000_000)
    with scratch() as folder:
        rates = [_rates(folder / f"{turn}", some) for turn in range(rounds)]
        indexing = [_index_rates(folder / f"index{turn}", some) for turn in range(rounds)]
        costs = _costs(folder / "costs.db", some // 10)
        seconds, megabytes = _plan(folder, many)
        working, paused = _under_writers(folder / "writers.db", some // 20)
    put, applied = (statistics.median(each) for each in zip(*rates, strict=True))
    inserted, indexed = (statistics.median(each) for each in zip(*indexing, strict=True))
    rows = [
        ["index keys written by apply", f"{applied:,.0f} items/s", "BatchWriteItem", f"{put:,.0f} items/s"],
        ["index filled by the engine", f"{indexed:,.0f} rows/s", "raw inserts", f"{inserted:,.0f} rows/s"],
        ["write units that apply used", f"{costs[1]:,.0f}", "the plan's", f"{costs[0]:,.0f}"],
        [f"plan of {many:,} items", f"{seconds:.2f} s", "", f"+{megabytes:.1f} MB"],
        ["p99 of writes beside apply", f"{working * 1000:.1f} ms", "in its pauses", f"{paused * 1000:.1f} ms"],
    ]
    text = (
        table(["", "", "against", ""], rows)
        + f"\n\nItems of about 600 bytes on a file that survives a loss of power. The index projects all. Writers: "
        f"{WRITERS} threads of another process on `partita engine`, {WRITERS * WRITES_A_SECOND} writes a second "
        f"together, while apply runs over HTTP at the default rate of the command and pauses every {TURN:g} seconds."
    )
    targets = [
        Target("index keys written by apply", applied / put, APPLY_SHARE, "of the rate of BatchWriteItem"),
        Target("index filled by the engine", indexed / inserted, BACKFILL_SHARE, "of the rate of raw inserts"),
        Target("error of the planned write units", abs(costs[0] / costs[1] - 1), COST_ERROR, "of those used", True),
        Target(f"plan of {many:,} items", seconds, PLAN_SECONDS, "s", True),
        Target(f"memory of a plan of {many:,} items", megabytes, PLAN_MEGABYTES, "MB more", True),
        Target("p99 of writes beside apply", working / paused, SLOWER, "of that in its pauses", True),
    ]
    return Section("Designs that change", text, targets)


def _rates(folder: Path, count: int) -> tuple[float, float]:
    """Items a second that BatchWriteItem writes with their index keys, and those to which apply adds these."""
    folder.mkdir()
    with connect(folder / "put.db", maintain=False) as backend:
        Store(backend, second()[0]).create_tables()
        put = _seconds_of_calls(backend, count)
    with connect(folder / "applied.db", durability="process") as backend:
        Store(backend, first()[0]).create_tables()
        fill(backend, count, indexed=False)
    seen: list[tuple[str, float]] = []

    def note(progress: Progress) -> None:
        seen.append((progress.phase, time.perf_counter()))

    with connect(folder / "applied.db") as backend:
        begun = time.perf_counter()
        done = apply_design(Store(backend, second()[0]), progress=note)
    written = sum(done.done.values())
    if written < count * 0.9:
        raise RuntimeError(f"apply wrote {written} items of {count}")
    return count / put, count / (max(at for phase, at in seen if phase == "backfilling") - begun)


def _seconds_of_calls(backend: Backend, count: int) -> float:
    seconds = 0.0
    for request in batches(count, indexed=True):
        begun = time.perf_counter()
        backend.call(request)
        seconds += time.perf_counter() - begun
    return seconds


def _index_rates(folder: Path, count: int) -> tuple[float, float]:
    """Rows a second that apsw inserts, and that the engine adds to a new index: the same, in the same commits."""
    folder.mkdir()
    with connect(folder / "indexed.db", durability="process", maintain=False) as backend:
        Store(backend, first()[0]).create_tables()
        fill(backend, count, indexed=True)
    shutil.copy(folder / "indexed.db", folder / "again.db")
    with recorded_commits() as every:
        _seconds_to_index(folder / "indexed.db")
    ((space, rows),) = Counter(row[0] for commit in every for row in commit).most_common(1)
    commits = [of_index for commit in every if (of_index := [row for row in commit if row[0] == space])]
    if rows < count * 0.9:
        raise RuntimeError(f"{rows} rows of {count} were seen")
    return rows / seconds_to_insert(folder / "raw.db", commits), rows / _seconds_to_index(folder / "again.db")


def _seconds_to_index(file: Path) -> float:
    with connect(file, maintain=False) as backend:
        db = Store(backend, second()[0])
        (missing,) = db.differences()
        assert missing.request is not None
        backend.call(missing.request)
        begun = time.perf_counter()
        while backend.maintenance.step():
            pass
        seconds = time.perf_counter() - begun
        assert db.differences() == []
    return seconds


def _costs(file: Path, count: int) -> tuple[float, float]:
    """The write units that a plan predicts, and those that the engine bills its application for."""
    with connect(file, durability="process") as backend:
        Store(backend, first()[0]).create_tables()
        fill(backend, count, indexed=False)
        plan = plan_migration(Store(backend, second()[0]))
        metered = MeteredBackend(backend, TABLE_NAME)
        apply_design(Store(metered, second()[0]))
    return plan.write_units, metered.units


def _plan(folder: Path, count: int) -> tuple[float, float]:
    """The seconds of a plan from a sample, and the megabytes that it takes more than one of ten thousand items."""
    found = []
    for size in (10_000, count):
        with connect(folder / f"plan{size}.db", durability="process") as backend:
            Store(backend, first()[0]).create_tables()
            fill(backend, size, indexed=False)
        found.append(json.loads(_of_this("plan", str(folder / f"plan{size}.db")).communicate()[0]))
    (_, before), (seconds, after) = found
    return seconds, after - before


def _of_this(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "bench.evolution", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def plan(path: str) -> tuple[float, float]:
    """The seconds of a plan, and the memory of its process afterwards."""
    with connect(path) as backend:
        begun = time.perf_counter()
        found = plan_migration(Store(backend, second()[0]))
        seconds = time.perf_counter() - begun
        assert found.has_work
        return seconds, anonymous_megabytes()


def _under_writers(file: Path, count: int) -> tuple[float, float]:
    """The p99 of writes while an application works at its default rate, and while it pauses.

    It pauses every few seconds, so that what else the machine does is in both alike.
    """
    with (
        started(lambda port: [PARTITA, "engine", "--data", file, "--port", str(port)]) as running,
        connect(running.endpoint) as backend,
    ):
        Store(backend, first()[0]).create_tables()
        fill(backend, count, indexed=False)
        with _of_this("write", running.endpoint) as writers:
            assert writers.stdin is not None
            turns = _Turns(writers.stdin)
            time.sleep(TURN)  # they begin
            apply_design(Store(backend, second()[0]), items_per_second=ITEMS_PER_SECOND, progress=turns.note)
            paused, working = json.loads(writers.communicate("end\n")[0])
    return working, paused


class _Turns:
    """Lets an application work and pause in turns, and says so to the writers."""

    def __init__(self, writers: IO[str]) -> None:
        self._writers = writers
        self._until = 0.0

    def note(self, progress: Progress) -> None:
        if progress.phase.startswith("waiting") or time.perf_counter() < self._until:
            return
        if self._until:
            print("pause", file=self._writers, flush=True)
            time.sleep(TURN)
        print("work", file=self._writers, flush=True)
        self._until = time.perf_counter() + TURN


def write(endpoint: str) -> tuple[float, float]:
    """Writes as programs of the second design do; the p99 in the pauses and of the work that standard input names."""
    design, order = second()
    taken: dict[str, list[float]] = {"begin": [], "pause": [], "work": []}
    phase = "begin"
    ended = threading.Event()

    def run(number: int) -> None:
        begun = time.perf_counter() + number / WRITERS / WRITES_A_SECOND
        for at in itertools.count():
            due = begun + at / WRITES_A_SECOND
            if ended.wait(max(0.0, due - time.perf_counter())):
                return
            at_begin = phase
            db.put(order(customer=f"w{number}", order=f"{at % 500}", number=at, status=f"S{at % 50}", note=NOTE))
            if at_begin == phase:
                taken[phase].append(time.perf_counter() - due)

    with connect(endpoint) as backend:
        db = Store(backend, design)
        threads = [threading.Thread(target=run, args=(number,)) for number in range(WRITERS)]
        for each in threads:
            each.start()
        while (line := sys.stdin.readline().strip()) != "end":
            phase = line
        ended.set()
        for each in threads:
            each.join()
    paused, working = (statistics.quantiles(taken[each], n=100)[98] for each in ("pause", "work"))
    return paused, working


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps({"plan": plan, "write": write}[sys.argv[1]](sys.argv[2])))
    else:
        alone(measure)
