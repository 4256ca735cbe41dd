"""On-demand backups: of one moment while the table is written to, listed, restored, and kept when the table is gone."""

import logging
from typing import Any

import pytest

from partita.engine import snapshots
from partita.engine.table_backups import SYSTEM_BACKUP_SECONDS, backups
from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index, plain, problems_of
from tests.engine.test_recovery import enable, stored, values

DAY = 86_400.0
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
MISSING = "arn:aws:dynamodb:us-east-1:000000000000:table/notes/backup/01489602797149-73d8d5bc"


def back_up(bench: Bench, name: str = "first", table: str = "notes") -> str:
    details = bench.ok("CreateBackup", TableName=table, BackupName=name)["BackupDetails"]
    arn: str = details["BackupArn"]
    return arn


def restored(bench: Bench, arn: str, target: str, **more: Any) -> dict[str, Any]:
    bench.ok("RestoreTableFromBackup", BackupArn=arn, TargetTableName=target, **more)
    bench.settle()
    return values(bench, target)


def names(reply: Json) -> list[str]:
    return [each["BackupName"] for each in reply["BackupSummaries"]]


def test_backup_is_the_table_of_one_moment(anywhere: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_ROWS", 500)
    anywhere.table("notes", "pk:S")
    for number in range(1200):
        anywhere.put("notes", pk=f"{number:04}", v=1)
    arn = back_up(anywhere)
    step = 0
    while anywhere.engine.maintenance.step():
        step += 1
        for number in range(step, 1200, 50):
            anywhere.put("notes", pk=f"{number:04}", v=9)
        anywhere.ok("DeleteItem", TableName="notes", Key=plain({"pk": f"{1199 - step:04}"}))
        anywhere.put("notes", pk=f"new{step}", v=9)
        assert problems_of(anywhere.engine) == []
    assert step >= 2
    assert problems_of(anywhere.engine) == []
    assert restored(anywhere, arn, "copy") == {f"{number:04}": 1 for number in range(1200)}


def test_writes_pay_for_a_backup_only_while_it_is_created(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    back_up(anywhere)
    assert len(stored(anywhere).snapshots) == 1
    anywhere.settle()
    assert stored(anywhere).snapshots == []


def test_backup_is_described(anywhere: Bench) -> None:
    anywhere.table(
        "notes",
        "pk:S sk:N",
        index("byDay", "day:S"),
        local=(index("byTime", "pk:S time:N", "KEYS_ONLY"),),
        StreamSpecification=STREAM,
        SSESpecification={"Enabled": True},
    )
    anywhere.ok(
        "UpdateTimeToLive", TableName="notes", TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"}
    )
    anywhere.put("notes", pk="a", sk=1, v=1)
    created = anywhere.ok("CreateBackup", TableName="notes", BackupName="first")["BackupDetails"]
    assert created["BackupStatus"] == "CREATING"
    assert created["BackupType"] == "USER"
    anywhere.settle()
    described = anywhere.ok("DescribeBackup", BackupArn=created["BackupArn"])["BackupDescription"]
    assert described["BackupDetails"] == created | {"BackupStatus": "AVAILABLE"}
    table = anywhere.ok("DescribeTable", TableName="notes")["Table"]
    source = described["SourceTableDetails"]
    assert source["ItemCount"] == 1
    assert source["TableSizeBytes"] == table["TableSizeBytes"] == created["BackupSizeBytes"]
    for member in ("TableName", "TableId", "TableArn", "KeySchema"):
        assert source[member] == table[member]
    features = described["SourceTableFeatureDetails"]
    assert [each["IndexName"] for each in features["GlobalSecondaryIndexes"]] == ["byDay"]
    assert [each["IndexName"] for each in features["LocalSecondaryIndexes"]] == ["byTime"]
    assert features["StreamDescription"] == STREAM
    assert features["TimeToLiveDescription"]["AttributeName"] == "ttl"
    assert features["SSEDescription"]["Status"] == "ENABLED"


def test_backup_outlives_its_table(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", index("byDay", "day:S"))
    anywhere.put("notes", pk="a", v=1, day="mon")
    arn = back_up(anywhere)
    assert anywhere.error("DeleteTable", TableName="notes").startswith("ResourceInUseException")
    anywhere.settle()
    anywhere.ok("DeleteTable", TableName="notes")
    anywhere.clock.now += 400 * DAY
    anywhere.settle()
    assert restored(anywhere, arn, "notes") == {"a": 1}
    assert anywhere.rows("notes", "byDay") == [plain({"pk": "a", "v": 1, "day": "mon"})]
    summary = anywhere.ok("DescribeTable", TableName="notes")["Table"]["RestoreSummary"]
    assert (summary["SourceBackupArn"], summary["RestoreInProgress"]) == (arn, False)
    assert restored(anywhere, arn, "bare", GlobalSecondaryIndexOverride=[]) == {"a": 1}
    assert "GlobalSecondaryIndexes" not in anywhere.ok("DescribeTable", TableName="bare")["Table"]
    assert problems_of(anywhere.engine) == []


def test_deleted_table_with_recovery_leaves_a_system_backup(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", index("byDay", "day:S"), StreamSpecification=STREAM)
    anywhere.table("plain", "pk:S")
    enable(anywhere)
    anywhere.put("notes", pk="a", v=1, day="mon")
    anywhere.ok("DeleteTable", TableName="notes")
    anywhere.ok("DeleteTable", TableName="plain")
    assert names(anywhere.ok("ListBackups")) == []
    (backup,) = anywhere.ok("ListBackups", BackupType="SYSTEM")["BackupSummaries"]
    assert backup["BackupName"] == "notes$DeletedTableBackup"
    assert backup["BackupExpiryDateTime"] == anywhere.clock.now + SYSTEM_BACKUP_SECONDS
    anywhere.clock.now += 34 * DAY
    anywhere.settle()
    assert restored(anywhere, backup["BackupArn"], "notes") == {"a": 1}
    assert len(anywhere.rows("notes", "byDay")) == 1
    assert problems_of(anywhere.engine) == []
    anywhere.clock.now += DAY
    anywhere.settle()
    assert names(anywhere.ok("ListBackups", BackupType="ALL")) == []
    assert values(anywhere, "notes") == {"a": 1}


def test_system_backup_from_a_clock_that_was_ahead_expires(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    anywhere.clock.now += 1000 * DAY
    enable(anywhere)
    anywhere.ok("DeleteTable", TableName="notes")
    anywhere.clock.now -= 1000 * DAY
    anywhere.settle()
    anywhere.clock.now += 36 * DAY
    anywhere.settle()
    assert names(anywhere.ok("ListBackups", BackupType="ALL")) == []


def test_backups_are_listed_by_table_time_and_type_in_pages(anywhere: Bench) -> None:
    start = anywhere.clock.now
    for table in ("notes", "other"):
        anywhere.table(table, "pk:S")
    for number in range(5):
        for table in ("notes", "other"):
            back_up(anywhere, f"b{number}-{table}", table)
        anywhere.settle()
        anywhere.clock.now += 10
    back_up(anywhere, "b0-notes")  # names are not unique
    anywhere.settle()
    assert names(anywhere.ok("ListBackups", TableName="notes")) == [*(f"b{n}-notes" for n in range(5)), "b0-notes"]
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/other"
    assert len(names(anywhere.ok("ListBackups", TableName=arn))) == 5
    between = anywhere.ok("ListBackups", TimeRangeLowerBound=start + 10, TimeRangeUpperBound=start + 30)
    assert sorted(names(between)) == ["b1-notes", "b1-other", "b2-notes", "b2-other"]
    found: list[str] = []
    start_arn: Json = {}
    while True:
        page = anywhere.ok("ListBackups", Limit=4, **start_arn)
        found += names(page)
        if "LastEvaluatedBackupArn" not in page:
            break
        start_arn = {"ExclusiveStartBackupArn": page["LastEvaluatedBackupArn"]}
    assert len(found) == 11
    assert found == names(anywhere.ok("ListBackups", BackupType="ALL"))
    assert "Member must satisfy enum value set" in anywhere.error("ListBackups", BackupType="MINE")


def test_deleted_backup_is_gone(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    anywhere.put("notes", pk="a", v=1)
    arn = back_up(anywhere)
    assert anywhere.error("DeleteBackup", BackupArn=arn) == f"BackupInUseException: Backup is being created: {arn}"
    assert anywhere.error("RestoreTableFromBackup", BackupArn=arn, TargetTableName="copy").startswith("BackupInUse")
    anywhere.settle()
    anywhere.ok("RestoreTableFromBackup", BackupArn=arn, TargetTableName="copy")
    assert anywhere.error("DeleteBackup", BackupArn=arn).startswith("BackupInUseException: Backup is being restored")
    anywhere.settle()
    deleted = anywhere.ok("DeleteBackup", BackupArn=arn)["BackupDescription"]
    assert deleted["BackupDetails"]["BackupStatus"] == "DELETED"
    missing = f"BackupNotFoundException: Backup not found: {arn}"
    assert anywhere.error("DescribeBackup", BackupArn=arn) == missing
    assert anywhere.error("DeleteBackup", BackupArn=arn) == missing
    assert anywhere.error("RestoreTableFromBackup", BackupArn=arn, TargetTableName="new") == missing
    assert values(anywhere, "copy") == {"a": 1}


def test_backups_that_cannot_be_created_or_restored_are_rejected(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S")
    assert anywhere.error("CreateBackup", TableName="none", BackupName="first") == (
        "TableNotFoundException: Table not found: none"
    )
    arn = back_up(anywhere)
    assert anywhere.error("CreateBackup", TableName="notes", BackupName="second").startswith("BackupInUseException")
    assert "Member must satisfy regular expression" in anywhere.error(
        "CreateBackup", TableName="notes", BackupName="a b c"
    )
    anywhere.settle()
    assert anywhere.error("RestoreTableFromBackup", BackupArn=arn, TargetTableName="notes") == (
        "TableAlreadyExistsException: Table already exists: notes"
    )
    assert (
        anywhere.error("DescribeBackup", BackupArn=MISSING) == f"BackupNotFoundException: Backup not found: {MISSING}"
    )
    other = arn.replace("table/notes", "table/other")
    assert anywhere.error("DescribeBackup", BackupArn=other) == f"BackupNotFoundException: Backup not found: {other}"


def test_backup_and_restore_go_on_after_the_process_has_ended(filed: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_ROWS", 500)
    filed.table("notes", "pk:S")
    for number in range(1600):
        filed.put("notes", pk=f"{number:04}", v=number)
    arn = back_up(filed)
    for _ in range(2):
        filed.engine.maintenance.step()
        filed.reopen()
    filed.settle()
    filed.ok("RestoreTableFromBackup", BackupArn=arn, TargetTableName="copy")
    for _ in range(2):
        filed.engine.maintenance.step()
        filed.reopen()
    assert filed.engine.maintenance.is_needed()
    filed.settle()
    assert values(filed, "copy") == {f"{number:04}": number for number in range(1600)}


def test_backup_of_a_damaged_table_fails_and_leaves_nothing(filed: Bench, caplog: pytest.LogCaptureFixture) -> None:
    filed.table("notes", "pk:S")
    filed.put("notes", pk="a", v=1)
    writer = filed.engine._context.storage._writer.apsw  # type: ignore[attr-defined]
    writer.execute(f'UPDATE "{stored(filed).space}" SET w = w + 1')
    back_up(filed)
    with caplog.at_level(logging.ERROR):
        filed.settle()
    assert "the backup of notes failed, and is dropped" in caplog.text
    assert names(filed.ok("ListBackups")) == []
    assert stored(filed).record.snapshots == []


def test_verify_reports_a_damaged_backup(filed: Bench) -> None:
    filed.table("notes", "pk:S")
    filed.put("notes", pk="a", v=1)
    back_up(filed)
    filed.settle()
    assert problems_of(filed.engine) == []
    writer = filed.engine._context.storage._writer.apsw  # type: ignore[attr-defined]
    (backup,) = backups(filed.engine._context.storage)
    writer.execute(f'DELETE FROM "{backup.space}"')
    assert problems_of(filed.engine) == ["backup first of notes: has 0 items of 0 bytes, and had 1 of 6"]
