"""Several changes and several consumers at the same time: one reader, slow handlers side by side, leases kept."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from partita import Change, Consumer, ConsumerAdministration, Deleted, HandlerTransaction, Store, Worker, connect
from partita.consumers import leases, state
from partita.consumers.handler_runs import SLOW_SECONDS
from partita.consumers.runner import ConsumerRunner
from partita.consumers.worker import create_state_tables
from partita.dynamodb.exceptions import ThrottlingException
from partita.dynamodb.stream_shapes import GetRecords
from tests.consumers import shop
from tests.consumers.shop import Copy, Order
from tests.peers import wait_until
from tests.timing import PATIENCE


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", shop.design) as store:
        store.create_tables()
        create_state_tables(store)
        yield store


class CountingBackend:
    """Passes requests on, and counts the pages of streams that have records."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.pages: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def call(self, request: Any) -> Any:
        reply = self._backend.call(request)
        if isinstance(request, GetRecords) and reply.records:
            self.pages[reply.records[0].dynamodb.sequence_number] += 1
        return reply


def is_handled(db: Store, consumers: list[Consumer], changes: int) -> bool:
    states = Store(db.backend, state.design)
    found = [[each.handled for each in states(state.positions(one.name))] for one in consumers]
    return all(sum(each) == changes for each in found)


def receipts(name: str) -> Consumer:
    consumer = Consumer(name)

    @consumer.on(Order)
    def write(change: Change[Order], t: HandlerTransaction) -> None:
        """Handles it without an effect."""

    return consumer


def test_records_are_read_once_for_all_consumers_of_a_worker() -> None:
    with connect("memory:") as engine:
        backend = CountingBackend(engine)
        db = Store(backend, shop.design)
        db.create_tables()
        create_state_tables(db)
        for number in range(2500):
            db.put(Order(order_id=str(number), customer_id="c", number=number))
        consumers = [receipts(name) for name in "abcd"]
        with Worker(db, consumers) as worker:
            worker.monitor.close()  # it looks at unread records by itself
            wait_until(lambda: is_handled(db, consumers, 2500))
    assert max(backend.pages.values()) == 1
    assert sum(backend.pages.values()) >= 3


def slow_consumer(parallel: int, meeting: threading.Barrier, *, is_async: bool) -> Consumer:
    """Its handlers take long, and those of "together" items wait for each other."""
    consumer = Consumer("slow", parallel=parallel)
    others = asyncio.Barrier(meeting.parties)

    @consumer.on(Order)
    def block(change: Change[Order], t: HandlerTransaction) -> None:
        assert not isinstance(change, Deleted)
        if not is_async and change.after.customer_id == "together":
            meeting.wait(PATIENCE)
        elif change.after.customer_id == "first":
            time.sleep(20 * SLOW_SECONDS)
        t.put(Copy(order_id=change.after.order_id, number=change.after.number))

    if is_async:

        @consumer.on(Order)
        async def wait(change: Change[Order], t: HandlerTransaction) -> None:
            assert not isinstance(change, Deleted)
            if change.after.customer_id == "together":
                await asyncio.wait_for(others.wait(), PATIENCE)

    return consumer


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_slow_handlers_of_different_items_run_at_the_same_time(db: Store, is_async: bool) -> None:
    consumer = slow_consumer(4, threading.Barrier(4), is_async=is_async)
    for number in range(5):
        db.put(Order(order_id=f"first-{number}", customer_id="first"))
    runner = ConsumerRunner(db, consumer, parallel=4)
    runner.take_over()
    runner.step()
    for number in range(8):
        db.put(Order(order_id=str(number), customer_id="together", number=number))
    runner.step()
    runner.close()
    assert [db.one(shop.copy_of(str(number))).number for number in range(8)] == list(range(8))
    assert ConsumerAdministration(db, "slow").status().parked == 0


def test_parallel_handlers_keep_the_order_of_each_item(db: Store) -> None:
    seen: dict[str, list[int]] = {}
    consumer = Consumer("slow", tries=50)

    @consumer.on(Order)
    def note(change: Change[Order], t: HandlerTransaction) -> None:
        assert not isinstance(change, Deleted)
        time.sleep(2 * SLOW_SECONDS)
        if change.after.number == 7 and seen.setdefault("failed", []) == []:
            seen["failed"].append(1)
            raise ValueError("once")
        seen.setdefault(change.after.order_id, []).append(change.after.number)

    for number in range(15):
        for item in "abcde":
            db.put(Order(order_id=item, customer_id="c", number=number))
    runner = ConsumerRunner(db, consumer, parallel=5)
    runner.take_over()
    while runner.step() or runner.parking.seconds_until_due() < PATIENCE:
        pass
    runner.close()
    assert {item: list(dict.fromkeys(seen[item])) for item in "abcde"} == {item: list(range(15)) for item in "abcde"}


