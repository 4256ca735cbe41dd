"""The worker: woken by commits, stopped gracefully; another takes over when its process has ended."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from partita import Store, connect
from partita.consumers import state
from partita.consumers.worker import Worker, create_state_tables
from partita.process_identity import this_process
from tests.consumers import shop
from tests.consumers.shop import Order
from tests.peers import wait_until


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


def has_copy(db: Store, order_id: str) -> bool:
    return db(shop.copy_of(order_id)) is not None


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
