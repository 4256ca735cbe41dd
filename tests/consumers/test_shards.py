"""Streams over the wire: every change once and in the order of its item, whatever happens to shards and iterators."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import Store, connect
from partita.consumers import state
from partita.consumers.consumer import Consumer
from partita.consumers.entity_changes import Change
from partita.consumers.handler_transaction import HandlerTransaction
from partita.consumers.runner import ConsumerRunner
from partita.consumers.shards import REFRESH_SECONDS
from partita.consumers.worker import create_state_tables
from partita.dynamodb.exceptions import ProvisionedThroughputExceededException
from tests.consumers import shop
from tests.consumers.scripted_streams import ScriptedStreams
from tests.consumers.shop import Order

HALVES = ("0", "1", "2", "3")


class Following:
    """A consumer on scripted streams, with a time that is moved by hand."""

    def __init__(self, consumer: Consumer = shop.copies) -> None:
        engine = connect("memory:", maintain=False)
        self.streams = ScriptedStreams(engine)
        self.seconds = 0.0
        self.db = Store(self.streams, shop.design, clock=self.clock, sleep=lambda _: None, retries=3)
        self.db.create_tables()
        create_state_tables(self.db)
        self.consumer = consumer
        self.runner = self.start()

    def clock(self) -> datetime:
        return datetime.fromtimestamp(self.streams.now + self.seconds, UTC)

    def start(self) -> ConsumerRunner:
        runner = ConsumerRunner(self.db, self.consumer, timer=lambda: self.seconds)
        while True:
            try:
                runner.take_over()
            except ProvisionedThroughputExceededException:
                continue  # the worker does so, too, after a while
            return runner

    def restart(self) -> None:
        self.runner.close()
        self.runner = self.start()

    def step(self) -> int:
        try:
            return self.runner.step()
        except ProvisionedThroughputExceededException:
            return 1

    def settle(self) -> None:
        """Runs until nothing is left, through some looks for new shards."""
        quiet = 0
        while quiet < 3:
            quiet = 0 if bool(self.streams.faults) | bool(self.step()) else quiet + 1
            self.seconds += REFRESH_SECONDS + 1

    def history(self, order_id: str) -> list[int]:
        found = self.db(shop.copy_of(order_id))
        return [] if found is None else found.history

    def positions(self) -> list[state.Position]:
        return list(self.runner.db(state.positions(self.consumer.name)))

    def total_gaps(self) -> int:
        progress = self.runner.db.one(state.table_progress(self.consumer.name, "shop"))
        return progress.gaps + sum(each.gaps for each in self.positions())


@contextmanager
def following(consumer: Consumer = shop.copies) -> Iterator[Following]:
    running = Following(consumer)
    try:
        yield running
    finally:
        running.runner.close()
        running.db.close()


ACTIONS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(HALVES)),
    st.tuples(st.just("write some"), st.sampled_from(HALVES)),
    st.tuples(st.just("split"), st.sampled_from((0, 1))),
    st.tuples(st.sampled_from(("enable", "expire_iterators", "restart", "step", "wait")), st.none()),
    st.tuples(st.just("fault"), st.sampled_from(("throttle", "empty", "repeat"))),
    st.tuples(st.just("page"), st.integers(1, 4)),
)


def act(running: Following, name: str, value: Any) -> None:
    streams = running.streams
    match name:
        case "write" | "split":
            getattr(streams, name)(value)
        case "write some":
            for _ in range(4):
                streams.write(value)
        case "enable" | "expire_iterators":
            getattr(streams, name)()
        case "restart":
            running.restart()
        case "step":
            running.step()
        case "wait":
            running.seconds += REFRESH_SECONDS + 1
        case "fault":
            streams.faults.append(value)
        case "page":
            streams.page = value


def parents_are_read_first(streams: ScriptedStreams) -> bool:
    first = {shard: at for at, shard in reversed(list(enumerate(streams.opened)))}
    return all(
        first[each.parent] < first[each.id] for each in streams.shards if each.parent in first and each.id in first
    )


@given(st.lists(ACTIONS, min_size=5, max_size=40))
@settings(max_examples=80, deadline=None)
def test_every_change_is_handled_once_and_in_the_order_of_its_item(actions: list[tuple[str, Any]]) -> None:
    with following() as running:
        for name, value in actions:
            act(running, name, value)
        running.settle()
        for order_id, numbers in running.streams.written.items():
            assert running.history(order_id) == numbers, actions
        assert sum(each.gaps for each in running.positions()) == 0
        assert parents_are_read_first(running.streams)


@given(st.lists(st.one_of(ACTIONS, st.tuples(st.just("trim"), st.integers(1, 5))), min_size=5, max_size=40))
@settings(max_examples=60, deadline=None)
def test_changes_that_were_not_trimmed_are_handled_once_and_in_order(actions: list[tuple[str, Any]]) -> None:
    """What is missing was trimmed, and is reported."""
    with following() as running:
        trimmed: set[tuple[str, int]] = set()
        for name, value in actions:
            if name == "trim":
                shard = running.streams.shards[value % len(running.streams.shards)]
                running.streams.trim(shard, value)
                trimmed |= {written(each) for each in shard.records[: shard.trimmed]}
            else:
                act(running, name, value)
        running.settle()
        missing: set[tuple[str, int]] = set()
        for order_id, numbers in running.streams.written.items():
            handled = running.history(order_id)
            assert handled == sorted(set(handled))
            missing |= {(order_id, number) for number in set(numbers) - set(handled)}
        assert missing <= trimmed


def written(record: Any) -> tuple[str, int]:
    image = msgspec.json.decode(record.dynamodb.new_image)
    return image["PK"]["S"].removeprefix("ORDER#"), int(image["number"]["N"])


def test_child_of_a_split_waits_for_its_parent() -> None:
    with following() as running:
        running.streams.page = 2
        for _ in range(5):
            running.streams.write("0")
        running.streams.split(0)
        running.streams.write("0")
        for _ in range(2):
            running.runner.step()
        assert running.history("0") == [0, 1, 2, 3]
        running.settle()
        assert running.history("0") == [0, 1, 2, 3, 4, 5]


def test_child_of_a_split_waits_for_its_parent_after_a_restart() -> None:
    with following() as running:
        for _ in range(5):
            running.streams.write("0")
        running.streams.split(0)
        running.streams.write("0")
        running.restart()
        running.settle()
        assert running.history("0") == [0, 1, 2, 3, 4, 5]


def test_stream_that_is_enabled_again_is_followed_after_the_old_one() -> None:
    with following() as running:
        running.streams.write("0")
        running.streams.write("0")
        running.streams.enable()
        running.streams.write("0")
        running.settle()
        assert running.history("0") == [0, 1, 2]
        running.restart()
        running.streams.write("0")
        running.settle()
        assert running.history("0") == [0, 1, 2, 3]


def test_stream_that_was_enabled_again_while_the_consumer_stood_still_loses_nothing() -> None:
    with following() as running:
        running.streams.write("0")
        running.settle()
        running.streams.write("0")
        running.streams.enable()
        running.streams.write("0")
        running.restart()
        running.settle()
        assert running.history("0") == [0, 1, 2]


def test_new_consumer_begins_with_the_latest_stream() -> None:
    """Earlier ones may be those of a deleted table."""
    with following() as running:
        running.streams.write("0")
        running.streams.enable()
        running.streams.write("1")
        running.runner.close()
        running.consumer = Consumer("another")
        running.consumer.on(Order)(shop.copy)
        running.restart()
        running.settle()
        assert (running.history("0"), running.history("1")) == ([], [0])


def test_trimmed_changes_are_reported_and_the_others_handled(caplog: pytest.LogCaptureFixture) -> None:
    with following() as running:
        streams = running.streams
        streams.now = 1000.0
        streams.write("0")
        running.runner.step()
        for _ in range(3):
            streams.write("0")
        streams.now = 90_000.0
        streams.write("0")
        streams.trim(streams.shards[0], 3)
        with caplog.at_level(logging.ERROR, "partita.consumers"):
            running.restart()
            running.settle()
        assert running.history("0") == [0, 3, 4]
        (position,) = (each for each in running.positions() if each.gaps)
        assert (position.gaps, position.lost_after) == (1, datetime.fromtimestamp(1000, UTC))
        assert "consumer copies: changes of table shop between 1970-01-01 00:16:40+00:00 and" in caplog.text


def test_shard_that_expired_unread_is_reported_and_its_children_are_read() -> None:
    with following() as running:
        streams = running.streams
        streams.write("0")
        running.runner.step()
        streams.write("0")
        streams.split(0)
        streams.write("0")
        streams.shards[0].is_expired = True
        running.restart()
        running.settle()
        assert running.history("0") == [0, 2]
        assert running.total_gaps() == 1


def test_positions_of_shards_that_exist_no_longer_are_deleted_and_their_sums_stay() -> None:
    with following() as running:
        streams = running.streams
        for _ in range(4):
            streams.write("0")
            streams.split(0)
        running.settle()
        for each in streams.shards:
            each.is_expired = each.is_closed
        running.settle()
        assert len(running.positions()) == 2
        progress = running.runner.db.one(state.table_progress("copies", "shop"))
        assert progress.handled + sum(each.handled for each in running.positions()) == 4


def test_lasting_throttling_is_an_error_after_which_the_same_runner_goes_on() -> None:
    with following() as running:
        running.streams.write("0")
        running.streams.faults = ["throttle"] * 4
        with pytest.raises(ProvisionedThroughputExceededException):
            running.runner.step()
        running.settle()
        assert running.history("0") == [0]


def test_error_in_a_page_does_not_skip_the_rest_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with following() as running:
        for order_id in ("0", "2"):
            running.streams.write(order_id)
        with monkeypatch.context() as patched:
            patched.setattr(HandlerTransaction, "commit", broken)
            with pytest.raises(ConnectionError):
                running.runner.step()
        running.settle()
        assert (running.history("0"), running.history("2")) == ([0], [0])


def broken(_: HandlerTransaction) -> None:
    raise ConnectionError("no route to host")


def test_parked_changes_of_an_item_are_retried_in_the_order_of_their_numbers() -> None:
    """The sequence numbers get one digit more on the way."""
    failing = Consumer("failing", tries=3)
    broken_numbers = {1}

    @failing.on(Order)
    def copy(change: Change[Order], t: HandlerTransaction) -> None:
        if getattr(change, "after").number in broken_numbers:  # noqa: B009 - no order is deleted here
            raise ValueError("not yet")
        shop.copy(change, t)

    with following(failing) as running:
        for _ in range(12):
            running.streams.write("0")
        for _ in range(5):
            running.runner.step()
        assert running.history("0") == [0]
        broken_numbers.clear()
        running.settle()
        assert running.history("0") == list(range(12))


def test_new_consumer_that_begins_now_leaves_out_what_was_written_in_the_same_second() -> None:
    later = Consumer("later", start="now")
    later.on(Order)(shop.copy)
    with following(later) as running:
        running.streams.write("0")
        running.runner.close()
        running.consumer = Consumer("latest", start="now")
        running.consumer.on(Order)(shop.copy)
        running.runner = running.start()
        running.streams.write("0")
        running.settle()
        assert running.history("0") == [1]
