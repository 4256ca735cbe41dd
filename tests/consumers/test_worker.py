"""The worker: woken by commits, stopped gracefully, killed at any moment without a change lost or done twice."""

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from partita import Store, connect
from partita.consumers import state
from partita.consumers.leases import this_process
from partita.consumers.worker import Worker, create_state_tables
from tests.consumers import shop
from tests.consumers.shop import Order, Status
from tests.peers import wait_until

KILLS = int(os.environ.get("PARTITA_CRASHES", "20"))
WRITERS, ORDERS, CHANGES = 8, 24, 12


@pytest.fixture(params=["memory:", "file"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    address = request.param if request.param == "memory:" else str(tmp_path / "shop.db")
    with connect(address, shop.design) as store:
        store.create_tables()
        yield store


def test_commit_takes_effect_by_itself(db: Store) -> None:
    with Worker(db, shop.CONSUMERS):
        for number in range(5):
            db.create(Order(order_id=str(number), customer_id="c", number=number))
            wait_until(partial(has_copy, db, str(number)))
        wait_until(lambda: (found := db(shop.tally("orders"))) is not None and found.created == 5)


def test_changes_of_a_stopped_worker_wait_for_the_next(db: Store) -> None:
    with Worker(db, [shop.tallies]):
        db.create(Order(order_id="1", customer_id="c"))
        wait_until(lambda: db(shop.tally("orders")) is not None)
    db.create(Order(order_id="2", customer_id="c"))
    with Worker(db, [shop.tallies]):
        wait_until(lambda: db.one(shop.tally("orders")).created == 2)


def test_paused_consumer_goes_on_when_it_is_resumed(db: Store) -> None:
    create_state_tables(db)
    leases = Store(db.backend, state.design)
    leases.create(state.Lease(consumer="tallies", is_paused=True))
    db.create(Order(order_id="1", customer_id="c"))
    with Worker(db, [shop.tallies, shop.copies]):
        wait_until(partial(has_copy, db, "1"))
        assert db(shop.tally("orders")) is None
        with leases.change(state.lease("tallies")) as draft:
            draft.is_paused = False
        wait_until(lambda: db(shop.tally("orders")) is not None)


@contextmanager
def worker_process(file: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.consumers.processes", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def write_orders(db: Store, writer: int, seed: int) -> None:
    """Changes of some orders, in random order among the orders."""
    chance = random.Random(seed)
    left = {f"{writer}-{number}": list(range(1, CHANGES)) for number in range(ORDERS // WRITERS)}
    for order_id in left:
        db.create(Order(order_id=order_id, customer_id="c", number=0))
    while left:
        order_id = chance.choice(list(left))
        with db.change(shop.order(order_id)) as draft:
            draft.number = left[order_id].pop(0)
            if not left[order_id]:
                draft.status = Status.SHIPPED
        if not left[order_id]:
            del left[order_id]


@pytest.mark.slow
def test_killed_workers_handle_every_change_once_and_in_order(tmp_path: Path) -> None:
    """Two workers at a time, killed at random while threads write; another takes over."""
    chance, file = random.Random(14), tmp_path / "shop.db"
    with connect(file, shop.design, durability="process") as db, ThreadPoolExecutor(WRITERS) as pool:
        db.create_tables()
        create_state_tables(db)
        expected = 0
        for round_number in range(max(1, KILLS // 10)):
            writers = [WRITERS * round_number + each for each in range(WRITERS)]
            writing = [pool.submit(write_orders, db, writer, writer) for writer in writers]
            expected += ORDERS
            for _ in range(10):
                with worker_process(file) as first, worker_process(file) as second:
                    assert first.stdout is not None
                    first.stdout.readline()
                    handled = sum(each.handled for each in positions(db))
                    until = handled + chance.randrange(30)
                    wait_until(partial(has_handled, db, until, expected))
                    first.kill()
                    second.kill()
            for each in writing:
                each.result()
        with worker_process(file):
            wait_until(lambda: is_done(db, expected))
        for order in db.scan(Order):
            assert db.one(shop.copy_of(order.order_id)).history == list(range(CHANGES)), order.order_id
        tally = db.one(shop.tally("orders"))
        assert (tally.created, tally.updated) == (expected, expected * (CHANGES - 1))
        assert tally.total == expected * (CHANGES - 1)
        texts = Counter(each.text for each in db(shop.notifications_of("c")))
        assert texts == Counter(f"{order.order_id} shipped" for order in db.scan(Order))
        assert not list(Store(db.backend, state.design)(state.dead_letters("copies")))


def has_copy(db: Store, order_id: str) -> bool:
    return db(shop.copy_of(order_id)) is not None


def positions(db: Store) -> list[state.Position]:
    states = Store(db.backend, state.design)
    return [each for consumer in shop.CONSUMERS for each in states(state.positions(consumer.name))]


def handled_by_all(db: Store) -> int:
    return sum(each.handled for each in positions(db))


def has_handled(db: Store, changes: int, orders: int) -> bool:
    return handled_by_all(db) >= changes or is_done(db, orders)


def is_done(db: Store, orders: int) -> bool:
    """Whether each consumer has handled every change of the orders."""
    found = positions(db)
    return len(found) == len(shop.CONSUMERS) and all(each.handled == orders * CHANGES for each in found)


def test_owner_that_has_ended_on_this_machine_is_replaced_at_once(db: Store) -> None:
    create_state_tables(db)
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        process.wait()
    machine, _, _ = this_process().rsplit("/", 2)
    owner = state.Lease(consumer="tallies", owner="x", process=f"{machine}/{process.pid}/1", beats=7)
    Store(db.backend, state.design).create(owner)
    db.create(Order(order_id="1", customer_id="c"))
    with Worker(db, [shop.tallies]):
        wait_until(lambda: db(shop.tally("orders")) is not None)
