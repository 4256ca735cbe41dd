"""A fault at each request of a runner: no tick is lost, recorded twice, or run by two at the same time."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from partita import JobRun, JobRunner, Jobs, PartitaError, Store, connect
from tests.jobs.conftest import Time, design, outcomes, visit
from tests.store import faults

FAULTS: dict[str, faults.Fault] = {
    "throttled": faults.throttled,
    "reply lost": faults.reply_lost,
    "connection lost": faults.connection_lost,
    "never arrived": faults.never_arrived,
}


class FaultyAt:
    """The request of a number, and some after it, meet a fault."""

    def __init__(self, backend: Any, number: int, fault: faults.Fault, length: int) -> None:
        self._backend = backend
        self._faulty = range(number, number + length)
        self._fault = fault
        self.count = 0

    def call(self, request: Any, /) -> Any:
        self.count += 1
        if self.count - 1 in self._faulty:
            return self._fault(request, self._backend.call)
        return self._backend.call(request)


def attempt(step: Callable[[], object]) -> None:
    """A host logs the error of a step, and tries again."""
    try:
        step()
    except (PartitaError, OSError):
        return


@pytest.mark.parametrize("length", [1, 12], ids=["one request", "an outage"])
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_at_each_request_leaves_one_record_for_each_tick(fault: str, length: int) -> None:
    number = 0
    while scenario(FAULTS[fault], number, length):
        number += 1
    assert number > 8


def scenario(fault: faults.Fault, number: int, length: int) -> bool:
    """Two runners and three ticks; whether there were as many requests as the fault's number."""
    time = Time()
    jobs = Jobs("shop")
    active: Counter[str] = Counter()

    @jobs.every(minutes=10)
    def job(db: Store, run: JobRun) -> None:
        active["job"] += 1
        assert active["job"] == 1
        try:
            if run.cursor is None:
                run.save("half")
            if run.cursor == "half":
                with run.transaction("all") as transaction:
                    transaction.change(visit("v"), create=True).count += 1
        finally:
            active["job"] -= 1

    with connect("memory:", maintain=False) as engine:
        faulty = FaultyAt(engine, number, fault, length)
        on_faulty = Store(faulty, design, clock=time, sleep=lambda _: None)
        on_engine = Store(engine, design, clock=time, sleep=lambda _: None)
        one = JobRunner(on_faulty, jobs, monotonic=time.monotonic, lease=timedelta(seconds=30))
        other = JobRunner(on_engine, jobs, monotonic=time.monotonic, lease=timedelta(seconds=30))
        other.create_tables()
        on_engine.create_tables()
        other.step()
        for _ in range(3):
            time.passes(minutes=9)
            for _ in range(3):
                attempt(one.step)
                other.step()
                time.passes(seconds=30)
        names = [line.split()[0] for line in outcomes(other, "job")]
        results = Counter(line.split()[1] for line in outcomes(other, "job"))
        effects = on_engine.one(visit("v")).count
    assert names == ["00:10", "00:20", "00:30"], (number, names)
    assert results["run"] + results["failed"] == 3
    assert results["run"] <= effects <= 3
    return faulty.count > number
