"""Consumers that begin with a scan: each item that exists is created once, and its changes follow without a gap."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import InvalidValue, Store, connect
from partita.consumers import initial_scan, state
from partita.consumers.administration import ConsumerAdministration
from partita.consumers.consumer import Consumer
from partita.consumers.entity_changes import Change, Created, Deleted
from partita.consumers.handler_transaction import HandlerTransaction, TakenOver
from partita.consumers.runner import ConsumerRunner
from partita.consumers.shards import REFRESH_SECONDS
from partita.consumers.worker import create_state_tables
from partita.dynamodb.stream_shapes import GetRecords, GetRecordsOutput
from tests.consumers import shop
from tests.consumers.shop import Copy, Order, Tally


class LateStream:
    """A backend whose stream shows its records only while it is not late."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.is_late = False

    def close(self) -> None:
        self._engine.close()

    def call(self, request: Any, /) -> Any:
        if isinstance(request, GetRecords) and self.is_late:
            return GetRecordsOutput(records=[], next_shard_iterator=request.shard_iterator)
        return self._engine.call(request)


class Crash(BaseException):
    """The process ends."""


def following(crashes: list[int] | None = None) -> Consumer:
    """A consumer that keeps a copy of each order, and accepts only changes that fit it.

    `crashes` has the number of changes after which the process ends.
    """
    consumer = Consumer("copies", start="scan", tries=1)

    @consumer.on(Order)
    def follow(change: Change[Order], t: HandlerTransaction) -> None:
        if crashes:
            crashes[0] -= 1
            if crashes[0] < 0:
                crashes.clear()
                raise Crash
        order = change.before if isinstance(change, Deleted) else change.after
        found = t.get(shop.copy_of(order.order_id))
        before = None if isinstance(change, Created) else change.before.number
        if before != (None if found is None else found.number):
            raise ValueError(f"{change} follows {found}")
        if isinstance(change, Deleted):
            t.delete(shop.copy_of(order.order_id))
        else:
            t.put(Copy(order_id=order.order_id, number=order.number))

    return consumer


class Running:
    def __init__(self, consumer: Consumer) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.backend = LateStream(connect("memory:", clock=lambda: self.now, maintain=False))
        self.db = Store(self.backend, shop.design, clock=lambda: self.now, sleep=lambda _: None)
        self.db.create_tables()
        create_state_tables(self.db)
        self.consumer = consumer
        self.runner: ConsumerRunner | None = None

    def start(self, consumer: Consumer | None = None) -> ConsumerRunner:
        self.close()
        self.consumer = consumer or self.consumer
        self.runner = ConsumerRunner(self.db, self.consumer)
        self.runner.take_over()
        return self.runner

    def step(self) -> int:
        runner = self.runner or self.start()
        try:
            return runner.step()
        except Crash:
            self.start()
            return 1

    def settle(self) -> None:
        self.backend.is_late = False
        while self.step():
            pass

    def put(self, order_id: str, number: int) -> None:
        self.db.put(Order(order_id=order_id, customer_id="c", number=number))

    def delete(self, order_id: str) -> None:
        self.db.delete(shop.order(order_id))

    def copies(self) -> dict[str, int]:
        return {each.order_id: each.number for each in self.db.scan(Copy)}

    def orders(self) -> dict[str, int]:
        return {each.order_id: each.number for each in self.db.scan(Order)}

    def errors(self) -> list[str]:
        states = Store(self.backend, state.design)
        name = self.consumer.name
        parked = [each.error for each in states(state.parked_changes(name))]
        return parked + [each.error for each in states(state.dead_letters(name))]

    def scans(self) -> list[state.ScanProgress]:
        return list(Store(self.backend, state.design)(state.scans(self.consumer.name, "shop")))

    def close(self) -> None:
        if self.runner is not None:
            self.runner.close()


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial_scan, "PAGE", 2)


