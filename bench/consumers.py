"""Consumers: changes a second, the time to an effect, the cost of waiting, and memory with a long backlog.

Each measurement runs in a process of its own. The write path without consumers runs beside that of the revision
before there were any, which comes from the repository's own history.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.embedded import anonymous_megabytes
from bench.engines import scratch
from bench.report import Section, Target, alone, table
from partita import (
    Change,
    Consumer,
    Deleted,
    Entity,
    HandlerTransaction,
    Item,
    Store,
    Table,
    Worker,
    connect,
    pattern,
    prove,
)
from partita.consumers.runner import ConsumerRunner
from partita.consumers.worker import create_state_tables

BASELINE = "5e7b231"  # before there were consumers
MEMORY_RATE, FILE_RATE = 5_000, 4_000
SLOWER = 1.05  # of the baseline's time of a write
FEW, MANY = 10_000, 1_000_000
GROWTH = 50.0  # megabytes
IDLE_PERCENT = 0.1
LATENCY = 50.0  # milliseconds
MEMORY, FILE = "in memory", "on a file, power-safe"

_ROOT = Path(__file__).parents[1]

shop = Table("shop", "PK", "SK", stream="NEW_AND_OLD_IMAGES")


class Order(Entity, table=shop, key=("ORDER#{order_id}", "ORDER")):
    order_id: str
    customer_id: str
    number: int = 0


class Receipt(Entity, table=shop, key=("RECEIPT#{order_id}", "RECEIPT")):
    order_id: str
    number: int = 0


@pattern
def receipt(order_id: str) -> Item[Receipt]:
    """The receipt of an order."""


design = prove("shop", shop)


def receipts(name: str = "receipts", every: int = 1) -> Consumer:
    """A consumer that writes a receipt for each order, or for each one of so many."""
    consumer = Consumer(name)

    @consumer.on(Order)
    def write(change: Change[Order], t: HandlerTransaction) -> None:
        if not isinstance(change, Deleted) and change.after.number % every == 0:
            t.put(Receipt(order_id=change.after.order_id, number=change.after.number))

    return consumer


def orders(count: int, prefix: str = "") -> list[Order]:
    return [Order(order_id=f"{prefix}{number:08}", customer_id="c", number=number) for number in range(count)]


@contextmanager
def opened(place: str) -> Iterator[Store]:
    """An empty store of the shop."""
    with scratch() as folder, connect("memory:" if place == MEMORY else str(folder / "shop.db"), design) as db:
        db.create_tables()
        create_state_tables(db)
        yield db


def rates(place: str, quick: str) -> dict[str, float]:
    """Plain writes a second, and changes a second through one consumer and through three, in turns."""
    count, rounds = (3_000, 3) if quick else (10_000, 5)
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, rate in (*_plain_rates(place, count).items(), *_consumer_rates(place, count).items()):
            found.setdefault(name, []).append(rate)
    return {name: statistics.median(samples) for name, samples in found.items()}


def _plain_rates(place: str, count: int) -> dict[str, float]:
    single, many = orders(count // 10, "single-"), orders(count, "many-")
    with opened(place) as db:
        return {
            "put": len(single) / _seconds(lambda: [db.put(each) for each in single]),
            "put_many": len(many) / _seconds(lambda: db.put_many(many)),
        }


def _consumer_rates(place: str, count: int) -> dict[str, float]:
    found = {}
    for name, consumers in (("one consumer", 1), ("three consumers", 3)):
        with opened(place) as db:
            db.put_many(orders(count))
            found[name] = count / _seconds(partial(_drain, db, consumers))
            if db.one(receipt(orders(count)[-1].order_id)).number != count - 1:
                raise RuntimeError("the last change has not taken effect")
    return found


def _drain(db: Store, consumers: int) -> None:
    """Runs consumers until all changes, those that they cause included, are done."""
    runners = [ConsumerRunner(db, receipts(f"receipts-{number}")) for number in range(consumers)]
    for each in runners:
        each.take_over()
    while sum([each.step() for each in runners]):
        pass
    for each in runners:
        each.close()


def _seconds(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def waiting(place: str, quick: str) -> dict[str, float]:
    """Milliseconds from a commit to the effect of its change, and the part of a core that an idle worker takes."""
    changes, seconds = (200, 10) if quick else (1000, 60)
    with opened(place) as db, Worker(db, [receipts(), receipts("others"), receipts("more")]):
        times = [_time_to_effect(db, each) for each in orders(changes)]
        time.sleep(1)
        begun = time.process_time()
        time.sleep(seconds)
        idle = (time.process_time() - begun) / seconds * 100
    times.sort()
    p99 = times[int(len(times) * 0.99) - 1]
    return {"p50": times[len(times) // 2] * 1e3, "p99": p99 * 1e3, "idle": idle}


def _time_to_effect(db: Store, order: Order) -> float:
    time.sleep(0.01)
    db.put(order)
    begun = time.perf_counter()
    while db(receipt(order.order_id)) is None:
        time.sleep(0.0005)
    return time.perf_counter() - begun


def fill(path: str, changes: str) -> None:
    """Writes changes that wait for a consumer."""
    with connect(path, design, durability="process") as db:
        db.create_tables()
        create_state_tables(db)
        for start in range(0, int(changes), 10_000):
            db.put_many(orders(10_000, f"{start}-"))


def backlog(path: str, changes: str) -> dict[str, float]:
    """The most memory of a process that handles all changes that wait; it writes an item for each hundredth."""
    with connect(path, design, durability="process") as db:
        runner = ConsumerRunner(db, receipts(every=100))
        runner.take_over()
        handled, most, begun = 0, 0.0, time.perf_counter()
        while done := runner.step():
            handled += done
            most = max(most, anonymous_megabytes())
        runner.close()
        if handled < int(changes):
            raise RuntimeError(f"{handled} of {changes} changes were read")
        return {"megabytes": most, "seconds": time.perf_counter() - begun}


WRITES = """
import json, time
from partita import Entity, Store, Table, connect, prove

