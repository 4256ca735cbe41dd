"""Planning a fenced change: the time in store and plan, without the engine's, beside that of an earlier revision.

Both revisions run the same program, in turns. The earlier one comes from the repository's own history.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.report import Section, Target, alone, table

BASELINE = "56fb0d7"
MOST = 0.4  # of the baseline's time

_ROOT = Path(__file__).parents[1]

PROGRAM = '''
import json, sys, time
from datetime import datetime, UTC
from enum import StrEnum
from typing import Annotated
from partita import CountOf, Entity, F, Index, Item, Keys, Store, Table, Unique, UpdatedAt, Version
from partita import connect, pattern, prove

shop = Table("shop", pk="PK", sk="SK", indexes=[Index("GSI1", "GSI1PK", "GSI1SK")])

class Status(StrEnum):
    OPEN = "OPEN"
    PAID = "PAID"

class Customer(Entity, table=shop, key=("CUSTOMER#{customer_id}", "PROFILE")):
    customer_id: str
    open_orders: Annotated[int, CountOf(lambda: Order, when=F.status == Status.OPEN)] = 0

class Order(Entity, table=shop, key=("CUSTOMER#{customer_id}", "ORDER#{order_id}")):
    customer_id: str
    order_id: str
    placed_at: datetime
    code: Annotated[str, Unique()]
    status: Status = Status.OPEN
    priority: int = 1
    note: str = ""
    version: Annotated[int, Version()] = 0
    updated_at: Annotated[datetime | None, UpdatedAt()] = None
    to_ship = Keys("GSI1", "STATUS#{status}", "{priority:4}#{placed_at}", when=F.status == Status.OPEN)

@pattern
def order(customer_id: str, order_id: str) -> Item[Order]: ...

class Timed:
    """A backend that adds up the time spent in it."""
    def __init__(self, inner):
        self.inner, self.seconds = inner, 0.0
    def call(self, request):
        begun = time.thread_time()
        try:
            return self.inner.call(request)
        finally:
            self.seconds += time.thread_time() - begun

backend = Timed(connect("memory:"))
db = Store(backend, prove("shop", shop))
db.create_tables()
db.create(Customer(customer_id="ann"))
db.create(Order(customer_id="ann", order_id="1", code="A1", placed_at=datetime(2025, 1, 1, tzinfo=UTC)))

def moved(at):
    with db.change(order("ann", "1")) as draft:
        draft.priority = at % 1000

def counted(at):
    with db.change(order("ann", "1")) as draft:
        draft.status = Status.PAID if at % 2 else Status.OPEN
        draft.code = f"A{at}"

found = {}
for name, act in (("an index key", moved), ("an index key, a counter, a unique value", counted)):
    for at in range(200):
        act(at)
    best = []
    for turn in range(5):
        backend.seconds, begun = 0.0, time.thread_time()
        for at in range(200):
            act(at)
        whole = time.thread_time() - begun
        best.append(((whole - backend.seconds) / 200 * 1e6, backend.seconds / 200 * 1e6))
    found[name] = min(best)
print(json.dumps(found))
'''


def measure(quick: bool) -> Section:
    """Medians over turns of the least time of each turn."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BASELINE, "src"], cwd=_ROOT, capture_output=True, check=True)
        subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
        turns = [(_run(Path(folder) / "src"), _run(_ROOT / "src")) for _ in range(2 if quick else 5)]
    rows, targets = [], []
    for name in turns[0][0]:
        then, now = (statistics.median(turn[at][name][0] for turn in turns) for at in (0, 1))
        engine = statistics.median(turn[1][name][1] for turn in turns)
        rows.append([name, f"{then:.0f} us", f"{now:.0f} us", f"{now / then:.2f}", f"{engine:.0f} us"])
        targets.append(Target(f"store and plan of a change, {name}", now / then, MOST, f"of {BASELINE}", below=True))
    text = "A read, and a write that fails if the item has changed since: the time in store and plan, per change.\n\n"
    header = ["a fenced change", BASELINE, "now", "ratio", "in the engine"]
    return Section("Fenced changes", text + table(header, rows), targets)


def _run(source: Path) -> dict[str, tuple[float, float]]:
    environment = {"PYTHONPATH": str(source), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    found: dict[str, tuple[float, float]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    alone(measure)
