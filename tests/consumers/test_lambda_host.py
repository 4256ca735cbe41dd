"""AWS Lambda: each change once and in the order of its item, although batches are repeated; AWS's shapes of events."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import ConfigurationError, Entity, Item, Items, Store, Table, connect, pattern, prove
from partita.aws import create_state_tables, lambda_handler
from partita.consumers import state
from partita.consumers.administration import ConsumerAdministration
from partita.consumers.consumer import Consumer
from partita.consumers.entity_changes import Change, Created, Deleted, Updated
from partita.consumers.handler_transaction import HandlerTransaction
from partita.consumers.runner import ConsumerRunner
from partita.dynamodb.requests import TransactWriteItems
from tests.consumers import shop
from tests.consumers.scripted_streams import ScriptedStreams, image_of
from tests.consumers.shop import Order
from tests.store.faults import Faulty, reply_lost, throttled

ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/shop/stream/2026-01-01T00:00:00.000"


class Function:
    """A Lambda function whose events are made from the records of scripted streams."""

    def __init__(self, consumer: Consumer) -> None:
        self.streams = ScriptedStreams(connect("memory:", maintain=False))
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.db = Store(self.streams, shop.design, clock=lambda: self.now, sleep=lambda _: None, retries=2)
        self.db.create_tables()
        create_state_tables(self.db)
        self.consumer = consumer
        self.handler = lambda_handler(consumer, self.db)

    def event(self) -> dict[str, Any]:
        """The records of all orders whose shard is the first one."""
        return {"Records": [in_event(each) for each in self.streams.shards[0].records]}

    def send(self, event: dict[str, Any] | None = None) -> list[str]:
        """The sequence numbers that failed."""
        reply = self.handler(self.event() if event is None else event, None)
        assert reply.keys() == {"batchItemFailures"}
        return [each["itemIdentifier"] for each in reply["batchItemFailures"]]

    def history(self, order_id: str) -> list[int]:
        found = self.db(shop.copy_of(order_id))
        return [] if found is None else found.history

    def letters(self) -> list[state.DeadLetter]:
        return list(Store(self.streams, state.design)(state.dead_letters(self.consumer.name)))


def in_event(record: Any, arn: str = ARN) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(record))
    return {**found, "eventID": "1", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "eventSourceARN": arn}


@contextmanager
def function(consumer: Consumer = shop.copies) -> Iterator[Function]:
    running = Function(consumer)
    try:
        yield running
    finally:
        running.db.close()


def copying(broken: set[tuple[str, int]], **settings: Any) -> Consumer:
    """A consumer that copies orders and fails for some of their numbers."""
    consumer = Consumer("copies", **settings)

    @consumer.on(Order)
    def copy(change: Change[Order], t: HandlerTransaction) -> None:
        shop.copy(change, t)
        assert not isinstance(change, Deleted)
        if (change.after.order_id, change.after.number) in broken:
            raise ValueError(f"{change.after.order_id} has {change.after.number}")

    return consumer


def test_batch_that_is_sent_again_takes_effect_once() -> None:
    with function() as running:
        for order_id in ("0", "2", "0", "4", "0"):
            running.streams.write(order_id)
        assert [running.send() for _ in range(3)] == [[], [], []]
        assert [running.history(each) for each in ("0", "2", "4")] == [[0, 1, 2], [0], [0]]


def test_failure_is_reported_with_the_later_changes_of_its_item_and_no_others() -> None:
    broken = {("0", 1)}
    with function(copying(broken)) as running:
        for order_id in ("0", "0", "2", "0", "2"):
            running.streams.write(order_id)
        sequences = [each["dynamodb"]["SequenceNumber"] for each in running.event()["Records"]]
        assert running.send() == [sequences[1], sequences[3]]
        assert (running.history("0"), running.history("2")) == ([0], [0, 1])
        broken.clear()
        assert running.send({"Records": running.event()["Records"][1:]}) == []
        assert (running.history("0"), running.history("2")) == ([0, 1, 2], [0, 1])


def test_last_try_becomes_a_dead_letter_and_counts_as_done() -> None:
    with function(copying({("0", 1)}, tries=3)) as running:
        for _ in range(3):
            running.streams.write("0")
        failures = [len(running.send()) for _ in range(4)]
        assert failures == [2, 2, 0, 0]
        assert running.history("0") == [0, 2]
        (letter,) = running.letters()
        assert (letter.tries, letter.error, letter.table) == (3, "ValueError: 0 has 1", "shop")


def test_held_item_keeps_its_later_changes_in_order_behind_a_dead_letter() -> None:
    with function(copying({("0", 1)}, tries=1, after_failure="hold")) as running:
        for order_id in ("0", "0", "2"):
            running.streams.write(order_id)
        assert running.send() == []
        for _ in range(10):  # their sequence numbers get one digit more
            running.streams.write("0")
        running.handler = lambda_handler(running.consumer, running.db)  # another instance of the function
        assert running.send() == []
        assert (running.history("0"), running.history("2")) == ([0], [0])
        parked = list(Store(running.streams, state.design)(state.parked_changes("copies")))
        assert [int(each.sequence) for each in parked] == sorted(int(each.sequence) for each in parked)
        assert len(parked) == 10


def test_dead_letter_that_is_retried_is_handled_in_the_next_call() -> None:
    broken = {("0", 0)}
    with function(copying(broken, tries=1)) as running:
        running.streams.write("0")
        assert running.send() == []
        broken.clear()
        administration = ConsumerAdministration(running.db, "copies")
        for letter in administration.dead_letters():
            administration.retry(letter)
        assert running.send({"Records": []}) == []
        assert (running.history("0"), running.letters()) == ([0], [])


def test_failing_handler_runs_once_in_a_call_and_others_not_again() -> None:
    runs: list[str] = []
    consumer = Consumer("copies", tries=3)

    @consumer.on(Order)
    def note(change: Change[Order], t: HandlerTransaction) -> None:
        assert not isinstance(change, Deleted)
        runs.append(change.after.order_id)
        if change.after.order_id == "0":
            raise ValueError("no")

    with function(consumer) as running:
        for order_id in ("0", "2", "4", "6"):
            running.streams.write(order_id)
        assert [len(running.send()) for _ in range(4)] == [1, 1, 0, 0]
    assert sorted(runs) == ["0", "0", "0", "2", "4", "6"]


def test_handler_that_fails_behind_others_runs_at_most_twice_in_a_call() -> None:
    broken = {("6", 0)}
    with function(copying(broken, tries=1)) as running:
        for order_id in ("0", "2", "4", "6"):
            running.streams.write(order_id)
        assert running.send() == []
        assert [running.history(each) for each in ("0", "2", "4")] == [[0], [0], [0]]
        assert len(running.letters()) == 1


def test_status_counts_what_calls_have_handled_skipped_and_tried_again() -> None:
    broken = {("0", 1)}
    with function(copying(broken, tries=3)) as running:
        for order_id in ("0", "0", "2"):
            running.streams.write(order_id)
        administration = ConsumerAdministration(running.db, "copies")

        def counts() -> tuple[int, int, int]:
            status = administration.status()
            return status.handled, status.retries, status.skipped

        other = shop_record()
        other["dynamodb"]["NewImage"] = other["dynamodb"]["Keys"] = {"PK": {"S": "?"}, "SK": {"S": "?"}}
        records = running.event()["Records"]
        running.send({"Records": [other, *records, other]})
        assert counts() == (2, 0, 1)  # the record after the failure comes again
        running.send({"Records": [records[1], other]})
        assert counts() == (2, 1, 1)
        broken.clear()
        running.send({"Records": [records[1], other]})
        assert counts() == (3, 2, 2)
        running.send({"Records": records})
        assert counts() == (3, 2, 2)


def test_consumer_runs_in_one_kind_of_host_only() -> None:
    with function() as running:
        running.streams.write("0")
        running.send()
        with pytest.raises(ConfigurationError, match="has run in AWS Lambda, and cannot go on in a worker"):
            ConsumerRunner(running.db, running.consumer).take_over()
    with function() as running:
        ConsumerRunner(running.db, running.consumer).take_over()
        with pytest.raises(ConfigurationError, match="has run in a worker, and cannot go on in AWS Lambda"):
            running.send()


def test_throttling_is_no_failed_try_of_the_handler() -> None:
    with function(copying(set(), tries=1)) as running:
        running.streams.write("0")
        faulty = Faulty(running.streams, TransactWriteItems, *[throttled] * 3)
        with_faults = Store(faulty, shop.design, sleep=lambda _: None, retries=2)
        running.handler = lambda_handler(running.consumer, with_faults)
        assert len(running.send()) == 1
        assert running.send() == []
        assert (running.history("0"), running.letters()) == ([0], [])


def test_lost_reply_of_a_transaction_does_not_repeat_its_effect() -> None:
    with function() as running:
        running.streams.write("0")
        faulty = Faulty(running.streams, TransactWriteItems, *[reply_lost] * 3)
        running.handler = lambda_handler(running.consumer, Store(faulty, shop.design, sleep=lambda _: None, retries=2))
        running.send()
        assert running.send() == []
        assert running.history("0") == [0]


def test_progress_of_an_item_expires_after_the_stream_has_forgotten_its_changes() -> None:
    with function() as running:
        running.streams.write("0")
        running.send()
        (progress,) = Store(running.streams, state.design, clock=lambda: running.now).scan(state.ItemProgress)
        assert progress.expires_at - running.now == timedelta(days=7)
        running.now += timedelta(days=8)
        running.streams.write("0")
        assert running.send({"Records": running.event()["Records"][1:]}) == []
        assert running.history("0") == [0, 1]


BATCHES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(("0", "2", "4"))),
        st.tuples(st.just("write"), st.sampled_from(("0", "2", "4"))),
        st.tuples(st.sampled_from(("call", "repeat", "crash")), st.integers(1, 6)),
        st.tuples(st.just("break"), st.integers(0, 5)),
    ),
    max_size=40,
)


@given(BATCHES)
@settings(max_examples=60, deadline=None)
def test_repeated_and_interrupted_batches_handle_every_change_once_and_in_order(actions: list[tuple[str, Any]]) -> None:
    """Lambda's own behaviour: a batch is sent from its first failure on, or as a whole after a crash."""
    broken: set[tuple[str, int]] = set()
    with function(copying(broken, tries=100)) as running:
        done = 0

        def call(first: int, count: int) -> int:
            """The number of records after which the next batch begins."""
            batch = running.event()["Records"][first : first + count]
            failed = running.send({"Records": batch})
            sequences = [each["dynamodb"]["SequenceNumber"] for each in batch]
            return first + (sequences.index(min(failed, key=int)) if failed else len(batch))

        for name, value in actions:
            if name == "write":
                running.streams.write(value)
            elif name == "call":
                done = call(done, value)
            elif name == "repeat":
                call(max(0, done - value), value)
            elif name == "crash":
                call(done, value)  # its reply is lost
            else:
                broken ^= {("0", value)}
        broken.clear()
        while done < len(running.streams.shards[0].records):
            done = call(done, 5)
        for order_id, numbers in running.streams.written.items():
            assert running.history(order_id) == numbers