plain = Table("plain", "PK", "SK")
streamed = Table("streamed", "PK", "SK", stream="NEW_AND_OLD_IMAGES")

class Order(Entity, table=plain, key=("ORDER#{order_id}", "ORDER")):
    order_id: str
    number: int = 0

class Streamed(Entity, table=streamed, key=("ORDER#{order_id}", "ORDER")):
    order_id: str
    number: int = 0

db = Store(connect("memory:"), prove("shop", plain, streamed))
db.create_tables()
found = {}
for name, entity in (("a table without a stream", Order), ("a table with a stream", Streamed)):
    times = []
    for turn in range(8):
        items = [entity(order_id=f"{turn}-{number}", number=number) for number in range(500)]
        begun = time.thread_time()
        for each in items:
            db.put(each)
        times.append((time.thread_time() - begun) / len(items) * 1e6)
    found[name] = min(times)
print(json.dumps(found))
"""


def _write_times(quick: bool) -> dict[str, tuple[float, float]]:
    """Microseconds of a write in memory at the baseline and now, in turns; the median of the least of each."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BASELINE, "src"], cwd=_ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
        sources = (Path(folder) / "src", _ROOT / "src")
        turns = [[_writes(each) for each in sources] for _ in range(3 if quick else 9)]
    names = turns[0][0]
    return {
        name: (statistics.median(each[0][name] for each in turns), statistics.median(each[1][name] for each in turns))
        for name in names
    }


