"""Point-in-time recovery: what history costs a put, how large it is, and how long a million items take to restore.

Puts are measured on two files side by side, one with recovery and one without, in turns, both power-safe.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from bench import workload
from bench.embedded import anonymous_megabytes, fill, typed
from bench.engines import PARTITA, load, scratch
from bench.http import port_of
from bench.load import CONNECTIONS, Order, generator
from bench.report import Section, Target, alone, table
from partita import connect
from partita.dynamodb.backup_shapes import RestoreTableToPointInTime
from partita.dynamodb.requests import DescribeTable, PutItem, UpdateContinuousBackups
from partita.dynamodb.shapes import PointInTimeRecoverySpecification
from partita.engine.engine import Engine
from partita.engine.history import archive, history_bytes
from partita.recovery.restore_duration import size_of_table
from tests.peers import started
from tests.peers.http import call

CONNECTED, ALONE = 0.85, 0.80  # of the rate without history
RESTORE_SECONDS = 180.0
GROWTH = 64.0  # megabytes that the restore of a million items may take more than that of ten thousand
ITEMS = 10_000

ON = UpdateContinuousBackups(
    table_name=workload.TABLE_NAME,
    point_in_time_recovery_specification=PointInTimeRecoverySpecification(point_in_time_recovery_enabled=True),
)
COPY = "restored"


def over_http(quick: bool) -> tuple[float, float]:
    """Puts a second without and with history, eight connections; medians of rounds in turns."""
    rounds, seconds, warm = (2, 0.5, 0.2) if quick else (9, 1.0, 0.25)
    samples: dict[bool, list[float]] = {False: [], True: []}
    with ExitStack() as running, scratch() as folder, generator() as clients:
        ports = {}
        for recovers in (False, True):
            data = folder / f"{recovers}.db"
            endpoint = running.enter_context(
                started(lambda port, data=data: [PARTITA, "engine", "--data", data, "--port", str(port)])  # type: ignore[misc]
            ).endpoint
            load(endpoint)
            if recovers:
                wanted = {"PointInTimeRecoveryEnabled": True}
                call(
                    endpoint,
                    "UpdateContinuousBackups",
                    {"TableName": workload.TABLE_NAME, "PointInTimeRecoverySpecification": wanted},
                )
            ports[recovers] = port_of(endpoint)
        for turn in range(rounds):
            for recovers, port in ports.items() if turn % 2 else reversed(ports.items()):
                samples[recovers].append(clients.rate(Order(port, "PutItem", seconds, warm, skip=turn * 7919)))
    return statistics.median(samples[False]), statistics.median(samples[True])


@contextmanager
def _filled(folder: Path, name: str, *, recovers: bool) -> Iterator[Engine]:
    with connect(folder / name) as backend:
        fill(backend, ITEMS)
        if recovers:
            backend.call(ON)
        yield backend


def from_one_thread(quick: bool) -> tuple[float, float]:
    """Puts a second without and with history, from one thread in this process."""
    rounds, puts = (4, 200) if quick else (30, 400)
    requests = [each for each in typed("PutItem", ITEMS) if isinstance(each, PutItem)]
    samples: dict[bool, list[float]] = {False: [], True: []}
    with (
        scratch() as folder,
        _filled(folder, "off.db", recovers=False) as off,
        _filled(folder, "on.db", recovers=True) as on,
    ):
        for turn in range(rounds):
            part = [requests[(turn * puts + at) % len(requests)] for at in range(puts)]
            for recovers, backend in ((False, off), (True, on)) if turn % 2 else ((True, on), (False, off)):
                begun = time.perf_counter()
                for request in part:
                    backend.call(request)
                samples[recovers].append(puts / (time.perf_counter() - begun))
    return statistics.median(samples[False]), statistics.median(samples[True])


def sizes(changes: int) -> tuple[float, float, float]:
    """Bytes of history for each change before and after compression, and microseconds to compress one."""
    with scratch() as folder, connect(folder / "sizes.db", durability="process", maintain=False) as backend:
        fill(backend, ITEMS)
        backend.call(ON)
        requests = typed("PutItem", ITEMS)
        for at in range(changes):
            backend.call(requests[at % len(requests)])
        context = backend._context
        record = context.catalog.tables[workload.TABLE_NAME].record
        fresh = history_bytes(context.storage, record) / changes
        later = _two_days_later(context)
        begun = time.perf_counter()
        while backend.writer.run(lambda txn: archive(later, workload.TABLE_NAME, txn)):
            pass
        seconds = time.perf_counter() - begun
        return fresh, history_bytes(context.storage, record) / changes, seconds / changes * 1e6


def _two_days_later(context: Any) -> Any:
    """The context of an engine two days later, when all of its history is compressed."""
    now = context.clock() + 2 * 86_400
    return msgspec.structs.replace(context, clock=lambda: now)


def restore(path: Path, second: int) -> dict[str, float]:
    """Restores the table of a file, in this process: seconds, items and the most memory."""
    with connect(path) as backend:
        source = backend.call(DescribeTable(table_name=workload.TABLE_NAME)).table
        expected = size_of_table(source).restore_duration.total_seconds()
        begun = time.perf_counter()
        backend.call(
            RestoreTableToPointInTime(
                source_table_name=workload.TABLE_NAME, target_table_name=COPY, restore_date_time=second
            )
        )
        most = 0.0
        while True:
            time.sleep(0.05)
            most = max(most, anonymous_megabytes())
            described = backend.call(DescribeTable(table_name=COPY)).table
            assert described is not None
            if described.table_status == "ACTIVE":
                break
        seconds = time.perf_counter() - begun
        return {"seconds": seconds, "expected": expected, "items": described.item_count or 0, "megabytes": most}


def restored(folder: Path, items: int) -> dict[str, float]:
    """A file with some items, a tenth of which were changed since; another process restores them."""
    path = folder / f"{items}.db"
    with connect(path, durability="process") as backend:
        fill(backend, items)
        backend.call(ON)
        time.sleep(1.1)
        second = int(time.time())
        time.sleep(1.1)
        for request in typed("PutItem", items // 10):
            backend.call(request)
    command = [sys.executable, "-m", "bench.recovery", str(path), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"restoring {items} items failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    if found["items"] != items:
        raise RuntimeError(f"{found['items']} of {items} items were restored")
    return found


def measure(quick: bool) -> Section:
    """History, and restores of ten thousand items and of a million."""
    many = 100_000 if quick else 1_000_000
    http, alone_rates = over_http(quick), from_one_thread(quick)
    fresh, compressed, microseconds = sizes(2_000 if quick else 20_000)
    with scratch() as folder:
        few, most = restored(folder, 10_000), restored(folder, many)
    rates = table(
        ["PutItem, power-safe", "without, a second", "with history", "ratio"],
        [
            [name, f"{off:,.0f}", f"{on:,.0f}", f"{on / off:.3f}"]
            for name, (off, on) in ((f"{CONNECTIONS} connections", http), ("one thread, embedded", alone_rates))
        ],
    )
    restores = table(
        ["restore", "seconds", "expected by `partita restore`", "items a second", "most memory, MB"],
        [
            [
                f"{each['items']:,.0f} items",
                f"{each['seconds']:.1f}",
                f"{each['expected']:.1f}",
                f"{each['items'] / each['seconds']:,.0f}",
                f"{each['megabytes']:.0f}",
            ]
            for each in (few, most)
        ],
    )
    text = (
        f"{rates}\n\nA million changes of these items (about 600 bytes) take {fresh / 1000:.2f} GB of history, and "
        f"{compressed / 1000:.2f} GB once it is compressed, which takes {microseconds:.0f} us a change in the "
        f"background.\n\n{restores}\n\nThe table has one index that projects all; a tenth of the items has changed "
        "since the second that is restored. Durability is that of power."
    )
    targets = [
        Target(f"puts with history, {CONNECTIONS} connections", http[1] / http[0], CONNECTED, "of those without"),
        Target("puts with history, one thread", alone_rates[1] / alone_rates[0], ALONE, "of those without"),
        Target("restore of a million items", most["seconds"] * 1_000_000 / many, RESTORE_SECONDS, "s", below=True),
        Target(
            "memory of a large restore beyond a small one",
            most["megabytes"] - few["megabytes"],
            GROWTH,
            "MB",
            below=True,
        ),
    ]
    return Section("Recovery", text, targets)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(restore(Path(sys.argv[1]), int(sys.argv[2]))))
    else:
        alone(measure)
