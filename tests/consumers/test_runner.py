"""A change takes effect once, in the order of its item, whatever fails."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from partita import Store, connect
from partita.consumers import state
from partita.consumers.administration import ConsumerAdministration
from partita.consumers.consumer import Consumer
from partita.consumers.entity_changes import Change
from partita.consumers.handler_transaction import HandlerTransaction, TakenOver
from partita.consumers.runner import ConsumerRunner
from partita.dynamodb.requests import PutItem
from tests.consumers import shop
from tests.consumers.scripted_streams import image_of
from tests.consumers.shop import Order, Status


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", shop.design, clock=clock) as store:
        store.create_tables()
        Store(store.backend, state.design).create_tables()
        yield store


Started = Callable[[Store, Consumer], ConsumerRunner]


@pytest.fixture
def started() -> Iterator[Started]:
    """Starts runners, and closes them at the end."""
    with ExitStack() as closing:

        def start(db: Store, consumer: Consumer) -> ConsumerRunner:
            runner = ConsumerRunner(db, consumer)
            closing.callback(runner.close)
            runner.take_over()
            return runner

        yield start


def settle(runner: ConsumerRunner) -> int:
    total = 0
    while done := runner.step():
        total += done
    return total


def ship(db: Store, order_id: str) -> None:
    with db.change(shop.order(order_id)) as draft:
        draft.status = Status.SHIPPED


def notes(db: Store, customer: str = "c") -> list[str]:
    return [each.text for each in db(shop.notifications_of(customer))]


def test_change_that_becomes_true_notifies_once(db: Store, started: Started) -> None:
    runner = started(db, shop.notifications)
    db.create(Order(order_id="1", customer_id="c"))
    ship(db, "1")
    with db.change(shop.order("1")) as draft:
        draft.number = 7
    settle(runner)
    settle(runner)
    assert notes(db) == ["1 shipped"]


def test_restarted_consumer_repeats_nothing(db: Store, started: Started) -> None:
    for number in range(40):
        db.create(Order(order_id=str(number), customer_id="c", number=1))
    for _ in range(3):
        settle(started(db, shop.tallies))
    assert (db.one(shop.tally("orders")).created, db.one(shop.tally("orders")).total) == (40, 40)


def test_changes_of_an_item_are_handled_in_their_order(db: Store, started: Started) -> None:
    runner = started(db, shop.copies)
    db.create(Order(order_id="1", customer_id="c", number=0))
    for number in range(1, 60):
        with db.change(shop.order("1")) as draft:
            draft.number = number
    settle(runner)
    assert db.one(shop.copy_of("1")).history == list(range(60))


def test_consumer_that_was_taken_over_changes_nothing_any_more(db: Store, started: Started) -> None:
    first = started(db, shop.tallies)
    db.create(Order(order_id="1", customer_id="c"))
    second = started(db, shop.tallies)
    with pytest.raises(TakenOver):
        settle(first)
    settle(second)
    assert db.one(shop.tally("orders")).created == 1


def failing(errors: list[str], tries: int = 3, **settings: str) -> Consumer:
    """A consumer that copies orders and fails for those whose id is in `errors`."""
    consumer = Consumer("copies", tries=tries, **settings)  # type: ignore[arg-type]

    @consumer.on(Order)
    def copy(change: Change[Order], t: HandlerTransaction) -> None:
        shop.copy(change, t)
        after = getattr(change, "after", None)
        if after is not None and f"{after.order_id}:{after.number}" in errors:
            raise ValueError(f"order {after.order_id} has number {after.number}")

    return consumer


def write_numbers(db: Store, order_id: str, count: int) -> None:
    db.create(Order(order_id=order_id, customer_id="c", number=0))
    for number in range(1, count):
        with db.change(shop.order(order_id)) as draft:
            draft.number = number


def test_failing_change_holds_its_item_and_no_other(db: Store, started: Started, clock: Clock) -> None:
    errors = ["1:1"]
    runner = started(db, failing(errors))
    write_numbers(db, "1", 4)
    write_numbers(db, "2", 4)
    settle(runner)
    assert db.one(shop.copy_of("1")).history == [0]
    assert db.one(shop.copy_of("2")).history == [0, 1, 2, 3]
    errors.clear()
    clock.now += timedelta(hours=1)
    settle(runner)
    assert db.one(shop.copy_of("1")).history == [0, 1, 2, 3]
    assert list(runner.db(state.parked_changes("copies"))) == []


def test_parked_changes_outlive_a_restart(db: Store, started: Started, clock: Clock) -> None:
    errors = ["1:1"]
    settle(started(db, failing(errors)))
    write_numbers(db, "1", 4)
    settle(started(db, failing(errors)))
    with db.change(shop.order("1")) as draft:
        draft.number = 9
    settle(started(db, failing(errors)))
    errors.clear()
    clock.now += timedelta(hours=1)
    settle(started(db, failing(errors)))
    assert db.one(shop.copy_of("1")).history == [0, 1, 2, 3, 9]


@pytest.mark.parametrize(("after_failure", "history"), [("continue", [0, 2, 3]), ("hold", [0])])
def test_change_that_is_given_up_is_a_dead_letter(
    db: Store, started: Started, clock: Clock, after_failure: str, history: list[int]
) -> None:
    runner = started(db, failing(["1:1"], after_failure=after_failure))
    write_numbers(db, "1", 4)
    for _ in range(10):
        settle(runner)
        clock.now += timedelta(hours=1)
    assert db.one(shop.copy_of("1")).history == history
    (letter,) = runner.db(state.dead_letters("copies"))
    assert (letter.tries, letter.error) == (3, "ValueError: order 1 has number 1")


def test_handler_runs_again_when_what_it_read_has_changed(db: Store, started: Started) -> None:
    """Another writer changes the copy between the handler's read and its commit."""
    consumer = Consumer("copies")
    runs: list[int] = []

    @consumer.on(Order)
    def copy(change: Change[Order], t: HandlerTransaction) -> None:
        shop.copy(change, t)
        runs.append(1)
        if len(runs) == 1:
            db.put(shop.Copy(order_id="1", number=-1, history=[-1]))

    runner = started(db, consumer)
    db.create(Order(order_id="1", customer_id="c", number=5))
    settle(runner)
    assert db.one(shop.copy_of("1")).history == [-1, 5]
    assert len(runs) == 2


def test_new_consumer_may_begin_now(db: Store, started: Started, clock: Clock) -> None:
    db.create(Order(order_id="1", customer_id="c"))
    clock.now += timedelta(minutes=1)
    consumer = Consumer("later", start="now")
    seen: list[str] = []

    @consumer.on(Order)
    def note(change: Change[Order], t: HandlerTransaction) -> None:
        seen.append(change.id)

    runner = started(db, consumer)
    settle(runner)
    assert seen == []
    clock.now += timedelta(minutes=1)
    db.create(Order(order_id="2", customer_id="c"))
    settle(runner)
    assert len(seen) == 1


def test_changes_of_items_that_are_not_valid_are_skipped_counted_and_reported_once(
    db: Store, started: Started, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(2):
        broken = {**image_of(Order(order_id=str(number), customer_id="c")), "number": {"S": "many"}}
        db.backend.call(PutItem(table_name="shop", item=broken))
    assert settle(started(db, shop.copies)) == 2
    status = ConsumerAdministration(db, "copies").status()
    assert (status.handled, status.skipped) == (0, 2)
    (reported,) = caplog.messages
    assert reported.startswith("consumer copies: a change of Order is skipped")
