"""Point-in-time recovery: its window, its history, and restores of any second of it."""

import struct
from typing import Any

import pytest

from partita.engine import snapshots
from partita.engine.change_log import last_number
from partita.engine.history import BLOCK_RECORDS, history_bytes, newest_first
from partita.engine.schema import StoredTable
from partita.storage.contract import Row, Write
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain, problems_of

DAY = 86_400.0
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


def enable(bench: Bench, name: str = "notes", days: int | None = None, *, on: bool = True) -> Json:
    wanted: Json = {"PointInTimeRecoveryEnabled": on} | ({"RecoveryPeriodInDays": days} if days else {})
    reply = bench.ok("UpdateContinuousBackups", TableName=name, PointInTimeRecoverySpecification=wanted)
    described: Json = reply["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    return described


def window(bench: Bench, name: str = "notes") -> Json:
    reply = bench.ok("DescribeContinuousBackups", TableName=name)["ContinuousBackupsDescription"]
    assert reply["ContinuousBackupsStatus"] == "ENABLED"
    described: Json = reply["PointInTimeRecoveryDescription"]
    return described


def begin(bench: Bench, target: str, at: float | None = None, source: str = "notes", **more: Any) -> Json:
    when = {"UseLatestRestorableTime": True} if at is None else {"RestoreDateTime": at}
    described: Json = bench.ok(
        "RestoreTableToPointInTime", SourceTableName=source, TargetTableName=target, **when, **more
    )["TableDescription"]
    return described


def restored(bench: Bench, target: str, at: float | None = None, **more: Any) -> dict[str, Any]:
    """The values `v` of a restored table by `pk`."""
    begin(bench, target, at, **more)
    bench.settle()
    return values(bench, target)


def values(bench: Bench, table: str) -> dict[str, Any]:
    return {row["pk"]["S"]: int(row["v"]["N"]) for row in bench.rows(table)}


def stored(bench: Bench, name: str = "notes") -> StoredTable:
    bench.engine._context.catalog.refresh()
    return bench.engine._context.catalog.all_tables[name]


def history_rows(bench: Bench, name: str = "notes") -> tuple[int, int]:
    """The rows of the change log, and the blocks of the history."""
    record, storage = stored(bench, name).record, bench.engine._context.storage
    assert record.recovery is not None
    return storage.totals(record.changes).rows, storage.totals(record.recovery.history).rows


def test_window_begins_when_recovery_is_enabled_and_moves_with_time(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    assert window(anywhere) == {"PointInTimeRecoveryStatus": "DISABLED"}
    start = int(anywhere.clock.now)
    anywhere.clock.now += 0.6
    assert enable(anywhere, days=2) == {
        "PointInTimeRecoveryStatus": "ENABLED",
        "RecoveryPeriodInDays": 2,
        "EarliestRestorableDateTime": start,
        "LatestRestorableDateTime": start,
    }
    anywhere.clock.now += DAY
    assert (window(anywhere)["EarliestRestorableDateTime"], window(anywhere)["LatestRestorableDateTime"]) == (
        start,
        start + DAY,
    )
    anywhere.clock.now += 2 * DAY
    assert window(anywhere)["EarliestRestorableDateTime"] == start + DAY + 1
    enable(anywhere, days=1)
    assert window(anywhere)["EarliestRestorableDateTime"] == start + 2 * DAY + 1, "a shorter window is cut at once"
    enable(anywhere)
    assert window(anywhere)["RecoveryPeriodInDays"] == 1, "enabling again changes nothing else"


def test_disabling_drops_the_history_and_enabling_restarts_the_window(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable(anywhere)
    anywhere.put("notes", pk="a", v=1)
    anywhere.clock.now += 100
    assert enable(anywhere, on=False) == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert anywhere.engine._context.storage.totals(stored(anywhere).record.changes).rows == 0
    anywhere.clock.now += 100
    anywhere.put("notes", pk="a", v=2)
    enable(anywhere)
    assert window(anywhere)["EarliestRestorableDateTime"] == int(anywhere.clock.now)
    assert problems_of(anywhere.engine) == []


def test_table_without_recovery_or_stream_writes_no_history(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    anywhere.put("notes", pk="a", v=1)
    assert anywhere.engine._context.storage.totals(stored(anywhere).record.changes).rows == 0


@pytest.mark.parametrize("stream", [False, True])
def test_each_second_of_the_window_can_be_restored(anywhere: Bench, stream: bool) -> None:
    settings: Json = {"StreamSpecification": STREAM} if stream else {}
    anywhere.table("notes", "pk:S", **settings)
    anywhere.put("notes", pk="a", v=1)
    anywhere.put("notes", pk="b", v=1)
    enable(anywhere)
    start = anywhere.clock.now
    anywhere.clock.now += 10.5
    anywhere.put("notes", pk="a", v=2)
    anywhere.put("notes", pk="c", v=2)
    anywhere.clock.now += 10
    anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": "b"}))
    anywhere.put("notes", pk="a", v=3)
    anywhere.clock.now += 10
    assert restored(anywhere, "at-start", start) == {"a": 1, "b": 1}
    assert restored(anywhere, "at-10", start + 10) == {"a": 1, "b": 1}
    assert restored(anywhere, "at-11", start + 11) == {"a": 2, "b": 1, "c": 2}
    assert restored(anywhere, "at-20", start + 20) == {"a": 2, "b": 1, "c": 2}
    assert restored(anywhere, "at-21", start + 21) == {"a": 3, "c": 2}
    assert restored(anywhere, "latest") == {"a": 3, "c": 2}
    assert problems_of(anywhere.engine) == []


@pytest.mark.parametrize("stream", [False, True])
def test_first_second_of_the_window_is_the_moment_of_enabling(anywhere: Bench, stream: bool) -> None:
    settings: Json = {"StreamSpecification": STREAM} if stream else {}
    anywhere.table("notes", "pk:S", **settings)
    second = int(anywhere.clock.now)
    for moment, value in ((0.2, 1), (0.4, 2)):
        anywhere.clock.now = second + moment
        anywhere.put("notes", pk="a", v=value)
    enable(anywhere)
    anywhere.clock.now = second + 0.8
    anywhere.put("notes", pk="a", v=3)
    assert restored(anywhere, "first", window(anywhere)["EarliestRestorableDateTime"]) == {"a": 2}


def test_changes_during_a_restore_are_not_in_it(anywhere: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_ROWS", 500)
    anywhere.table("notes", "pk:S")
    for number in range(1200):
        anywhere.put("notes", pk=f"{number:04}", v=1)
    enable(anywhere)
    start = anywhere.clock.now
    anywhere.clock.now += 5
    for number in range(0, 1200, 3):
        anywhere.put("notes", pk=f"{number:04}", v=2)
    begin(anywhere, "before", start)
    begin(anywhere, "after")
    step = 0
    while anywhere.engine.maintenance.step():
        step += 1
        anywhere.clock.now += 1
        for number in range(step % 7, 1200, 97):
            anywhere.put("notes", pk=f"{number:04}", v=100 + step)
        anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": f"{step * 31 % 1200:04}"}))
        anywhere.put("notes", pk=f"new{step}", v=step)
        assert problems_of(anywhere.engine) == []
    assert step >= 3
    assert values(anywhere, "before") == {f"{number:04}": 1 for number in range(1200)}
    assert values(anywhere, "after") == {f"{number:04}": 2 if number % 3 == 0 else 1 for number in range(1200)}
    assert stored(anywhere).record.snapshots == []


def test_restoring_table_is_described_and_cannot_be_used(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", index("byDay", "day:S"))
    anywhere.put("notes", pk="a", v=1, day="mon")
    enable(anywhere)
    described = begin(anywhere, "copy")
    assert described["TableStatus"] == "CREATING"
    assert described["RestoreSummary"]["RestoreInProgress"] is True
    assert [each["IndexStatus"] for each in described["GlobalSecondaryIndexes"]] == ["CREATING"]
    assert anywhere.ok("ListTables")["TableNames"] == ["copy", "notes"]
    assert anywhere.error("GetItem", TableName="copy", Key=plain({"pk": "a"})).startswith("ResourceNotFoundException")
    assert anywhere.error("PutItem", TableName="copy", Item=plain({"pk": "a"})).startswith("ResourceNotFoundException")
    in_use = "ResourceInUseException: Attempt to change a resource which is still in use: Table is being created: copy"
    assert anywhere.error("DeleteTable", TableName="copy") == in_use
    assert anywhere.error("UpdateTable", TableName="copy", DeletionProtectionEnabled=True) == in_use
    ttl = {"Enabled": True, "AttributeName": "ttl"}
    assert anywhere.error("UpdateTimeToLive", TableName="copy", TimeToLiveSpecification=ttl) == in_use
    wanted = {"PointInTimeRecoveryEnabled": True}
    assert anywhere.error(
        "UpdateContinuousBackups", TableName="copy", PointInTimeRecoverySpecification=wanted
    ).startswith("ContinuousBackupsUnavailableException: Backups are being enabled for the table: copy")
    anywhere.settle()
    described = anywhere.ok("DescribeTable", TableName="copy")["Table"]
    assert described["TableStatus"] == "ACTIVE"
    assert described["RestoreSummary"] == {
        "SourceTableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/notes",
        "RestoreDateTime": anywhere.clock.now,
        "RestoreInProgress": False,
    }
    assert anywhere.rows("copy", "byDay") == [plain({"pk": "a", "v": 1, "day": "mon"})]


def test_source_of_a_running_restore_stays(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable(anywhere)
    begin(anywhere, "copy")
    assert anywhere.error("DeleteTable", TableName="notes") == (
        "ResourceInUseException: Attempt to change a resource which is still in use: "
        "A backup or restore of the table is in progress: notes"
    )
    off = {"PointInTimeRecoveryEnabled": False}
    assert anywhere.error(
        "UpdateContinuousBackups", TableName="notes", PointInTimeRecoverySpecification=off
    ).startswith("ContinuousBackupsUnavailableException")
    anywhere.settle()
    assert enable(anywhere, on=False) == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_settings_of_the_restored_table(anywhere: Bench) -> None:
    anywhere.table(
        "notes",
        "pk:S sk:N",
        index("byDay", "day:S"),
        index("byName", "name:S", "KEYS_ONLY"),
        local=(index("byTime", "pk:S time:N"),),
        StreamSpecification=STREAM,
        Tags=[{"Key": "a", "Value": "b"}],
        DeletionProtectionEnabled=True,
        TableClass="STANDARD_INFREQUENT_ACCESS",
    )
    anywhere.ok(
        "UpdateTimeToLive", TableName="notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
    )
    enable(anywhere)
    begin(anywhere, "copy")
    begin(anywhere, "bare", GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[])
    by_day = {
        "IndexName": "byDay",
        "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    begin(
        anywhere,
        "provisioned",
        GlobalSecondaryIndexOverride=[by_day],
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride=units,
    )
    anywhere.settle()
    copy = anywhere.ok("DescribeTable", TableName="copy")["Table"]
    source = anywhere.ok("DescribeTable", TableName="notes")["Table"]
    for member in ("AttributeDefinitions", "KeySchema", "BillingModeSummary", "TableClassSummary"):
        assert copy[member] == source[member], member
    assert {each["IndexName"] for each in copy["GlobalSecondaryIndexes"]} == {"byDay", "byName"}
    assert [each["IndexName"] for each in copy["LocalSecondaryIndexes"]] == ["byTime"]
    assert "StreamSpecification" not in copy
    assert copy["DeletionProtectionEnabled"] is False
    assert anywhere.ok("ListTagsOfResource", ResourceArn=copy["TableArn"])["Tags"] == []
    ttl = anywhere.ok("DescribeTimeToLive", TableName="copy")["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "DISABLED"}
    assert window(anywhere, "copy") == {"PointInTimeRecoveryStatus": "DISABLED"}
    bare = anywhere.ok("DescribeTable", TableName="bare")["Table"]
    assert {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"}.isdisjoint(bare)
    assert [each["AttributeName"] for each in bare["AttributeDefinitions"]] == ["pk", "sk"]
    provisioned = anywhere.ok("DescribeTable", TableName="provisioned")["Table"]
    assert [each["IndexName"] for each in provisioned["GlobalSecondaryIndexes"]] == ["byDay"]
    assert provisioned["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    other = by_day | {"Projection": {"ProjectionType": "KEYS_ONLY"}}
    assert anywhere.error(
        "RestoreTableToPointInTime",
        SourceTableName="notes",
        TargetTableName="other",
        UseLatestRestorableTime=True,
        GlobalSecondaryIndexOverride=[other],
    ).startswith("ValidationException: One or more parameter values were invalid: Index byDay of the override is not")


def test_restores_that_cannot_be_done_are_rejected(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    anywhere.table("plain", "pk:S")
    enable(anywhere)
    start = int(anywhere.clock.now)
    anywhere.clock.now += 60

    def error(**body: Any) -> str:
        return anywhere.error("RestoreTableToPointInTime", **{"TargetTableName": "copy"} | body)

    assert error(SourceTableName="none", UseLatestRestorableTime=True) == (
        "TableNotFoundException: Table not found: none"
    )
    assert error(SourceTableName="plain", UseLatestRestorableTime=True) == (
        "PointInTimeRecoveryUnavailableException: Point in time recovery is not enabled for table 'plain'"
    )
    assert error(SourceTableName="notes", UseLatestRestorableTime=True, TargetTableName="plain") == (
        "TableAlreadyExistsException: Table already exists: plain"
    )
    for second in (start - 1, start + 61, 10**18):
        assert "is not in from 2027-01-15T08:00:00Z to 2027-01-15T08:01:00Z" in error(
            SourceTableName="notes", RestoreDateTime=second
        )
    assert error(SourceTableName="notes").startswith("ValidationException")
    assert error(SourceTableName="notes", UseLatestRestorableTime=True, RestoreDateTime=start).startswith("Validation")
    assert error(UseLatestRestorableTime=True).startswith("ValidationException")
    assert error(SourceTableName="n", UseLatestRestorableTime=True).startswith("ValidationException: 1 validation")
    assert anywhere.ok("ListTables")["TableNames"] == ["notes", "plain"]
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/notes"
    anywhere.ok("RestoreTableToPointInTime", SourceTableArn=arn, TargetTableName="copy", UseLatestRestorableTime=True)
    assert error(SourceTableName="notes", UseLatestRestorableTime=True) == (
        "TableInUseException: Table is being created: copy"
    )
    missing = "TableNotFoundException: Table not found: none"
    assert anywhere.error("DescribeContinuousBackups", TableName="none") == missing
    wanted = {"PointInTimeRecoveryEnabled": True}
    assert (
        anywhere.error("UpdateContinuousBackups", TableName="none", PointInTimeRecoverySpecification=wanted) == missing
    )
    assert "less than or equal to 35" in anywhere.error(
        "UpdateContinuousBackups",
        TableName="notes",
        PointInTimeRecoverySpecification=wanted | {"RecoveryPeriodInDays": 36},
    )


def test_old_records_are_compressed_and_still_restored(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable(anywhere)
    times = []
    for number in range(3 * BLOCK_RECORDS):
        anywhere.clock.now += 0.5
        anywhere.put("notes", pk=f"{number % 50}", v=number, text="the same words again " * 20)
        times.append(anywhere.clock.now)
    before = history_bytes(anywhere.engine._context.storage, stored(anywhere).record)
    anywhere.clock.now += 3 * 3600
    anywhere.settle()
    log, blocks = history_rows(anywhere)
    assert log == 0
    assert 3 <= blocks <= 12
    assert history_bytes(anywhere.engine._context.storage, stored(anywhere).record) < before / 10
    at = times[1001]
    expected = {f"{number % 50}": number for number in range(1002 - 50, 1002)}
    assert restored(anywhere, "copy", int(at)) == expected | {f"{1001 % 50}": 1001 if at == int(at) else 951}
    anywhere.put("notes", pk="0", v=1)
    assert last_number(anywhere.engine._context.storage, stored(anywhere)) > 0
    assert problems_of(anywhere.engine) == []


def test_history_is_trimmed_to_its_window(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable(anywhere, days=1)
    for hour in range(60):
        anywhere.put("notes", pk="person", v=hour)
        anywhere.clock.now += 3600
        anywhere.settle()
        records = list(newest_first(anywhere.engine._context.storage, stored(anywhere), 1 << 62))
        assert all(undo.at >= anywhere.clock.now - DAY - 2 * 3600 for _, undo in records)
    assert len(records) in (24, 25, 26)
    assert values(anywhere, "notes") == {"person": 59}


def test_longer_window_grows_from_the_end_of_the_shorter_one(anywhere: Bench) -> None:
    """The images before it are gone, or may be at any moment."""
    anywhere.table("notes", "pk:S")
    enable(anywhere, days=1)
    for hour in range(72):
        anywhere.put("notes", pk="a", v=hour)
        anywhere.clock.now += 3600
        anywhere.settle()
    earliest = int(anywhere.clock.now - DAY)
    assert enable(anywhere, days=35)["EarliestRestorableDateTime"] == earliest
    assert restored(anywhere, "copy", earliest) == {"a": 48}
    refused = anywhere.error(
        "RestoreTableToPointInTime", SourceTableName="notes", TargetTableName="early", RestoreDateTime=earliest - 1
    )
    assert refused.startswith("InvalidRestoreTimeException")
    enable(anywhere, days=1)
    assert enable(anywhere, days=35)["EarliestRestorableDateTime"] == earliest


def test_window_does_not_reach_what_a_clock_that_was_set_forwards_has_dropped(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable(anywhere)
    start = anywhere.clock.now
    for day in range(5):
        anywhere.clock.now = start + day * DAY
        anywhere.put("notes", pk="a", v=day)
    anywhere.clock.now = start + 60 * DAY
    anywhere.settle()
    anywhere.clock.now = start + 6 * DAY
    assert history_rows(anywhere) == (0, 0)
    assert window(anywhere)["EarliestRestorableDateTime"] == int(start + 4 * DAY)
    assert restored(anywhere, "copy", int(start + 4 * DAY)) == {"a": 4}


def test_clock_that_was_wrong_for_a_moment_does_not_make_the_window_longer(anywhere: Bench) -> None:
    """A machine without a clock of its own starts in 1970."""
    anywhere.table("notes", "pk:S")
    anywhere.put("notes", pk="a", v=1)
    start = anywhere.clock.now
    anywhere.clock.now = start + 3 * DAY
    enable(anywhere)
    anywhere.clock.now = 100.0
    anywhere.settle()
    assert window(anywhere)["EarliestRestorableDateTime"] == 100
    anywhere.clock.now = start + 4 * DAY
    anywhere.settle()
    assert window(anywhere)["EarliestRestorableDateTime"] == int(start + 3 * DAY)


@pytest.mark.parametrize("jump", [40 * DAY, -40 * DAY])
def test_purge_leaves_no_image_behind_the_window_whatever_the_clock_did(anywhere: Bench, jump: float) -> None:
    anywhere.table("notes", "pk:S")
    enable(anywhere, days=1)
    anywhere.clock.now += jump
    anywhere.put("notes", pk="person", v=1)
    anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": "person"}))
    anywhere.settle()
    anywhere.clock.now -= jump
    for _ in range(28 * 4):
        anywhere.clock.now += 900
        anywhere.settle()
    assert list(newest_first(anywhere.engine._context.storage, stored(anywhere), 1 << 62)) == []


def test_clock_that_was_set_back_leaves_one_order_of_changes(anywhere: Bench) -> None:
    """A wrong clock showed tomorrow for a while: what was written then is in every later second."""
    anywhere.table("notes", "pk:S")
    enable(anywhere)
    start = anywhere.clock.now
    anywhere.put("notes", pk="a", v=1)
    anywhere.clock.now += DAY
    anywhere.put("notes", pk="a", v=2)
    anywhere.clock.now = start + 10
    anywhere.put("notes", pk="b", v=3)
    anywhere.clock.now = start + 20
    anywhere.put("notes", pk="b", v=4)
    assert restored(anywhere, "at-0", start) == {"a": 1}
    assert restored(anywhere, "at-10", start + 10) == {"a": 2, "b": 3}
    assert restored(anywhere, "at-20", start + 20) == {"a": 2, "b": 4}


def test_changes_before_recovery_was_enabled_are_not_undone(anywhere: Bench) -> None:
    """A stream has them, with times of a clock that was wrong."""
    anywhere.table("notes", "pk:S", StreamSpecification=STREAM)
    start = anywhere.clock.now
    anywhere.clock.now += DAY
    anywhere.put("notes", pk="a", v=1)
    anywhere.clock.now = start
    enable(anywhere)
    anywhere.clock.now += 10
    assert restored(anywhere, "copy", start + 5) == {"a": 1}


def test_stream_reads_nothing_of_the_history(anywhere: Bench) -> None:
    """Records without new image, before and after a stream, are no part of it."""
    anywhere.table("notes", "pk:S")
    enable(anywhere)
    anywhere.put("notes", pk="before", v=1)
    anywhere.ok("UpdateTable", TableName="notes", StreamSpecification=STREAM)
    anywhere.put("notes", pk="during", v=1)
    arn = anywhere.ok("DescribeTable", TableName="notes")["Table"]["LatestStreamArn"]
    anywhere.ok("UpdateTable", TableName="notes", StreamSpecification={"StreamEnabled": False})
    anywhere.put("notes", pk="after", v=1)
    shard = anywhere.ok("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = anywhere.ok("GetShardIterator", StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
        "ShardIterator"
    ]
    page = anywhere.ok("GetRecords", ShardIterator=iterator)
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in page["Records"]] == ["during"]
    assert "NextShardIterator" not in page
    assert restored(anywhere, "copy") == {"before": 1, "during": 1, "after": 1}


def test_expired_items_come_back(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    anywhere.ok(
        "UpdateTimeToLive", TableName="notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
    )
    enable(anywhere)
    start = anywhere.clock.now
    anywhere.put("notes", pk="a", v=1, ttl=int(start) + 50)
    anywhere.clock.now += 100
    anywhere.settle()
    assert values(anywhere, "notes") == {}
    assert restored(anywhere, "copy", start) == {"a": 1}
    assert restored(anywhere, "now") == {}


def test_damaged_history_fails_the_restore_and_its_table_can_be_deleted(filed: Bench) -> None:
    filed.table("notes", "pk:S")
    enable(filed)
    start = filed.clock.now
    for number in range(5):
        filed.clock.now += 1
        filed.put("notes", pk="a", v=number)
    changes = stored(filed).record.changes
    writer = filed.engine._context.storage._writer.apsw  # type: ignore[attr-defined]
    newest = last_number(filed.engine._context.storage, stored(filed))
    writer.execute(f'UPDATE "{changes}" SET v = zeroblob(length(v)) WHERE k = ?', (newest,))
    begin(filed, "copy", start)
    filed.settle()
    described = filed.ok("DescribeTable", TableName="copy")["Table"]
    assert described["TableStatus"] == "CREATING"
    assert "checksum" in (stored(filed, "copy").record.restore.error or "")  # type: ignore[union-attr]
    assert stored(filed).record.snapshots == []
    filed.ok("DeleteTable", TableName="copy")
    assert filed.ok("ListTables")["TableNames"] == ["notes"]


def test_verify_reports_a_history_that_cannot_be_used(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    enable(anywhere)
    for number in range(3):
        anywhere.put("notes", pk=str(number), v=number)
    anywhere.clock.now += 2 * 3600
    anywhere.settle()
    anywhere.put("notes", pk="0", v=7)
    assert problems_of(anywhere.engine) == []
    storage, record = anywhere.engine._context.storage, stored(anywhere).record
    assert record.recovery is not None
    history, other_key = record.recovery.history, struct.pack(">QQ", 1, 2)
    with storage.transaction() as txn:
        ((key, weight, value),) = txn.range(history, b"", None)
        block = Row(weight, value)
        txn.apply([Write(history, key, block, None), Write(history, other_key, None, block)])
        ((key, weight, value),) = txn.range(record.changes, b"", None)
        txn.apply([Write(record.changes, key, Row(weight, value), Row(weight, b"\1abc"))])
    assert [problem.partition(" has ")[0].partition(" cannot ")[0] for problem in problems_of(anywhere.engine)] == [
        f"notes: change {int.from_bytes(key, 'big')}",
        f"notes: history at {other_key.hex()}",
    ]


def test_rejected_overrides_leave_nothing_behind(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", index("byDay", "day:S"))
    enable(anywhere)
    wrong: list[Json] = [
        {"GlobalSecondaryIndexOverride": [{"IndexName": "other", "KeySchema": [{"AttributeName": "day"}]}]},
        {"BillingModeOverride": "PROVISIONED"},
        {"ProvisionedThroughputOverride": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
    ]
    for each in wrong:
        body = {"SourceTableName": "notes", "TargetTableName": "copy", "UseLatestRestorableTime": True} | each
        assert anywhere.error("RestoreTableToPointInTime", **body).startswith("ValidationException")
    assert stored(anywhere).record.snapshots == []
    anywhere.ok("DeleteTable", TableName="notes")
    assert problems_of(anywhere.engine) == []
