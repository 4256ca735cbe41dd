"""People look after consumers: they see their state, pause them, and retry or drop what was given up."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from partita import Change, ConfigurationError, Consumer, HandlerTransaction, NotFound, Store, connect, settle
from partita.consumers.administration import ConsumerAdministration, known_consumers
from partita.consumers.handler_transaction import TakenOver
from partita.consumers.leases import LeaseHolder
from partita.consumers.runner import ConsumerRunner
from partita.consumers.shards import LOOK_SECONDS
from partita.consumers.worker import create_state_tables
from partita.dynamodb.requests import Scan
from tests.consumers import shop
from tests.consumers.shop import Order


class World:
    """A store whose clock and timer are moved by hand, and a consumer of it that fails for some numbers."""

    def __init__(self, db: Store, clock: list[datetime]) -> None:
        self.db = db
        self.clock = clock
        self.failing: set[int] = set()
        self.late: list[bool] = []

    def consumer(self, after_failure: str = "continue") -> Consumer:
        consumer = Consumer("copies", tries=2, after_failure=after_failure)  # type: ignore[arg-type]

        @consumer.on(Order)
        def copy(change: Change[Order], t: HandlerTransaction) -> None:
            shop.copy(change, t)
            self.late.append(change.info.is_late)
            if getattr(change, "after", change).number in self.failing:  # type: ignore[union-attr]
                raise ValueError("no")

        return consumer

    def run(self, runner: ConsumerRunner) -> None:
        """Runs to rest, a day for the changes that are tried again."""
        for _ in range(8):
            while runner.step():
                pass
            self.clock[0] += timedelta(hours=3)

    def write(self, *numbers: int) -> None:
        for number in numbers:
            with self.db.change(shop.order("1")) as draft:
                draft.number = number

    def seconds(self) -> float:
        return self.clock[0].timestamp()

    @property
    def history(self) -> list[int]:
        return self.db.one(shop.copy_of("1")).history


Start = Callable[[Consumer], ConsumerRunner]


@pytest.fixture
def world() -> Iterator[World]:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    with connect("memory:", shop.design, clock=lambda: clock[0]) as db:
        db.create_tables()
        create_state_tables(db)
        db.create(Order(order_id="1", customer_id="c"))
        yield World(db, clock)


@pytest.fixture
def start(world: World) -> Iterator[Start]:
    with ExitStack() as closing:

        def started(consumer: Consumer) -> ConsumerRunner:
            runner = ConsumerRunner(world.db, consumer, timer=world.seconds)
            closing.callback(runner.close)
            runner.take_over()
            return runner

        yield started


def test_status_tells_what_was_done(world: World, start: Start) -> None:
    admin = ConsumerAdministration(world.db, "copies")
    with pytest.raises(NotFound, match="Consumer copies"):
        admin.status()
    world.failing = {2}
    world.run(start(world.consumer()))
    world.write(1, 2, 3)
    world.run(start(world.consumer()))
    status = admin.status()
    assert (status.handled, status.parked, status.dead_letters, status.gaps) == (4, 0, 1, 0)
    assert (status.is_running, status.is_paused) == (False, False)
    assert known_consumers(world.db) == ["copies"]


def test_retried_dead_letter_is_handled_and_marked_late(world: World, start: Start) -> None:
    world.failing = {2}
    runner = start(world.consumer())
    world.write(1, 2, 3)
    world.run(runner)
    assert world.history == [0, 1, 3]
    admin = ConsumerAdministration(world.db, "copies")
    (letter,) = admin.dead_letters()
    assert admin.keys_of(letter) == {"PK": {"S": "ORDER#1"}, "SK": {"S": "ORDER"}}
    world.failing = set()
    world.late.clear()
    admin.retry(letter)
    world.run(runner)
    assert world.history == [0, 1, 3, 2]
    assert world.late == [True]
    assert admin.dead_letters() == []
    with pytest.raises(NotFound):
        admin.retry(letter)


@pytest.mark.parametrize("repair", ["retry", "drop"])
def test_held_changes_go_on_after_the_dead_letter_is_repaired(world: World, start: Start, repair: str) -> None:
    world.failing = {2}
    runner = start(world.consumer("hold"))
    world.write(1, 2, 3)
    world.run(runner)
    world.write(4)
    world.run(runner)
    world.run(start(world.consumer("hold")))  # it is held after a restart, too
    assert world.history == [0, 1]
    admin = ConsumerAdministration(world.db, "copies")
    (letter,) = admin.dead_letters()
    world.failing = set()
    getattr(admin, repair)(letter)
    again = start(world.consumer("hold"))
    world.run(again)
    assert world.history == ([0, 1, 2, 3, 4] if repair == "retry" else [0, 1, 3, 4])
    assert admin.status().parked == 0
    world.write(5)
    world.run(again)
    assert world.history[-1] == 5


def test_paused_consumer_is_shown_as_paused(world: World, start: Start) -> None:
    world.run(start(world.consumer()))
    admin = ConsumerAdministration(world.db, "copies")
    admin.pause()
    assert admin.status().is_paused
    admin.resume()
    assert not admin.status().is_paused


def test_retried_dead_letter_is_handled_by_the_next_settle() -> None:
    runs = iter([ValueError("once")])
    consumer = Consumer("once", tries=1)

    @consumer.on(Order)
    def fail_once(change: Change[Order], t: HandlerTransaction) -> None:
        for error in runs:
            raise error
        t.create(shop.Copy(order_id=change.id))

    with connect("memory:", shop.design) as db:
        db.create_tables()
        db.create(Order(order_id="1", customer_id="c"))
        settle(db, consumer)
        administration = ConsumerAdministration(db, "once")
        assert administration.status().dead_letters == 1
        (letter,) = administration.dead_letters()
        administration.retry(letter)
        settle(db, consumer)
        assert (administration.status().dead_letters, administration.status().parked) == (0, 0)
        assert len(list(db.scan(shop.Copy))) == 1


def test_replay_is_noticed_within_seconds(world: World, start: Start) -> None:
    runner = start(world.consumer())
    runner.step()
    ConsumerAdministration(world.db, "copies").replay(world.clock[0] - timedelta(hours=1))
    world.clock[0] += timedelta(seconds=LOOK_SECONDS)
    with pytest.raises(TakenOver):
        runner.step()
    runner.take_over()
    runner.step()
    assert world.history == [0, 0]


def test_replay_has_all_changes_of_its_second(world: World, start: Start) -> None:
    world.run(start(world.consumer()))
    world.clock[0] += timedelta(milliseconds=300)
    since = world.clock[0]
    world.clock[0] += timedelta(milliseconds=300)
    world.write(1)
    world.run(start(world.consumer()))
    ConsumerAdministration(world.db, "copies").replay(since)
    world.run(start(world.consumer()))
    assert world.history == [0, 1, 1]


def test_consumer_that_was_renamed_is_forgotten(world: World, start: Start) -> None:
    world.failing = {0}
    runner = start(world.consumer("hold"))
    world.run(runner)
    world.write(1)
    world.run(runner)
    admin = ConsumerAdministration(world.db, "copies")
    assert (admin.status().dead_letters, admin.status().parked) == (1, 1)
    admin.forget()
    assert known_consumers(world.db) == []
    assert world.db.backend.call(Scan(table_name="partita-consumers")).count == 0
    with pytest.raises(NotFound):
        admin.forget()


def test_consumer_that_runs_is_not_forgotten(world: World, start: Start) -> None:
    runner = start(world.consumer())
    assert LeaseHolder(runner.db, "copies").hold()
    with pytest.raises(ConfigurationError, match="consumer copies is running"):
        ConsumerAdministration(world.db, "copies").forget()


def test_async_handlers_settle_where_an_event_loop_runs() -> None:
    async def test() -> None:
        settle(db, shop.tallies)
        db.create(Order(order_id="1", customer_id="c"))
        settle(db, shop.tallies)

    with connect("memory:", shop.design) as db:
        db.create_tables()
        asyncio.run(test())
        assert db.one(shop.tally("orders")).created == 1


def test_settle_leaves_out_a_paused_consumer_until_it_is_resumed() -> None:
    with connect("memory:", shop.design) as db:
        db.create_tables()
        settle(db, shop.tallies)
        admin = ConsumerAdministration(db, "tallies")
        admin.pause()
        db.create(Order(order_id="1", customer_id="c"))
        settle(db, shop.tallies, shop.copies)
        assert (db(shop.tally("orders")), db.one(shop.copy_of("1")).history) == (None, [0])
        admin.resume()
        settle(db, shop.tallies)
        assert db.one(shop.tally("orders")).created == 1