# AWS's shapes

files = Table("files", "PK", "SK", ttl="ttl", stream="NEW_AND_OLD_IMAGES")


class File(Entity, table=files, key=("FILE#{name}", "FILE")):
    name: str
    data: bytes = b""
    tags: frozenset[str] = frozenset()


class Note(Entity, table=files, key=("NOTE#{number}", "NOTE")):
    number: str
    text: str


@pattern
def file(name: str) -> Item[File]: ...
@pattern
def note(number: str) -> Item[Note]: ...
@pattern
def notes(number: str) -> Items[Note]: ...


files_design = prove("files", files)
DATA = bytes(range(256))


def aws_event(**members: Any) -> dict[str, Any]:
    """An event as AWS documents it; `members` replace those of its record."""
    image = {"PK": {"S": "FILE#a"}, "SK": {"S": "FILE"}, "name": {"S": "a"}}
    new = {**image, "data": {"B": base64.b64encode(DATA).decode()}, "tags": {"SS": ["y", "x"]}}
    dynamodb = {
        "ApproximateCreationDateTime": 1479499740,
        "Keys": {"PK": {"S": "FILE#a"}, "SK": {"S": "FILE"}},
        "NewImage": new,
        "OldImage": {**image, "data": {"B": ""}},
        "SequenceNumber": "111100000000000000000000001",
        "SizeBytes": 112,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
        **members.pop("dynamodb", {}),
    }
    record = {
        "eventID": "c9fbe7d0261a5163fcb6940593e41797",
        "eventName": "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-2",
        "dynamodb": {name: value for name, value in dynamodb.items() if value is not None},
        "eventSourceARN": ARN.replace("shop", "files"),
        **members,
    }
    return {"Records": [{name: value for name, value in record.items() if value is not None}]}


