"""A consumer that stands still is reported within ten seconds, with the hours until its oldest change expires."""

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from partita import Change, Consumer, ConsumerAdministration, HandlerTransaction, Store, connect, settle
from partita.consumers import state
from partita.consumers.consumer_metrics import consumer_metrics
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.leases import LeaseHolder
from partita.consumers.monitor import CHECK_SECONDS, STALL_SECONDS, ConsumerMonitor, ConsumerProblem
from partita.consumers.worker import Worker, create_state_tables
from partita.process_identity import this_process
from partita.prometheus import rendered
from tests.consumers import shop
from tests.consumers.shop import Order
from tests.peers import wait_until
from tests.prometheus_text import parsed, value_of


class Time:
    """The clock of a store, and a timer."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def timer(self) -> float:
        return self.now.timestamp()

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def db(time: Time) -> Iterator[Store]:
    with connect("memory:", shop.design, clock=time, maintain=False) as store:
        store.create_tables()
        create_state_tables(store)
        yield store


@pytest.fixture
def monitor(db: Store, time: Time) -> ConsumerMonitor:
    return ConsumerMonitor(db, ["tallies"], timer=time.timer)


def problems_within_ten_seconds(monitor: ConsumerMonitor, time: Time) -> list[ConsumerProblem]:
    """What is reported at the end of ten seconds, with checks as often as the thread makes them."""
    for _ in range(int(10 / CHECK_SECONDS)):
        time.passes(CHECK_SECONDS)
        monitor.check()
    return monitor.problems


def write(db: Store, *order_ids: str) -> None:
    for each in order_ids:
        db.create(Order(order_id=each, customer_id="c"))


def owned_by(db: Store, process: str) -> None:
    with Store(db.backend, state.design).change(state.lease("tallies"), create=True) as draft:
        draft.owner, draft.process = "x", process


def ended_process() -> str:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        process.wait()
    return f"{this_process().rsplit('/', 2)[0]}/{process.pid}/1"


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (lambda db: ConsumerAdministration(db, "tallies").pause(), "it is paused"),
        (lambda db: None, "no process runs it"),
        (lambda db: owned_by(db, ended_process()), "no process runs it"),
        (lambda db: owned_by(db, this_process()), "its process does not go on"),
    ],
    ids=["paused", "not started", "killed", "hanging"],
)
def test_consumer_that_stands_still_is_reported_with_the_hours_left(
    db: Store, time: Time, monitor: ConsumerMonitor, stop: Callable[[Store], None], reason: str
) -> None:
    write(db, "1")
    settle(db, shop.tallies)
    stop(db)
    assert problems_within_ten_seconds(monitor, time) == []
    time.passes(3600)
    assert problems_within_ten_seconds(monitor, time) == []
    write(db, "2")
    (found,) = problems_within_ten_seconds(monitor, time)
    assert (found.consumer, found.kind, found.reason) == ("tallies", "stalled", reason)
    time.passes(3 * 3600 - 10)
    (found,) = monitor.check()
    assert found.time_left == timedelta(hours=21)
    assert str(found).endswith("; its oldest unread change expires in 21.0 hours")
    ConsumerAdministration(db, "tallies").resume()
    settle(db, shop.tallies)
    assert monitor.check() == []


def test_consumer_that_never_began_is_reported(time: Time, monitor: ConsumerMonitor) -> None:
    (found,) = problems_within_ten_seconds(monitor, time)
    assert str(found) == "consumer tallies stands still: no process runs it"


def test_consumer_that_reads_its_changes_is_not_reported(db: Store, time: Time, monitor: ConsumerMonitor) -> None:
    write(db, "0")
    settle(db, shop.tallies)
    for number in range(1, 20):
        write(db, str(number))
        time.passes(STALL_SECONDS - 1)
        assert monitor.check() == []
        settle(db, shop.tallies)


def test_new_consumer_that_begins_now_has_no_backlog(db: Store, time: Time) -> None:
    write(db, "1", "2")
    time.passes(1)
    consumer = Consumer("later", start="now")
    consumer.on(Order)(lambda change, t: None)
    settle(db, consumer)
    monitor = ConsumerMonitor(db, ["later"], timer=time.timer)
    assert problems_within_ten_seconds(monitor, time) == []
    status = ConsumerAdministration(db, "later").status()
    assert status.backlog is not None
    assert (status.backlog.records, status.time_left) == (0, None)
    write(db, "3")
    assert [each.kind for each in problems_within_ten_seconds(monitor, time)] == ["stalled"]


def failing_consumer(tries: int = 8) -> Consumer:
    consumer = Consumer("tallies", tries=tries)

    @consumer.on(Order)
    def fail(change: Change[Order], t: HandlerTransaction) -> None:
        raise ValueError("no")

    return consumer


def test_handler_that_fails_for_ever_is_reported(db: Store, time: Time, monitor: ConsumerMonitor) -> None:
    consumer = failing_consumer()
    write(db, "1")
    for second in range(8):
        settle(db, consumer)
        time.passes(1)
        write(db, f"other {second}")
    (found,) = monitor.check()
    assert found.kind == "failing"
    assert "with ValueError: no" in found.reason


def test_given_up_change_is_logged(db: Store, time: Time, caplog: pytest.LogCaptureFixture) -> None:
    consumer = failing_consumer(tries=2)
    write(db, "1")
    settle(db, consumer)
    time.passes(60)
    settle(db, consumer)
    (record,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "consumer tallies has given up change" in record.message
    assert "after 2 tries: ValueError: no" in record.message


def test_problem_is_logged_once_and_again_after_a_while(
    db: Store, time: Time, monitor: ConsumerMonitor, caplog: pytest.LogCaptureFixture
) -> None:
    write(db, "1")
    with caplog.at_level(logging.INFO, "partita.consumers"):
        for _ in range(12):
            time.passes(60)
            monitor.report()
        settle(db, shop.tallies)
        monitor.report()
    assert [each.levelname for each in caplog.records] == ["WARNING", "WARNING", "INFO"]
    assert "stands still: no process runs it" in caplog.records[0].message
    assert caplog.records[-1].message == "consumer tallies goes on"


def test_status_has_lag_rate_and_retries(db: Store, time: Time) -> None:
    write(db, "1")
    settle(db, shop.tallies)
    admin = ConsumerAdministration(db, "tallies")
    before = admin.status()
    time.passes(10)
    write(db, *map(str, range(2, 32)))
    time.passes(10)
    status = admin.status()
    assert status.backlog is not None
    assert (status.backlog.records, status.lag) == (30, timedelta(seconds=10))
    assert status.time_left == timedelta(hours=24, seconds=-10)
    settle(db, shop.tallies)
    assert admin.status().rate_since(before) == 30 / 20


def test_metrics_are_those_of_the_status(db: Store, time: Time, monitor: ConsumerMonitor) -> None:
    consumer = failing_consumer(tries=3)
    write(db, "1")
    for _ in range(3):
        settle(db, consumer)
        time.passes(60)
    write(db, "2", "3")
    time.passes(100)
    problems_within_ten_seconds(monitor, time)
    found = parsed(rendered(consumer_metrics(db, ["tallies", "new"], monitor.problems)).decode())
    values = {name.removeprefix("partita_consumer_"): value_of(found, name, consumer="tallies") for name in found}
    assert values == {
        "handled_total": 1,
        "skipped_total": 0,
        "retries_total": 2,
        "gaps_total": 0,
        "parked_changes": 0,
        "dead_letters": 1,
        "lag_records": 2,
        "lag_seconds": 110,
        "retention_left_seconds": 24 * 3600 - 110,
        "running": 0,
        "paused": 0,
        "stalled": 1,
        "failing": 0,
        "endless": 0,
    }
    assert value_of(found, "partita_consumer_stalled", consumer="new") == 0


def test_worker_reports_its_own_handler_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    """In real time: the worker's thread hangs in a handler, its monitor does not."""
    hanging, released = Consumer("hanging"), threading.Event()

    @hanging.on(Order)
    def hang(change: Change[Order], t: HandlerTransaction) -> None:
        released.wait()

    with connect("memory:", shop.design) as db:
        db.create_tables()
        with Worker(db, [hanging]) as worker:
            try:
                write(db, "1")
                wait_until(lambda: bool(worker.monitor.problems))
                (found,) = worker.monitor.problems
                assert found.reason == "its process does not go on"
            finally:
                released.set()
    assert any("consumer hanging stands still" in each.message for each in caplog.records)


