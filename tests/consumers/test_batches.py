"""Many changes share a commit, and one that fails costs the others little."""

import gc
import weakref
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from partita import ConsumerAdministration, ConsumerFaults, Created, InvalidTransaction, Store, connect, settle
from partita.consumers import handler_runs, state
from partita.consumers.consumer import Consumer
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.entity_changes import Change, Deleted
from partita.consumers.handler_transaction import HandlerTransaction
from partita.consumers.leases import BEAT_SECONDS, LeaseHolder, renew
from partita.consumers.runner import MAX_TOGETHER, ConsumerRunner
from partita.consumers.worker import create_state_tables
from partita.dynamodb.requests import TransactWriteItems
from tests.consumers import shop
from tests.consumers.shop import Copy, Notification, Order
from tests.timing import PATIENCE


@pytest.fixture(autouse=True)
def no_slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers count as quick, however busy the machine is."""
    monkeypatch.setattr(handler_runs, "SLOW_SECONDS", float("inf"))
    monkeypatch.setattr(handler_runs, "GROUP_SECONDS", float("inf"))


class CountingBackend:
    """Counts the transactions."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.transactions = 0

    def call(self, request: Any, /) -> Any:
        self.transactions += isinstance(request, TransactWriteItems)
        return self._backend.call(request)


class Timer:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def backend() -> Iterator[CountingBackend]:
    with connect("memory:") as engine:
        yield CountingBackend(engine)


@pytest.fixture
def db(backend: CountingBackend) -> Store:
    store = Store(backend, shop.design)
    store.create_tables()
    create_state_tables(store)
    store.put_many([Order(order_id=f"{number:02}", customer_id="c") for number in range(MAX_TOGETHER)])
    return store


copies = Consumer("copies", tries=1)


@copies.on(Order)
def copy(change: Change[Order], t: HandlerTransaction) -> None:
    """Fails at its commit for an order whose copy exists."""
    if not isinstance(change, Deleted):
        t.create(Copy(order_id=change.after.order_id))


def stepped(db: Store, consumer: Consumer = copies, **options: Any) -> ConsumerRunner:
    runner = ConsumerRunner(db, consumer, **options)
    runner.take_over()
    runner.step()
    return runner


def test_changes_of_quick_handlers_share_a_commit(db: Store, backend: CountingBackend) -> None:
    before = backend.transactions
    stepped(db, patience=1.0).close()
    assert backend.transactions - before <= 3
    assert sum(1 for _ in db.scan(Copy)) == MAX_TOGETHER


def test_change_that_fails_at_the_commit_costs_few_others(db: Store, backend: CountingBackend) -> None:
    db.create(Copy(order_id="37"))
    before = backend.transactions
    stepped(db, patience=1.0).close()
    assert backend.transactions - before < 25, "two for each half, and those of the one that fails"
    assert sum(1 for _ in db.scan(Copy)) == MAX_TOGETHER
    (letter,) = ConsumerStore(db)(state.dead_letters("copies"))
    assert "37" in letter.error


def sequences(db: Store, consumer: str) -> list[str]:
    return [each.sequence for each in ConsumerStore(db)(state.positions(consumer))]


def test_position_after_skipped_records_waits_for_a_change(db: Store) -> None:
    timer = Timer()
    runner = stepped(db, timer=timer, patience=1.0)
    done = sequences(db, "copies")
    db.put(Notification(customer_id="c", notification_id="n", text=""))
    runner.step()
    assert runner.has_unstored_positions
    assert sequences(db, "copies") == done
    db.put(Order(order_id="last", customer_id="c"))
    runner.step()
    skipped = ConsumerStore(db).one(state.position("copies", *position_key(db))).skipped
    assert skipped >= 1, "stored with the change after it"
    runner.close()


def position_key(db: Store) -> tuple[str, str]:
    (found,) = ConsumerStore(db)(state.positions("copies"))
    return found.stream, found.shard


def test_position_after_skipped_records_is_stored_in_the_end(db: Store) -> None:
    timer = Timer()
    runner = stepped(db, timer=timer, patience=1.0)
    runner.step()  # the copies
    before = sequences(db, "copies")
    timer.now += 1.0
    runner.step()
    assert not runner.has_unstored_positions
    assert sequences(db, "copies") > before
    runner.close()