def test_slow_handler_of_one_consumer_does_not_delay_another(db: Store) -> None:
    free = threading.Event()
    blocked = Consumer("blocked")

    @blocked.on(Order)
    def block(change: Change[Order], t: HandlerTransaction) -> None:
        free.wait(PATIENCE)

    with Worker(db, [blocked, shop.copies]):
        db.put(Order(order_id="1", customer_id="c"))
        wait_until(lambda: db(shop.copy_of("1")) is not None)
        free.set()


def test_lease_is_renewed_while_a_handler_runs(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr("partita.consumers.worker.HELD_LOOK_SECONDS", 0.01)
    free = threading.Event()
    blocked = Consumer("blocked")

    @blocked.on(Order)
    def block(change: Change[Order], t: HandlerTransaction) -> None:
        free.wait(PATIENCE)

    states = Store(db.backend, state.design)
    with Worker(db, [blocked]):
        db.put(Order(order_id="1", customer_id="c"))
        wait_until(lambda: states(state.lease("blocked")) is not None)
        before = states.one(state.lease("blocked")).beats
        wait_until(lambda: states.one(state.lease("blocked")).beats > before + 1)
        free.set()


def test_stopped_worker_ends_between_changes_and_loses_none(db: Store) -> None:
    handled: list[str] = []
    begun = threading.Event()
    consumer = Consumer("slow", parallel=1)

    @consumer.on(Order)
    def note(change: Change[Order], t: HandlerTransaction) -> None:
        assert not isinstance(change, Deleted)
        begun.set()
        time.sleep(2 * SLOW_SECONDS)
        handled.append(change.after.order_id)

    for number in range(500):
        db.put(Order(order_id=str(number), customer_id="c"))
    with Worker(db, [consumer]):
        begun.wait(PATIENCE)
    assert 0 < len(handled) < 500
    with Worker(db, [consumer]):
        wait_until(lambda: is_handled(db, [consumer], 500))
    assert handled == [str(number) for number in range(500)]


def test_worker_goes_on_after_an_error_that_nobody_expects(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    step, fails = ConsumerRunner.step, iter([True])

    def failing(runner: ConsumerRunner) -> int:
        if next(fails, False):
            raise KeyError("a fault")
        return step(runner)

    monkeypatch.setattr(ConsumerRunner, "step", failing)
    with Worker(db, [shop.copies]):
        db.put(Order(order_id="1", customer_id="c"))
        wait_until(partial(has_copy, db, "1"))


def has_copy(db: Store, order_id: str) -> bool:
    return db(shop.copy_of(order_id)) is not None


@pytest.mark.parametrize("stop", [SystemExit(1), asyncio.CancelledError()], ids=["exit", "cancelled"])
def test_handler_that_ends_its_program_has_failed(db: Store, stop: BaseException) -> None:
    consumer = Consumer("exits", tries=1)

    @consumer.on(Order)
    def leave(change: Change[Order], t: HandlerTransaction) -> None:
        raise stop

    db.put(Order(order_id="1", customer_id="c"))
    runner = ConsumerRunner(db, consumer)
    runner.take_over()
    runner.step()
    runner.close()
    assert ConsumerAdministration(db, "exits").status().dead_letters == 1


class FailingBackend:
    """Passes requests on, but the transactions of handlers fail some times."""

    def __init__(self, backend: Any, errors: list[Exception], *, is_applied: bool) -> None:
        self._backend = backend
        self._errors = errors
        self._is_applied = is_applied

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def call(self, request: Any) -> Any:
        is_effect = type(request).__name__ == "TransactWriteItems"
        if is_effect and self._errors:
            if self._is_applied:
                self._backend.call(request)
            raise self._errors.pop(0)
        return self._backend.call(request)


@pytest.mark.parametrize("is_applied", [False, True], ids=["not applied", "applied"])
@pytest.mark.parametrize(
    "error", [ThrottlingException("slow down"), ConnectionResetError()], ids=["throttled", "reset"]
)
def test_outage_of_the_database_is_no_failed_try(error: Exception, is_applied: bool) -> None:
    """Even where the transaction was applied and its reply was lost, for longer than requests are sent again."""
    with connect("memory:") as engine:
        Store(engine, shop.design).create_tables()
        backend = FailingBackend(engine, [], is_applied=is_applied)
        db = Store(backend, shop.design, retries=1)
        create_state_tables(db)
        db.put(Order(order_id="1", customer_id="c", number=7))
        backend._errors += [error] * 4
        with Worker(db, [shop.tallies]):
            wait_until(lambda: is_handled(db, [shop.tallies], 1))
        assert db.one(shop.tally("orders")).total == 7
        status = ConsumerAdministration(db, "tallies").status()
    assert (status.parked, status.dead_letters, status.retries) == (0, 0, 0)