def test_consumer_that_tries_failed_changes_again_does_not_stand_still(db: Store, time: Time) -> None:
    """Its oldest change waits while others that have failed are tried, and each of these is progress."""
    monitor = ConsumerMonitor(db, ["tallies"], timer=time.timer)
    settle(db, shop.tallies)
    write(db, "1")
    owned_by(db, this_process())
    for tries in range(1, 5):
        parked = state.ParkedChange(consumer="tallies", item="i", sequence="1", shard="s", table="shop", parts=1)
        ConsumerStore(db).put(msgspec.structs.replace(parked, tries=tries, due_at=ConsumerStore(db).now()))
        assert all(each.kind == "failing" for each in monitor.check())
        time.passes(STALL_SECONDS)
    assert [each.kind for each in monitor.check()] == ["stalled"]


def test_worker_watches_its_consumers_once_it_has_looked_at_their_leases(
    db: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine takes seconds for the leases of many consumers, and none of them stands still meanwhile."""
    worker, looking, going_on = Worker(db, [shop.tallies]), threading.Event(), threading.Event()
    hold = LeaseHolder.hold

    def slow(lease: LeaseHolder, *, look: bool = False) -> bool:
        looking.set()
        going_on.wait()
        return hold(lease, look=look)

    monkeypatch.setattr(LeaseHolder, "hold", slow)
    with worker:
        wait_until(looking.is_set)
        assert not is_watched()
        going_on.set()
        wait_until(is_watched)


def is_watched() -> bool:
    return any(each.name == "partita-monitor" for each in threading.enumerate())