def _writes(source: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", WRITES],
        env={"PYTHONPATH": str(source), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _in_process(part: str, *arguments: str) -> dict[str, float]:
    """What a part of this module returns in a process of its own."""
    command = [sys.executable, "-m", "bench.consumers", part, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{part} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _backlogs(quick: bool) -> list[tuple[int, dict[str, float]]]:
    found = []
    with scratch() as folder:
        for changes in (FEW, MANY // 10 if quick else MANY):
            path = str(folder / f"{changes}.db")
            _in_process("fill", path, str(changes))
            found.append((changes, _in_process("backlog", path, str(changes))))
    return found


def measure(quick: bool) -> Section:
    """Everything, one process after the other."""
    flag = "quick" if quick else ""
    rate = {place: _in_process("rates", place, flag) for place in (MEMORY, FILE)}
    wait = {place: _in_process("waiting", place, flag) for place in (MEMORY, FILE)}
    writes = _write_times(quick)
    backlogs = _backlogs(quick)
    text = "\n\n".join([_rate_text(rate), _wait_text(wait), _write_text(writes), _backlog_text(backlogs)])
    return Section("Consumers", text, [*_rate_targets(rate, wait), *_other_targets(writes, backlogs)])


def _rate_targets(rate: dict[str, dict[str, float]], wait: dict[str, dict[str, float]]) -> list[Target]:
    targets = [
        Target(f"changes through one consumer, {place}", rate[place]["one consumer"], wanted, "a second")
        for place, wanted in ((MEMORY, MEMORY_RATE), (FILE, FILE_RATE))
    ]
    for place, found in wait.items():
        targets.append(Target(f"p99 from commit to effect, {place}", found["p99"], LATENCY, "ms", below=True))
        targets.append(Target(f"an idle worker, {place}", found["idle"], IDLE_PERCENT, "% of a core", below=True))
    return targets


def _other_targets(
    writes: dict[str, tuple[float, float]], backlogs: list[tuple[int, dict[str, float]]]
) -> list[Target]:
    (few, with_few), (many, with_many) = backlogs
    growth = with_many["megabytes"] - with_few["megabytes"]
    return [
        *(
            Target(f"a write to {name}, without consumers", now / then, SLOWER, f"of {BASELINE}", below=True)
            for name, (then, now) in writes.items()
        ),
        Target(f"memory with {many:,} changes waiting, above that with {few:,}", growth, GROWTH, "MB", below=True),
    ]


def _rate_text(rate: dict[str, dict[str, float]]) -> str:
    names = list(rate[MEMORY])
    rows = [[name, *(f"{rate[place][name]:,.0f}" for place in (MEMORY, FILE))] for name in names]
    return (
        "Each change writes one item, into the table whose changes are handled. `put` writes one after the other, "
        "`put_many` in batches, both in the same run. With three consumers, each change has three effects.\n\n"
        + table(["changes a second", MEMORY, FILE], rows)
    )


def _wait_text(wait: dict[str, dict[str, float]]) -> str:
    rows = [[place, f"{each['p50']:.1f}", f"{each['p99']:.1f}", f"{each['idle']:.3f}"] for place, each in wait.items()]
    header = ["a worker with three consumers", "to an effect, p50, ms", "p99, ms", "idle, % of a core"]
    return table(header, rows)


def _write_text(writes: dict[str, tuple[float, float]]) -> str:
    rows = [[name, f"{then:.1f}", f"{now:.1f}", f"{now / then:.2f}"] for name, (then, now) in writes.items()]
    return table(["a write without consumers, us", BASELINE, "now", "ratio"], rows)


def _backlog_text(backlogs: list[tuple[int, dict[str, float]]]) -> str:
    rows = [[f"{changes:,}", f"{each['megabytes']:.0f}", f"{each['seconds']:.1f}"] for changes, each in backlogs]
    return table(["changes waiting", "most memory, MB", "until all are done, s"], rows)


_PARTS: dict[str, Callable[[str, str], object]] = {
    "rates": rates,
    "waiting": waiting,
    "fill": fill,
    "backlog": backlog,
}


if __name__ == "__main__":
    if len(sys.argv) == 4:
        part, one, two = sys.argv[1:]
        print(json.dumps(_PARTS[part](one, two)))
    else:
        alone(measure)