@contextmanager
def running(consumer: Consumer | None = None) -> Iterator[Running]:
    found = Running(consumer or following())
    try:
        yield found
    finally:
        found.close()
        found.db.close()


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcd"), st.integers(0, 2)),
        st.tuples(st.just("put"), st.sampled_from("abcd"), st.integers(0, 2)),
        st.tuples(st.just("delete"), st.sampled_from("abcd"), st.none()),
        st.tuples(st.sampled_from(("late", "restart", "wait")), st.none(), st.none()),
        st.tuples(st.just("crash"), st.none(), st.integers(0, 5)),
        st.tuples(st.just("step"), st.none(), st.none()),
    ),
    max_size=40,
)


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2)), ACTIONS)
@settings(max_examples=100, deadline=None)
def test_scan_and_changes_together_are_one_history_of_each_item(existing: dict[str, int], actions: list[Any]) -> None:
    """Whatever is written meanwhile, however late it appears in the stream, and whenever the runner is replaced."""
    crashes: list[int] = []
    with pytest.MonkeyPatch.context() as patched, running(following(crashes)) as found:
        patched.setattr(initial_scan, "PAGE", 2)
        for order_id, number in existing.items():
            found.put(order_id, number)
        for name, order_id, number in actions:
            match name:
                case "put":
                    found.put(order_id, number)
                case "delete":
                    found.delete(order_id)
                case "step":
                    found.step()
                case "late":
                    found.backend.is_late = not found.backend.is_late
                case "restart":
                    found.start()
                case "wait":
                    found.now += timedelta(minutes=1)
                case "crash":
                    crashes[:] = [number]
        found.settle()
        assert found.errors() == []
        assert found.copies() == found.orders()


def test_existing_items_are_created_with_their_present_values() -> None:
    tallies = Consumer("tallies", start="scan")
    tallies.on(Order)(shop.count)
    with running(tallies) as found:
        for number in range(5):
            found.put(str(number), 0)
            found.put(str(number), number)
        found.delete("0")
        found.now += timedelta(hours=1)
        found.settle()
        tally = found.db.one(shop.tally("orders"))
        assert (tally.created, tally.updated, tally.deleted, tally.total) == (4, 0, 0, 10)
        (scan,) = found.scans()
        assert (scan.delivered, scan.done_at) == (4, found.now)
        assert ConsumerAdministration(found.db, "tallies").status().handled == 4


def test_interrupted_scan_continues_where_it_was() -> None:
    seen: list[str] = []
    consumer = Consumer("seen", start="scan")

    @consumer.on(Order)
    def see(change: Change[Order], t: HandlerTransaction) -> None:
        assert isinstance(change, Created)
        seen.append(change.after.order_id)

    with running(consumer) as found:
        for number in range(9):
            found.put(str(number), number)
        found.now += timedelta(hours=1)
        while found.start().step():
            pass
        assert sorted(seen) == [str(number) for number in range(9)]


def test_runner_that_was_taken_over_delivers_no_more_of_a_scan() -> None:
    with running() as found:
        for number in range(6):
            found.put(str(number), number)
        first = found.start()
        first.step()
        second = ConsumerRunner(found.db, found.consumer)
        second.take_over()
        with pytest.raises(TakenOver):
            first.step()
        while second.step():
            pass
        second.close()
        assert found.copies() == found.orders()
        assert found.errors() == []


def test_failing_item_of_a_scan_waits_with_its_changes_and_no_other_item() -> None:
    is_broken = [True]
    consumer = Consumer("copies", start="scan", tries=9)

    @consumer.on(Order)
    def copy(change: Change[Order], t: HandlerTransaction) -> None:
        shop.copy(change, t)
        assert not isinstance(change, Deleted)
        if change.after.order_id == "a" and is_broken[0]:
            raise ValueError("not yet")

    with running(consumer) as found:
        found.put("a", 1)
        found.put("b", 1)
        found.settle()
        found.put("a", 2)
        found.put("b", 2)
        found.settle()
        assert found.copies() == {"b": 2}
        is_broken[0] = False
        found.now += timedelta(hours=1)
        found.settle()
        assert found.db.one(shop.copy_of("a")).history == [1, 2]


def test_crash_between_an_item_and_its_first_change_loses_neither() -> None:
    crashes: list[int] = []
    with running(following(crashes)) as found:
        found.put("a", 1)
        found.start()
        found.put("a", 2)
        found.delete("a")  # the scan does not see it
        crashes[:] = [1]  # after the first delivery
        found.settle()
        assert crashes == []
        assert (found.copies(), found.errors()) == ({}, [])


def test_handler_of_another_entity_delivers_its_items_and_repeats_no_others() -> None:
    seen: list[str] = []

    def consumer(*, with_notes: bool) -> Consumer:
        made = Consumer("seen", start="scan")

        @made.on(Order)
        def order(change: Change[Order], t: HandlerTransaction) -> None:
            seen.append(f"{type(change).__name__} order")

        if with_notes:

            @made.on(Tally)
            def tally(change: Change[Tally], t: HandlerTransaction) -> None:
                seen.append(f"{type(change).__name__} tally")

        return made

    with running(consumer(with_notes=False)) as found:
        found.put("a", 1)
        found.db.create(Tally(name="x"))
        found.settle()
        found.put("a", 2)
        with found.db.change(shop.tally("x")) as draft:
            draft.total = 7
        found.settle()
        assert seen == ["Created order", "Updated order"]
        found.start(consumer(with_notes=True))
        found.put("a", 3)
        found.settle()
        assert sorted(seen[2:]) == ["Created tally", "Updated order"]
        found.start()
        found.settle()
        assert len(seen) == 4
        assert [each.entities for each in sorted(found.scans(), key=lambda each: each.entities)] == [
            ["Order"],
            ["Tally"],
        ]


