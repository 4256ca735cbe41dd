"""Parked changes: after any failure and repair, no change is left behind and the order of an item is kept."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from partita import Change, Consumer, Created, Deleted, HandlerTransaction, Store, connect, settle
from partita.consumers.administration import ConsumerAdministration
from partita.consumers.consumer import AfterFailure
from partita.consumers.consumer_store import ConsumerStore
from partita.consumers.parking import stored_record
from partita.consumers.runner import ConsumerRunner
from partita.consumers.worker import create_state_tables
from partita.dynamodb.requests import Query
from tests.consumers import shop
from tests.consumers.shop import Order

ITEMS = ("a", "b")


class World:
    """Orders, and a consumer that fails for some of their numbers; the clock is moved by hand."""

    def __init__(self, db: Store, clock: list[datetime], after_failure: AfterFailure) -> None:
        self.db = db
        self.clock = clock
        self.failing: set[int] = set()
        self.handled: list[tuple[str, int, bool]] = []
        self.written = 0
        self.consumer = Consumer("copies", tries=2, after_failure=after_failure)
        self.consumer.on(Order)(self.handle)
        self.admin = ConsumerAdministration(db, "copies")
        self.runner = self.begin()

    def handle(self, change: Change[Order], t: HandlerTransaction) -> None:
        assert not isinstance(change, Deleted)
        if change.after.number in self.failing:
            raise ValueError("no")
        self.handled.append((change.after.order_id, change.after.number, change.info.is_late))

    def begin(self) -> ConsumerRunner:
        runner = ConsumerRunner(self.db, self.consumer, timer=self.seconds)
        runner.take_over()
        return runner

    def seconds(self) -> float:
        return self.clock[0].timestamp()

    def write(self, item: str, *, fails: bool) -> int:
        self.written += 1
        if fails:
            self.failing.add(self.written)
        self.db.put(Order(order_id=item, customer_id="c", number=self.written))
        return self.written

    def run(self) -> None:
        """Runs to rest, hours for the changes that are tried again."""
        for _ in range(8):
            while self.runner.step():
                pass
            self.clock[0] += timedelta(hours=1)

    def numbers(self, item: str, *, late: bool = False) -> list[int]:
        return [number for order_id, number, is_late in self.handled if order_id == item and is_late in (False, late)]


@contextmanager
def world_of(after_failure: AfterFailure) -> Iterator[World]:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    with connect("memory:", shop.design, clock=lambda: clock[0], maintain=False) as db:
        db.create_tables()
        create_state_tables(db)
        world = World(db, clock, after_failure)
        yield world
        world.runner.close()


def test_change_that_is_parked_while_the_one_before_it_is_dropped_goes_on() -> None:
    with world_of("hold") as world:
        world.write("a", fails=True)
        world.run()
        world.runner.step()
        world.admin.drop(*world.admin.dead_letters())
        world.write("a", fails=False)
        world.runner.step()  # it has not looked for repaired dead letters yet, and parks the change behind one
        assert world.handled == []
        world.run()
        assert (world.numbers("a"), world.admin.status().parked) == ([2], 0)


def test_held_item_waits_for_its_retried_change() -> None:
    with world_of("hold") as world:
        world.write("a", fails=True)
        world.run()
        world.admin.retry(*world.admin.dead_letters())
        world.runner = world.begin()
        world.runner.step()  # it fails again
        world.write("a", fails=False)
        while world.runner.step():
            pass
        assert world.handled == []
        world.failing.clear()
        world.run()
        assert world.numbers("a", late=True) == [1, 2]


def test_changes_go_on_while_an_earlier_one_is_retried_after_it_was_given_up() -> None:
    with world_of("continue") as world:
        world.write("a", fails=True)
        world.run()
        world.admin.retry(*world.admin.dead_letters())
        world.runner = world.begin()
        world.runner.step()  # it fails again, and waits for its next try
        world.write("a", fails=True)
        world.write("a", fails=False)
        while world.runner.step():
            pass
        world.failing.discard(2)
        world.clock[0] += timedelta(seconds=1)
        while world.runner.step():
            pass
        assert world.numbers("a") == [2, 3]


def test_item_that_an_index_still_lists_is_not_tried_again() -> None:
    """An index of DynamoDB follows its table after a moment."""
    with world_of("continue") as world:
        world.write("a", fails=True)
        world.runner.step()
        backend, replies = world.db.backend, list[Any]()

        class Late:
            """The second reply of the index is as the first one."""

            def call(self, request: Any, /) -> Any:
                reply = backend.call(request)
                if isinstance(request, Query) and request.index_name == "due":
                    replies.append(reply)
                    return replies[0] if len(replies) == 2 else reply
                return reply

        world.failing.clear()
        world.clock[0] += timedelta(seconds=1)
        world.runner.close()
        world.db = Store(Late(), shop.design, clock=lambda: world.clock[0])
        world.runner = world.begin()
        world.write("a", fails=False)
        for _ in range(3):
            world.runner.step()
        assert len(replies) > 2
        assert world.numbers("a") == [1, 2]


def test_changes_that_were_held_go_on_when_the_consumer_does_not_hold_them_any_more() -> None:
    with world_of("hold") as world:
        world.write("a", fails=True)
        world.write("a", fails=False)
        world.run()
        assert world.handled == []
        world.consumer.after_failure = "continue"
        settle(world.db, world.consumer)
        assert world.numbers("a") == [2]


def test_retried_dead_letter_is_handled_at_once_by_a_runner_that_looks_again() -> None:
    with world_of("continue") as world:
        world.write("a", fails=True)
        world.run()
        world.failing.clear()
        world.runner.step()
        world.admin.retry(*world.admin.dead_letters())
        world.runner.step()
        assert world.handled == []
        world.runner.parking.look_again()
        world.runner.step()
        assert world.numbers("a", late=True) == [1]


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("error", [ValueError("\ud83d"), Unreadable(), ValueError("x" * 1_000_000)])
@pytest.mark.parametrize("tries", [1, 2])
def test_error_with_any_message_is_stored_and_others_go_on(error: Exception, tries: int) -> None:
    with world_of("continue") as world:
        world.consumer.tries = tries

        @world.consumer.on(Order)
        def fail(change: Change[Order], t: HandlerTransaction) -> None:
            if isinstance(change, Created) and change.after.order_id == "a":
                raise error

        world.write("a", fails=False)
        world.write("b", fails=False)
        world.run()
        assert world.numbers("b") == [2]
        (letter,) = world.admin.dead_letters()
        assert letter.error.startswith(type(error).__name__)


OPERATIONS: tuple[Callable[[World, random.Random], object], ...] = (
    lambda world, chance: world.write(chance.choice(ITEMS), fails=chance.random() < 0.4),
    lambda world, chance: world.write(chance.choice(ITEMS), fails=chance.random() < 0.4),
    lambda world, _: world.runner.step(),
    lambda world, _: world.runner.step(),
    lambda world, chance: world.clock.append(world.clock.pop() + timedelta(seconds=chance.choice((1, 4, 60)))),
    lambda world, chance: world.failing.discard(chance.randint(1, max(1, world.written))),
    lambda world, _: setattr(world, "runner", world.begin()),
)


def repair(world: World, chance: random.Random) -> int | None:
    """Retries or drops a dead letter; returns the number of a dropped change."""
    letters = world.admin.dead_letters()
    if not letters:
        return None
    letter = chance.choice(letters)
    if chance.random() < 0.5:
        world.admin.retry(letter)
        return None
    record = stored_record(ConsumerStore(world.db), letter).dynamodb
    assert record is not None
    assert record.new_image is not None
    world.admin.drop(letter)
    return int(msgspec.json.decode(record.new_image)["number"]["N"])


@pytest.mark.parametrize("after_failure", ["continue", "hold"])
@pytest.mark.parametrize("seed", range(12))
def test_every_change_is_handled_once_or_dropped_and_in_its_order(seed: int, after_failure: AfterFailure) -> None:
    chance, dropped = random.Random(f"{seed} {after_failure}"), set[int]()
    with world_of(after_failure) as world:
        for _ in range(60):
            if chance.random() < 0.1:
                number = repair(world, chance)
                dropped |= set() if number is None else {number}
            else:
                chance.choice(OPERATIONS)(world, chance)
        world.failing.clear()
        world.run()
        for letter in world.admin.dead_letters():
            world.admin.retry(letter)
        world.run()
        status = world.admin.status()
        assert (status.parked, status.dead_letters) == (0, 0)
        numbers = sorted(number for _, number, _ in world.handled)
        assert numbers == sorted(set(range(1, world.written + 1)) - dropped)
        for item in ITEMS:
            in_order = world.numbers(item, late=after_failure == "hold")
            assert in_order == sorted(in_order)
