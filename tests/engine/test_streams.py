"""Streams: the records of a table's changes, from each position, for as long as they are kept."""

from collections.abc import Iterator

import msgspec
import pytest

from partita.dynamodb import requests as q
from partita.dynamodb import stream_shapes as s
from partita.dynamodb.canonical import item_size
from partita.dynamodb.exceptions import (
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from partita.dynamodb.shapes import (
    AttributeDefinition,
    KeySchemaElement,
    StreamSpecification,
    TimeToLiveSpecification,
)
from partita.engine.change_log import LogRecord
from partita.engine.engine import Engine
from tests.engine.shorthand import open_engine

DAY = 24 * 3600.0


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.25

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    with open_engine("memory:", clock) as opened:
        yield opened


def make_table(engine: Engine, view: str = "NEW_AND_OLD_IMAGES", name: str = "notes") -> str:
    engine.call(
        q.CreateTable(
            table_name=name,
            attribute_definitions=[AttributeDefinition(attribute_name="pk", attribute_type="S")],
            key_schema=[KeySchemaElement(attribute_name="pk", key_type="HASH")],
            billing_mode="PAY_PER_REQUEST",
            stream_specification=StreamSpecification(stream_enabled=True, stream_view_type=view),
        )
    )
    return latest_arn(engine, name)


def latest_arn(engine: Engine, name: str = "notes") -> str:
    table = engine.call(q.DescribeTable(table_name=name)).table
    assert table is not None
    assert table.latest_stream_arn is not None
    return table.latest_stream_arn


def put(engine: Engine, key: str, **attributes: str) -> None:
    item = {"pk": {"S": key}} | {name: {"S": text} for name, text in attributes.items()}
    engine.call(q.PutItem(table_name="notes", item=item))


def shard(engine: Engine, arn: str) -> s.Shard:
    described = engine.call(s.DescribeStream(stream_arn=arn)).stream_description
    assert described is not None
    assert described.shards is not None
    (only,) = described.shards
    return only


def iterator(
    engine: Engine, arn: str, kind: str = "TRIM_HORIZON", number: str | None = None, at: float | None = None
) -> str:
    found = engine.call(
        s.GetShardIterator(
            stream_arn=arn,
            shard_id=shard(engine, arn).shard_id,
            shard_iterator_type=kind,
            sequence_number=number,
            timestamp=at,
        )
    )
    assert found.shard_iterator is not None
    return found.shard_iterator


def records(engine: Engine, place: str, limit: int | None = None) -> list[s.Record]:
    return engine.call(s.GetRecords(shard_iterator=place, limit=limit)).records or []


def keys(found: list[s.Record]) -> list[str]:
    return [record.dynamodb.keys["pk"]["S"] for record in found if record.dynamodb and record.dynamodb.keys]


def numbers(found: list[s.Record]) -> list[str]:
    return [record.dynamodb.sequence_number or "" for record in found if record.dynamodb]


def test_attributes_in_another_order_leave_no_record(engine: Engine) -> None:
    arn = make_table(engine)
    put(engine, "1", a="x", b="y")
    put(engine, "1", b="y", a="x")
    put(engine, "1", b="x", a="y")
    assert [record.event_name for record in records(engine, iterator(engine, arn))] == ["INSERT", "MODIFY"]


def test_record_has_dynamodbs_members(engine: Engine) -> None:
    """The sizes are those of the developer guide's example: keys, and each image of the view type."""
    arn = make_table(engine)
    engine.call(q.PutItem(table_name="notes", item={"pk": {"S": "101"}, "Message": {"S": "New item!"}}))
    engine.call(q.PutItem(table_name="notes", item={"pk": {"S": "101"}, "Message": {"S": "This item has changed"}}))
    engine.call(q.DeleteItem(table_name="notes", key={"pk": {"S": "101"}}))
    inserted, modified, removed = msgspec.to_builtins(
        [msgspec.json.decode(msgspec.json.encode(each)) for each in records(engine, iterator(engine, arn))]
    )
    assert inserted == {
        "eventID": inserted["eventID"],
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_800_000_000.0,
            "Keys": {"pk": {"S": "101"}},
            "NewImage": {"pk": {"S": "101"}, "Message": {"S": "New item!"}},
            "SequenceNumber": inserted["dynamodb"]["SequenceNumber"],
            "SizeBytes": 26,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }
    assert (modified["eventName"], modified["dynamodb"]["SizeBytes"]) == ("MODIFY", 59)
    assert (removed["eventName"], removed["dynamodb"]["SizeBytes"]) == ("REMOVE", 38)
    assert "NewImage" not in removed["dynamodb"]
    assert len({each["eventID"] for each in (inserted, modified, removed)}) == 3


@pytest.mark.parametrize(
    ("view", "old", "new"),
    [
        ("KEYS_ONLY", False, False),
        ("NEW_IMAGE", False, True),
        ("OLD_IMAGE", True, False),
        ("NEW_AND_OLD_IMAGES", True, True),
    ],
)
def test_view_type_decides_the_images_of_a_record(engine: Engine, view: str, old: bool, new: bool) -> None:
    arn = make_table(engine, view)
    put(engine, "a", text="one")
    put(engine, "a", text="two")
    change = records(engine, iterator(engine, arn))[1].dynamodb
    assert change is not None
    assert (change.old_image is not None, change.new_image is not None) == (old, new)


def test_write_that_changes_nothing_leaves_no_record(engine: Engine) -> None:
    arn = make_table(engine)
    put(engine, "a", text="one")
    put(engine, "a", text="one")
    assert len(records(engine, iterator(engine, arn))) == 1


def test_ttl_deletion_has_the_service_identity(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    specification = TimeToLiveSpecification(enabled=True, attribute_name="until")
    engine.call(q.UpdateTimeToLive(table_name="notes", time_to_live_specification=specification))
    engine.call(q.PutItem(table_name="notes", item={"pk": {"S": "a"}, "until": {"N": str(int(clock.now) + 10)}}))
    clock.now += 60
    engine.maintenance.step()
    removed = records(engine, iterator(engine, arn))[-1]
    assert removed.event_name == "REMOVE"
    assert removed.user_identity == s.UserIdentity(principal_id="dynamodb.amazonaws.com", type="Service")


def test_sequence_numbers_rise_within_a_transaction_and_at_equal_times(engine: Engine) -> None:
    arn = make_table(engine)
    puts = [q.Put(table_name="notes", item={"pk": {"S": str(number)}}) for number in range(5)]
    engine.call(q.TransactWriteItems(transact_items=[q.TransactWriteItem(put=each) for each in puts]))
    put(engine, "after")
    found = numbers(records(engine, iterator(engine, arn)))
    assert len(found) == 6
    assert found == sorted(set(found))
    assert all(len(number) >= 21 for number in found)


def test_iterator_types_start_at_their_positions(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    for key in "abcd":
        clock.now += 1
        put(engine, key)
    found = numbers(records(engine, iterator(engine, arn)))
    assert keys(records(engine, iterator(engine, arn, "AT_SEQUENCE_NUMBER", found[1]))) == ["b", "c", "d"]
    assert keys(records(engine, iterator(engine, arn, "AFTER_SEQUENCE_NUMBER", found[1]))) == ["c", "d"]
    assert keys(records(engine, iterator(engine, arn, "AT_TIMESTAMP", at=clock.now - 1.25))) == ["c", "d"]
    assert keys(records(engine, iterator(engine, arn, "AT_TIMESTAMP", at=1.0))) == ["a", "b", "c", "d"]
    latest = iterator(engine, arn, "LATEST")
    assert records(engine, latest) == []
    put(engine, "e")
    assert keys(records(engine, latest)) == ["e"]


def test_starting_sequence_number_of_a_shard_can_be_read_from(engine: Engine) -> None:
    arn = make_table(engine)
    put(engine, "a")
    numbers_of_shard = shard(engine, arn).sequence_number_range
    assert numbers_of_shard is not None
    start = numbers_of_shard.starting_sequence_number
    assert keys(records(engine, iterator(engine, arn, "AT_SEQUENCE_NUMBER", start))) == ["a"]


@pytest.mark.parametrize(
    ("kind", "number", "at", "words"),
    [
        ("AT_SEQUENCE_NUMBER", None, None, "Invalid SequenceNumber"),
        ("AT_SEQUENCE_NUMBER", "9" * 21, None, "Invalid SequenceNumber"),
        ("AT_SEQUENCE_NUMBER", "x" * 21, None, "Invalid SequenceNumber"),
        ("AFTER_SEQUENCE_NUMBER", "7", None, "length greater than or equal to 21"),
        ("LATEST", "1" * 21, None, "SequenceNumber should not be passed for this iterator type"),
        ("LATEST", None, 1.0, "Timestamp should not be passed for this iterator type"),
        ("AT_TIMESTAMP", None, None, "Invalid Timestamp"),
        ("AT_TIMESTAMP", None, 9_999_999_999.0, "future"),
        ("SOMEWHERE", None, None, "enum value set"),
    ],
)
def test_invalid_iterator_request_is_rejected(
    engine: Engine, kind: str, number: str | None, at: float | None, words: str
) -> None:
    arn = make_table(engine)
    with pytest.raises(ValidationException, match=words):
        iterator(engine, arn, kind, number, at)


def test_pages_of_records_have_no_gaps_or_repetitions(engine: Engine) -> None:
    arn = make_table(engine)
    for number in range(7):
        put(engine, f"{number}")
    place: str | None = iterator(engine, arn)
    seen: list[str] = []
    while len(seen) < 7:
        page = engine.call(s.GetRecords(shard_iterator=place, limit=3))
        seen += keys(page.records or [])
        place = page.next_shard_iterator
    assert seen == [str(number) for number in range(7)]
    assert place is not None


def test_page_ends_at_a_megabyte(engine: Engine) -> None:
    arn = make_table(engine, "NEW_IMAGE")
    for number in range(5):
        put(engine, f"{number}", text="x" * 300_000)
    assert len(records(engine, iterator(engine, arn))) == 3


def test_iterator_expires_after_fifteen_minutes(engine: Engine, clock: Clock) -> None:
    place = iterator(engine, make_table(engine))
    clock.now += 15 * 60
    assert records(engine, place) == []
    clock.now += 1
    with pytest.raises(ExpiredIteratorException):
        records(engine, place)


@pytest.mark.parametrize("place", ["nothing", "arn:aws:dynamodb:::table/a/stream/b|1|!!!", "a|1|W10="])
def test_invalid_iterator_is_rejected(engine: Engine, place: str) -> None:
    with pytest.raises(ValidationException, match="Invalid ShardIterator"):
        records(engine, place)


def test_records_older_than_a_day_cannot_be_read(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    put(engine, "old")
    (old,) = numbers(records(engine, iterator(engine, arn)))
    clock.now += DAY - 60
    place = iterator(engine, arn)
    clock.now += 120
    put(engine, "new")
    with pytest.raises(TrimmedDataAccessException):
        records(engine, place)
    with pytest.raises(TrimmedDataAccessException):
        iterator(engine, arn, "AT_SEQUENCE_NUMBER", old)
    assert keys(records(engine, iterator(engine, arn))) == ["new"]
    clock.now += 15 * 60
    engine.maintenance.step()
    assert keys(records(engine, iterator(engine, arn))) == ["new"]


def test_position_in_an_emptied_log_is_reported_as_trimmed(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    put(engine, "old")
    (old,) = numbers(records(engine, iterator(engine, arn)))
    clock.now += DAY + 3600
    engine.maintenance.step()
    with pytest.raises(TrimmedDataAccessException):
        iterator(engine, arn, "AFTER_SEQUENCE_NUMBER", old)
    assert records(engine, iterator(engine, arn)) == []
    put(engine, "new")
    assert keys(records(engine, iterator(engine, arn))) == ["new"]


def turn(engine: Engine, enabled: bool) -> None:
    wanted = StreamSpecification(stream_enabled=enabled, stream_view_type="KEYS_ONLY" if enabled else None)
    engine.call(q.UpdateTable(table_name="notes", stream_specification=wanted))


def test_disabled_stream_is_closed_and_can_be_read_for_a_day(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    put(engine, "a")
    turn(engine, False)
    put(engine, "unseen")
    clock.now += 1
    turn(engine, True)
    put(engine, "b")
    described = engine.call(s.DescribeStream(stream_arn=arn)).stream_description
    assert described is not None
    assert described.stream_status == "DISABLED"
    numbers_of_shard = shard(engine, arn).sequence_number_range
    assert numbers_of_shard is not None
    assert numbers_of_shard.ending_sequence_number is not None
    page = engine.call(s.GetRecords(shard_iterator=iterator(engine, arn)))
    assert keys(page.records or []) == ["a"]
    assert page.next_shard_iterator is None
    assert keys(records(engine, iterator(engine, latest_arn(engine)))) == ["b"]
    clock.now += DAY + 60
    engine.maintenance.step()
    with pytest.raises(ResourceNotFoundException):
        engine.call(s.DescribeStream(stream_arn=arn))


def test_stream_of_a_deleted_table_can_be_read_for_a_day(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    put(engine, "a")
    engine.call(q.DeleteTable(table_name="notes"))
    assert keys(records(engine, iterator(engine, arn))) == ["a"]
    clock.now += 1
    again = make_table(engine)
    put(engine, "b")
    listed = engine.call(s.ListStreams(table_name="notes")).streams or []
    assert [each.stream_arn for each in listed] == [arn, again]
    assert keys(records(engine, iterator(engine, again))) == ["b"]
    clock.now += DAY + 16 * 60
    engine.maintenance.step()
    assert [each.stream_arn for each in engine.call(s.ListStreams()).streams or []] == [again]


def test_streams_created_at_one_time_have_different_labels(engine: Engine) -> None:
    arns = [make_table(engine)]
    put(engine, "first")
    turn(engine, False)
    turn(engine, True)
    arns.append(latest_arn(engine))
    put(engine, "second")
    engine.call(q.DeleteTable(table_name="notes"))
    arns.append(make_table(engine))
    put(engine, "third")
    assert len(set(arns)) == 3
    assert [keys(records(engine, iterator(engine, arn))) for arn in arns] == [["first"], ["second"], ["third"]]


def test_clock_set_back_hides_no_record(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    clock.now -= 60
    put(engine, "a")
    put(engine, "b")
    assert keys(records(engine, iterator(engine, arn))) == ["a", "b"]


def test_streams_are_listed_in_pages(engine: Engine) -> None:
    arns = [make_table(engine, name=f"table{number}") for number in range(5)]
    seen: list[str | None] = []
    start: str | None = None
    while True:
        page = engine.call(s.ListStreams(limit=2, exclusive_start_stream_arn=start))
        seen += [each.stream_arn for each in page.streams or []]
        start = page.last_evaluated_stream_arn
        if start is None:
            break
    assert seen == arns
    with pytest.raises(ValidationException, match="cannot be greater than the maximum allowed size: 100"):
        engine.call(s.ListStreams(limit=101))


def test_no_shards_after_the_last_one(engine: Engine) -> None:
    arn = make_table(engine)
    only = shard(engine, arn).shard_id
    request = s.DescribeStream(stream_arn=arn, limit=1, exclusive_start_shard_id=only)
    described = engine.call(request).stream_description
    assert described is not None
    assert described.shards == []
    assert described.last_evaluated_shard_id is None


def test_unknown_stream_and_shard_are_not_found(engine: Engine) -> None:
    arn = make_table(engine)
    with pytest.raises(ResourceNotFoundException, match=r"Stream: .* not found"):
        engine.call(s.DescribeStream(stream_arn=arn + "1"))
    request = s.GetShardIterator(stream_arn=arn, shard_id="shardId-" + "0" * 30, shard_iterator_type="LATEST")
    with pytest.raises(ResourceNotFoundException, match="Shard"):
        engine.call(request)


# Clocks that are set forwards and back


@pytest.mark.parametrize("ahead", [600.0, 2 * DAY, 3 * 365 * DAY])
def test_records_are_trimmed_after_a_day_whatever_the_clock_did(engine: Engine, clock: Clock, ahead: float) -> None:
    arn = make_table(engine)
    put(engine, "before")
    clock.now += ahead
    put(engine, "ahead")
    clock.now -= ahead - 10
    put(engine, "after")
    for hour in range(30):
        engine.maintenance.step()
        clock.now += 3600
        put(engine, f"hour {hour}")
    engine.maintenance.step()
    left = keys(records(engine, iterator(engine, arn)))
    assert left[-1] == "hour 29"
    assert 23 <= len(left) <= 26
    with engine._context.storage.snapshot() as reader:
        table = engine._context.table("notes")
        assert 23 <= reader.totals(table.record.changes).rows <= 26


def test_numbers_rise_whatever_the_clock_did(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    for change in (0, 3600, -7200, 5, 3600, -10, 0):
        clock.now += change
        put(engine, f"{clock.now}{change}")
        engine.maintenance.step()
    found = numbers(records(engine, iterator(engine, arn)))
    assert found == sorted(set(found))
    assert len(found) == 7


def test_stream_closed_in_the_future_ends_a_day_after_the_clock_is_right(engine: Engine, clock: Clock) -> None:
    arn = make_table(engine)
    put(engine, "a")
    clock.now += 365 * DAY
    turn(engine, False)
    clock.now -= 365 * DAY
    engine.maintenance.step()
    clock.now += DAY + 60
    engine.maintenance.step()
    with pytest.raises(ResourceNotFoundException):
        engine.call(s.DescribeStream(stream_arn=arn))


def test_log_of_a_table_deleted_in_the_future_is_dropped(engine: Engine, clock: Clock) -> None:
    make_table(engine)
    put(engine, "a")
    clock.now += 365 * DAY
    engine.call(q.DeleteTable(table_name="notes"))
    clock.now -= 365 * DAY
    engine.maintenance.step()
    assert engine._context.catalog.deleted
    clock.now += DAY + 3600
    engine.maintenance.step()
    assert not engine._context.catalog.deleted


def test_sizes_of_records_that_were_stored_without_them_are_computed() -> None:
    image = msgspec.Raw(b'{"pk":{"S":"101"},"n":{"N":"7"}}')
    record = LogRecord(at=1.0, event="INSERT", keys={"pk": {"S": "101"}}, new=image)
    assert (record.old_size, record.new_size) == (0, item_size(msgspec.json.decode(image)))