def test_handler_of_another_entity_begins_with_the_oldest_change_where_nothing_is_scanned() -> None:
    seen: list[str] = []
    first, second = Consumer("seen"), Consumer("seen")
    first.on(Order)(lambda change, t: None)
    second.on(Order)(lambda change, t: None)
    second.on(Tally)(lambda change, t: seen.append(type(change).__name__))
    with running(first) as found:
        found.db.create(Tally(name="x"))
        found.settle()
        found.start(second)
        with found.db.change(shop.tally("x")) as draft:
            draft.total = 7
        found.settle()
        assert (seen, found.scans()) == (["Created", "Updated"], [])


def test_image_is_the_same_whatever_the_order_of_its_sets() -> None:
    one = b'{"a":{"SS":["x","y"]},"n":{"N":"1.50"}}'
    other = b'{"n":{"N":"1.5"},"a":{"SS":["y","x"]}}'
    assert initial_scan._digest(msgspec.Raw(one)) == initial_scan._digest(msgspec.Raw(other))


def test_replay_handles_the_changes_since_a_time_again() -> None:
    with running(shop.copies) as found:
        found.put("a", 1)
        found.settle()
        found.now += timedelta(minutes=10)
        since = found.now
        found.put("a", 2)
        found.settle()
        runner = found.start()
        found.now += timedelta(minutes=10)
        runner.replay(since)
        found.settle()
        assert found.db.one(shop.copy_of("a")).history == [1, 2, 2]
        found.start()
        found.settle()
        assert found.db.one(shop.copy_of("a")).history == [1, 2, 2]


def test_replay_takes_parked_and_given_up_changes_along() -> None:
    broken = {2}
    consumer = Consumer("copies", tries=2)

    @consumer.on(Order)
    def copy(change: Change[Order], t: HandlerTransaction) -> None:
        shop.copy(change, t)
        assert not isinstance(change, Deleted)
        if change.after.number in broken:
            raise ValueError("broken")

    with running(consumer) as found:
        for number in (1, 2, 3):
            found.put("a", number)
        found.settle()
        found.now += timedelta(hours=1)
        found.settle()
        assert found.db.one(shop.copy_of("a")).history == [1, 3]
        found.put("b", 2)
        found.settle()
        assert len(found.errors()) == 2
        broken.clear()
        found.start().replay(found.now - timedelta(hours=2))
        found.settle()
        assert found.errors() == []
        assert found.db.one(shop.copy_of("a")).history == [1, 3, 1, 2, 3]
        assert found.db.one(shop.copy_of("b")).history == [2]


def test_running_process_begins_with_an_ordered_replay_although_nothing_is_written() -> None:
    with running(shop.copies) as found:
        seconds = 0.0
        found.put("a", 1)
        runner = ConsumerRunner(found.db, found.consumer, timer=lambda: seconds)
        runner.take_over()
        runner.step()
        ConsumerAdministration(found.db, "copies").replay(found.now - timedelta(minutes=1))
        seconds += REFRESH_SECONDS
        with pytest.raises(TakenOver):
            runner.step()
        runner.close()
        found.settle()
        assert found.db.one(shop.copy_of("a")).history == [1, 1]


def test_replay_that_was_interrupted_is_done_by_the_next_runner() -> None:
    with running(shop.copies) as found:
        found.put("a", 1)
        found.settle()
        states = Store(found.backend, state.design)
        with states.change(state.table_progress("copies", "shop")) as draft:
            draft.replay_since = found.now - timedelta(minutes=1)
        found.start()
        found.settle()
        assert found.db.one(shop.copy_of("a")).history == [1, 1]


@pytest.mark.parametrize(
    ("since", "reason"),
    [(datetime(2025, 1, 1), "time zone"), (datetime(2027, 1, 1, tzinfo=UTC), "future")],
)
def test_replay_since_no_time_of_the_past_is_an_error(since: datetime, reason: str) -> None:
    with running() as found, pytest.raises(InvalidValue, match=reason):
        found.start().replay(since)