def test_skipped_records_are_counted_once_after_a_failure(db: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = stepped(db, patience=1000.0)
    runner.step()  # the copies are skipped

    def fail(*_: Any) -> int:
        raise OSError("the disk")

    with monkeypatch.context() as failing:
        failing.setattr(runner, "_handle_page", fail)
        with pytest.raises(OSError, match="the disk"):
            runner.step()
    runner.step()
    runner.store_positions()
    assert ConsumerStore(db).one(state.position("copies", *position_key(db))).skipped == MAX_TOGETHER
    runner.close()


def test_transaction_is_freed_without_the_garbage_collector(db: Store) -> None:
    gc.disable()
    try:
        transaction = HandlerTransaction(ConsumerStore(db))
        transaction.put(Notification(customer_id="c", notification_id="n", text=""))
        transaction.commit()
        freed = weakref.ref(transaction)
        del transaction
        assert freed() is None
    finally:
        gc.enable()


def test_handler_that_edits_its_entity_runs_again_with_the_original(db: Store) -> None:
    seen: list[int] = []
    faults, consumer = ConsumerFaults(), Consumer("edits")

    @consumer.on(Order)
    def edit(change: Change[Order], t: HandlerTransaction) -> None:
        if isinstance(change, Created):
            change.after.number += 1
            seen.append(change.after.number)

    @consumer.on(Order)
    def look(change: Change[Order], t: HandlerTransaction) -> None:
        if isinstance(change, Created):
            seen.append(change.after.number)

    faults.duplicate(consumer, times=1)
    settle(db, consumer, faults=faults)
    assert seen == [1, 0, 1, 0] * MAX_TOGETHER


def test_transaction_that_a_handler_keeps_takes_no_more_writes(db: Store) -> None:
    kept: list[HandlerTransaction] = []
    consumer = Consumer("keeps")

    @consumer.on(Order)
    def keep(change: Change[Order], t: HandlerTransaction) -> None:
        kept.append(t)

    settle(db, consumer)
    with pytest.raises(InvalidTransaction, match="has ended"):
        kept[0].put(Notification(customer_id="c", notification_id="late", text=""))


@pytest.mark.parametrize(("writes", "is_accepted"), [(98, True), (99, False)])
@pytest.mark.parametrize("fails_first", [False, True])
def test_handler_has_two_writes_less_than_a_transaction(
    db: Store, writes: int, is_accepted: bool, fails_first: bool
) -> None:
    consumer, faults = Consumer("many", tries=2), ConsumerFaults()

    @consumer.on(Order)
    def write(change: Change[Order], t: HandlerTransaction) -> None:
        if isinstance(change, Created) and change.after.order_id == "00":
            for number in range(writes):
                t.put(Notification(customer_id="many", notification_id=str(number), text=""))

    if fails_first:
        faults.fail(consumer)
    settle(db, consumer, faults=faults)
    settle(Store(db.backend, shop.design, clock=lambda: db.now() + timedelta(minutes=1)), consumer)
    assert len(list(db(shop.notifications_of("many")))) == (98 if is_accepted else 0)
    letters = ConsumerAdministration(db, "many").dead_letters()
    assert [("99 writes" in each.error) for each in letters] == ([] if is_accepted else [True])


def test_effects_of_slow_handlers_do_not_wait_for_a_whole_group(
    db: Store, backend: CountingBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = Consumer("slow", parallel=1)
    monkeypatch.setattr(handler_runs, "GROUP_SECONDS", 0.0)  # as if each had taken long

    @consumer.on(Order)
    def write(change: Change[Order], t: HandlerTransaction) -> None:
        t.put(Notification(customer_id="c", notification_id=change.id, text=""))

    runner = ConsumerRunner(db, consumer, patience=1.0)
    runner.take_over()
    before = backend.transactions
    runner.step()
    runner.close()
    assert backend.transactions - before >= MAX_TOGETHER
    assert len(list(db(shop.notifications_of("c")))) == MAX_TOGETHER


def test_leases_of_a_process_are_renewed_in_one_commit(db: Store, backend: CountingBackend) -> None:
    timer, states = Timer(), ConsumerStore(db)
    leases = [LeaseHolder(states, name, timer) for name in ("a", "b", "c")]
    assert all(each.hold() for each in leases)
    timer.now += BEAT_SECONDS
    before = backend.transactions
    renew(states, leases)
    assert backend.transactions == before + 1
    assert [states.one(state.lease(name)).beats for name in ("a", "b", "c")] == [1, 1, 1]
    assert min(each.seconds_until_beat() for each in leases) == BEAT_SECONDS


def test_lease_of_a_paused_consumer_is_not_renewed_and_the_others_are(db: Store) -> None:
    timer, states = Timer(), ConsumerStore(db)
    leases = [LeaseHolder(states, name, timer) for name in ("a", "b")]
    assert all(each.hold() for each in leases)
    with states.change(state.lease("a")) as draft:
        draft.is_paused = True
    timer.now += BEAT_SECONDS
    renew(states, leases)
    assert [each.hold() for each in leases] == [False, True]
    assert [states.one(state.lease(name)).beats for name in ("a", "b")] == [0, 1]


def test_no_snapshot_is_held_while_handlers_run(tmp_path: Path) -> None:
    """A snapshot of a reader would keep the log of the database from being emptied."""
    consumer, busy = Consumer("emptying"), []
    with connect(tmp_path / "shop.db", shop.design, durability="process") as db:
        db.create_tables()
        db.put_many([Order(order_id=str(number), customer_id="c") for number in range(3)])
        other = apsw.Connection(str(tmp_path / "shop.db"))
        other.set_busy_timeout(int(PATIENCE * 1000))  # background work may read for a moment

        @consumer.on(Order)
        def empty(change: Change[Order], t: HandlerTransaction) -> None:
            busy.append(other.execute("PRAGMA wal_checkpoint(TRUNCATE)").get[0])

        settle(db, consumer)
        other.close()
    assert busy == [0, 0, 0]