@pytest.fixture
def seen() -> list[Change[File]]:
    return []


@pytest.fixture
def handler(seen: list[Change[File]]) -> Iterator[Any]:
    consumer = Consumer("files")

    @consumer.on(File)
    def see(change: Change[File], t: HandlerTransaction) -> None:
        seen.append(change)

    with connect("memory:", files_design) as db:
        db.create_tables()
        create_state_tables(db)
        yield lambda_handler(consumer, db)


def test_modification_has_both_images_with_binaries(handler: Any, seen: list[Change[File]]) -> None:
    assert handler(aws_event(), None) == {"batchItemFailures": []}
    (change,) = seen
    assert isinstance(change, Updated)
    assert (change.before.data, change.after.data, change.after.tags) == (b"", DATA, frozenset({"x", "y"}))
    assert change.at == datetime(2016, 11, 18, 20, 9, tzinfo=UTC)


@pytest.mark.parametrize("moment", [1479499740, 1479499740.0, 1479499740.25, None])
def test_time_of_a_change_may_be_a_float_or_absent(handler: Any, seen: list[Change[File]], moment: Any) -> None:
    handler(aws_event(dynamodb={"ApproximateCreationDateTime": moment}), None)
    assert seen[0].at.timestamp() == (moment or 0)


@pytest.mark.parametrize("members", [("type", "principalId"), ("Type", "PrincipalId")])
def test_deletion_by_ttl_is_recognised(handler: Any, seen: list[Change[File]], members: tuple[str, str]) -> None:
    identity = dict(zip(members, ("Service", "dynamodb.amazonaws.com"), strict=True))
    event = aws_event(eventName="REMOVE", userIdentity=identity, dynamodb={"NewImage": None})
    handler(event, None)
    (change,) = seen
    assert isinstance(change, Deleted)
    assert change.by_ttl


