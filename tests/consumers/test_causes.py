"""A consumer that triggers itself, or two that trigger each other, are noticed; one that ends is not."""

import logging
from collections.abc import Iterator

import pytest

from partita import Change, Consumer, ConsumerMonitor, Deleted, HandlerTransaction, Store, connect
from partita.consumers.causes import ENDLESS, Causes
from partita.consumers.consumer_metrics import consumer_metrics
from partita.consumers.runner import ConsumerRunner
from partita.consumers.worker import create_state_tables
from partita.prometheus import rendered
from tests.consumers import shop
from tests.consumers.shop import Copy, Order
from tests.prometheus_text import parsed, value_of


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", shop.design) as store:
        store.create_tables()
        create_state_tables(store)
        yield store


def counting(most: int, name: str = "counting") -> Consumer:
    """A consumer that adds to the number of the order that has changed, up to a bound."""
    consumer = Consumer(name)

    @consumer.on(Order)
    def add(change: Change[Order], t: HandlerTransaction) -> None:
        if not isinstance(change, Deleted) and change.after.number < most:
            t.change(shop.order(change.after.order_id)).number = change.after.number + 1

    return consumer


def steps(db: Store, count: int, *consumers: Consumer) -> None:
    causes = Causes()
    runners = [ConsumerRunner(db, each, causes=causes) for each in consumers]
    for each in runners:
        each.take_over()
    for _ in range(count):
        for each in runners:
            each.step()
    for each in runners:
        each.close()


def kinds(db: Store, *consumers: Consumer) -> list[str]:
    return [each.kind for each in ConsumerMonitor(db, [each.name for each in consumers]).check()]


def test_consumer_that_triggers_itself_is_reported(db: Store, caplog: pytest.LogCaptureFixture) -> None:
    consumer = counting(10_000)
    db.put(Order(order_id="1", customer_id="c"))
    with caplog.at_level(logging.WARNING):
        steps(db, ENDLESS + 5, consumer)
    assert "counting triggers itself: 100 changes in a row were caused by one another, the last of Order" in caplog.text
    monitor = ConsumerMonitor(db, ["counting"])
    (problem,) = monitor.check()
    assert str(problem).startswith("consumer counting triggers itself: its effects are changes of Order")
    metrics = parsed(rendered(consumer_metrics(db, ["counting"], [problem])).decode())
    assert value_of(metrics, "partita_consumer_endless", consumer="counting") == 1


def test_chain_of_new_items_is_reported(db: Store) -> None:
    consumer = Consumer("creating")

    @consumer.on(Order)
    def create_next(change: Change[Order], t: HandlerTransaction) -> None:
        if not isinstance(change, Deleted):
            number = change.after.number + 1
            t.create(Order(order_id=str(number), customer_id="c", number=number))

    db.put(Order(order_id="0", customer_id="c"))
    steps(db, ENDLESS + 5, consumer)
    assert kinds(db, consumer) == ["endless"]


def test_consumers_that_trigger_each_other_are_reported(db: Store) -> None:
    to_copy, to_order = Consumer("to-copy"), Consumer("to-order")

    @to_copy.on(Order)
    def copy(change: Change[Order], t: HandlerTransaction) -> None:
        if not isinstance(change, Deleted):
            t.put(Copy(order_id=change.after.order_id, number=change.after.number))

    @to_order.on(Copy)
    def order(change: Change[Copy], t: HandlerTransaction) -> None:
        if not isinstance(change, Deleted):
            t.change(shop.order(change.after.order_id)).number = change.after.number + 1

    db.put(Order(order_id="1", customer_id="c"))
    steps(db, ENDLESS, to_copy, to_order)
    assert "endless" in kinds(db, to_copy, to_order)


def test_consumer_that_writes_what_it_handles_and_ends_is_not_reported(db: Store) -> None:
    """Three changes in a row for each of more writes from outside than would be reported."""
    consumer = counting(3)
    runner = ConsumerRunner(db, consumer)
    runner.take_over()
    for _ in range(ENDLESS):
        db.put(Order(order_id="1", customer_id="c"))
        for _ in range(4):
            runner.step()
    runner.close()
    assert runner.causes.deepest == 3
    assert kinds(db, consumer) == []
