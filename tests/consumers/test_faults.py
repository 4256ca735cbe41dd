"""Faults that tests inject: failures, duplicates, and the tests of the guide that use them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from partita import (
    Change,
    Consumer,
    ConsumerAdministration,
    ConsumerFaults,
    HandlerTransaction,
    InvalidValue,
    Store,
    connect,
    settle,
)
from tests.consumers import shop
from tests.consumers.shop import Order

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "consumers.md"
BLOCK = re.compile(r"^```python( pytest)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Clock:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", shop.design, clock=clock) as store:
        store.create_tables()
        yield store


def counting(name: str = "counting") -> tuple[Consumer, list[str]]:
    """A consumer that notes each run of its handler, and counts in its transaction."""
    consumer, runs = Consumer(name, tries=3), []

    @consumer.on(Order)
    def note(change: Change[Order], t: HandlerTransaction) -> None:
        runs.append(change.id)
        t.change(shop.tally("orders"), create=True).created += 1

    return consumer, runs


def test_duplicates_take_effect_once(db: Store) -> None:
    consumer, runs = counting()
    faults = ConsumerFaults()
    faults.duplicate(consumer, times=2)
    for number in range(4):
        db.put(Order(order_id=str(number), customer_id="c"))
    settle(db, consumer, faults=faults)
    assert (len(runs), len(set(runs)), db.one(shop.tally("orders")).created) == (12, 4, 4)


def test_each_ordered_failure_is_one_try(db: Store, clock: Clock) -> None:
    consumer, runs = counting()
    faults = ConsumerFaults()
    faults.fail(consumer, times=2)
    db.put(Order(order_id="1", customer_id="c"))
    for tries in (1, 2):
        settle(db, consumer, faults=faults)
        assert (len(runs), db(shop.tally("orders"))) == (tries, None)
        clock.now += timedelta(minutes=1)
    settle(db, consumer, faults=faults)
    assert (len(runs), db.one(shop.tally("orders")).created) == (3, 1)


def test_failures_of_one_consumer_do_not_concern_another(db: Store) -> None:
    failing, _ = counting("failing")
    faults = ConsumerFaults()
    faults.fail(failing)
    db.put(Order(order_id="1", customer_id="c", number=7))
    settle(db, failing, shop.copies, faults=faults)
    assert db.one(shop.copy_of("1")).number == 7
    assert ConsumerAdministration(db, "failing").status().parked == 1


def test_failing_change_is_run_once_a_try_without_faults_too(db: Store) -> None:
    runs = []
    consumer = Consumer("failing", tries=3)

    @consumer.on(Order)
    def fail(change: Change[Order], t: HandlerTransaction) -> None:
        runs.append(change.id)
        raise ValueError("always")

    db.put(Order(order_id="1", customer_id="c"))
    settle(db, consumer)
    assert len(runs) == 1


@pytest.mark.parametrize("times", [0, -1, True, 1.5])
def test_number_of_faults_is_checked(times: int) -> None:
    consumer, _ = counting()
    with pytest.raises(InvalidValue, match="times="):
        ConsumerFaults().fail(consumer, times=times)
    with pytest.raises(InvalidValue, match="times="):
        ConsumerFaults().duplicate(consumer, times=times)


@pytest.mark.slow
def test_tests_in_the_guide_pass(pytester: pytest.Pytester) -> None:
    found = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    tests = "\n".join(text for label, text in found if label)
    pytester.makepyfile(shop=found[0][1], test_shop=tests)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=3)