def test_deletion_by_a_program_is_not_by_ttl(handler: Any, seen: list[Change[File]]) -> None:
    handler(aws_event(eventName="REMOVE", dynamodb={"NewImage": None}), None)
    (change,) = seen
    assert isinstance(change, Deleted)
    assert not change.by_ttl


def test_insertion_has_no_old_image(handler: Any, seen: list[Change[File]]) -> None:
    handler(aws_event(eventName="INSERT", dynamodb={"OldImage": None}), None)
    assert isinstance(seen[0], Created)


def test_change_has_the_same_id_whenever_it_is_delivered(handler: Any, seen: list[Change[File]]) -> None:
    with function(shop.notifications) as running:
        running.streams.write("0")
        assert running.send() == []
    handler(aws_event(), None)
    handler(aws_event(dynamodb={"SequenceNumber": "111100000000000000000000002"}), None)
    assert len({each.id for each in seen}) == 2


def test_arn_of_a_table_without_its_stream_is_accepted(handler: Any, seen: list[Change[File]]) -> None:
    handler(aws_event(eventSourceARN="arn:aws:dynamodb:us-east-2:123456789012:table/files"), None)
    handler(aws_event(eventSourceARN="stream-ARN", dynamodb={"SequenceNumber": "2" * 27}), None)
    assert len(seen) == 2


def test_empty_event_has_no_failures(handler: Any) -> None:
    assert handler({"Records": []}, None) == {"batchItemFailures": []}


@pytest.mark.parametrize("state", [{}, {"count": "1"}])
def test_state_of_a_tumbling_window_is_returned(handler: Any, state: dict[str, str]) -> None:
    event = aws_event() | {"window": {"start": "2020-07-30T17:00:00Z", "end": "2020-07-30T17:05:00Z"}, "state": state}
    assert handler(event, None) == {"batchItemFailures": [], "state": state}


@pytest.mark.parametrize("dynamodb", [{"OldImage": None}, {"NewImage": None}, {"NewImage": None, "OldImage": None}])
def test_stream_without_both_images_is_an_error(handler: Any, seen: list[Any], dynamodb: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="view type NEW_AND_OLD_IMAGES"):
        handler(aws_event(dynamodb=dynamodb), None)
    assert seen == []


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({}, "no Records"),
        ({"detail-type": "Scheduled Event"}, "no Records"),
        ({"Records": ["x"]}, "not one of a DynamoDB stream"),
        (aws_event(eventSourceARN=ARN.replace("shop", "other")), "the consumer handles files"),
        (aws_event(dynamodb={"NewImage": "text"}), "not one of a DynamoDB stream"),
    ],
)
def test_other_events_are_errors(handler: Any, event: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        handler(event, None)


def test_items_of_no_entity_are_skipped(handler: Any, seen: list[Any]) -> None:
    key = {"PK": {"S": "OTHER#1"}, "SK": {"S": "OTHER"}}
    assert handler(aws_event(dynamodb={"NewImage": key, "OldImage": key, "Keys": key}), None)["batchItemFailures"] == []
    assert seen == []


def test_tables_may_have_other_names_on_the_backend() -> None:
    with connect("memory:", shop.design, table_names=lambda name: f"prod-{name}") as db:
        db.create_tables()
        create_state_tables(db)
        order = Order(order_id="1", customer_id="c")
        image = image_of(order)
        keys = {name: image[name] for name in ("PK", "SK")}
        record = {
            "eventName": "INSERT",
            "dynamodb": {"Keys": keys, "NewImage": image, "SequenceNumber": "7" * 21},
            "eventSourceARN": ARN.replace("shop", "prod-shop"),
        }
        assert lambda_handler(shop.copies, db)({"Records": [record]}, None) == {"batchItemFailures": []}
        assert db.one(shop.copy_of("1")).history == [0]


def test_consumer_that_begins_with_a_scan_needs_a_worker() -> None:
    with connect("memory:", shop.design) as db, pytest.raises(ConfigurationError, match="needs a worker"):
        lambda_handler(Consumer("views", start="scan"), db)


def test_missing_state_table_is_an_error_that_names_it() -> None:
    with connect("memory:", shop.design) as db:
        db.create_tables()
        with pytest.raises(ConfigurationError, match=r"partita-consumers' does not exist; .*create_state_tables\(db\)"):
            lambda_handler(shop.copies, db)({"Records": [shop_record()]}, None)


def shop_record() -> dict[str, Any]:
    image = image_of(Order(order_id="1", customer_id="c"))
    keys = {name: image[name] for name in ("PK", "SK")}
    return {
        "eventName": "INSERT",
        "dynamodb": {"Keys": keys, "NewImage": image, "SequenceNumber": "7" * 21},
        "eventSourceARN": ARN,
    }
