"""Recovery and backups through boto3: its waiters and pages, its exceptions, writers meanwhile, read-only keys."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from tests.peers import Running
from tests.server.test_authorization import client as signed_client
from tests.server.test_authorization import endpoint as authorized  # noqa: F401
from tests.server.test_authorization import error_code
from tests.server.test_sdks import SCHEMA, SETTINGS

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

QUICK: Any = {"Delay": 1, "MaxAttempts": 120}
ON: Any = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35}


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator["DynamoDBClient"]:
    client = boto3.client("dynamodb", endpoint_url=server.endpoint, **SETTINGS)
    client.create_table(TableName="kept", **SCHEMA)
    client.update_continuous_backups(TableName="kept", PointInTimeRecoverySpecification=ON)
    for number in range(50):
        client.put_item(TableName="kept", Item={"pk": {"S": "a"}, "sk": {"N": str(number)}, "v": {"N": "0"}})
    yield client
    client.close()


def rows(client: "DynamoDBClient", table: str) -> dict[str, str]:
    pages = client.get_paginator("scan").paginate(TableName=table)
    return {item["sk"]["N"]: item["v"]["N"] for page in pages for item in page["Items"]}


def wait(client: "DynamoDBClient", table: str) -> dict[str, str]:
    """The rows of a table, once it is there."""
    client.get_waiter("table_exists").wait(TableName=table, WaiterConfig=QUICK)
    return rows(client, table)


def test_waiter_waits_for_a_restore_while_others_write(client: "DynamoDBClient") -> None:
    before = rows(client, "kept")
    stop = threading.Event()
    writes: list[int] = []

    def write() -> None:
        while not stop.is_set():
            client.put_item(TableName="kept", Item={"pk": {"S": "b"}, "sk": {"N": str(len(writes))}, "v": {"N": "1"}})
            writes.append(1)

    arn = client.create_backup(TableName="kept", BackupName="quiet")["BackupDetails"]["BackupArn"]
    thread = threading.Thread(target=write)
    thread.start()
    try:
        client.restore_table_to_point_in_time(
            SourceTableName="kept", TargetTableName="latest", UseLatestRestorableTime=True
        )
        latest = wait(client, "latest")
        while (
            client.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupStatus"] != "AVAILABLE"
        ):
            pass
        client.restore_table_from_backup(TargetTableName="from-backup", BackupArn=arn)
        assert wait(client, "from-backup") == before
    finally:
        stop.set()
        thread.join()
    assert writes
    assert len(latest) >= len(before)
    assert client.describe_table(TableName="latest")["Table"]["RestoreSummary"]["RestoreInProgress"] is False


def test_restore_to_a_second_that_cannot_be_reached_names_the_window(client: "DynamoDBClient") -> None:
    described = client.describe_continuous_backups(TableName="kept")["ContinuousBackupsDescription"]
    recovery = described["PointInTimeRecoveryDescription"]
    assert recovery["EarliestRestorableDateTime"] <= recovery["LatestRestorableDateTime"] <= datetime.now(UTC)
    with pytest.raises(client.exceptions.InvalidRestoreTimeException) as caught:
        client.restore_table_to_point_in_time(
            SourceTableName="kept",
            TargetTableName="never",
            RestoreDateTime=recovery["EarliestRestorableDateTime"] - timedelta(days=1),
        )
    assert f"{recovery['EarliestRestorableDateTime'].astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" in str(caught.value)
    client.create_table(TableName="bare", **SCHEMA)
    with pytest.raises(client.exceptions.PointInTimeRecoveryUnavailableException):
        client.restore_table_to_point_in_time(
            SourceTableName="bare", TargetTableName="never", UseLatestRestorableTime=True
        )
    with pytest.raises(client.exceptions.TableAlreadyExistsException):
        client.restore_table_to_point_in_time(
            SourceTableName="kept", TargetTableName="bare", UseLatestRestorableTime=True
        )


def test_paginator_lists_backups(client: "DynamoDBClient") -> None:
    for number in range(5):
        client.create_table(TableName=f"listed-{number}", **SCHEMA)
        client.create_backup(TableName=f"listed-{number}", BackupName=f"listed-{number}")
    pages = client.get_paginator("list_backups").paginate(PaginationConfig={"PageSize": 2})
    found = [each["BackupName"] for page in pages for each in page["BackupSummaries"]]
    assert [name for name in found if name.startswith("listed")] == [f"listed-{number}" for number in range(5)]


def test_read_only_key_lists_and_describes_and_restores_nothing(authorized: str) -> None:  # noqa: F811
    writes, reads = signed_client(authorized, "WRITES"), signed_client(authorized, "READS")
    writes.create_table(TableName="backed-up", **SCHEMA)
    arn = writes.create_backup(TableName="backed-up", BackupName="first")["BackupDetails"]["BackupArn"]
    assert len(reads.list_backups()["BackupSummaries"]) == 1
    assert reads.describe_backup(BackupArn=arn)["BackupDescription"]["BackupDetails"]["BackupName"] == "first"
    assert reads.describe_continuous_backups(TableName="backed-up")["ContinuousBackupsDescription"]
    for forbidden in (
        lambda: reads.create_backup(TableName="backed-up", BackupName="second"),
        lambda: reads.delete_backup(BackupArn=arn),
        lambda: reads.restore_table_from_backup(TargetTableName="copy", BackupArn=arn),
        lambda: reads.restore_table_to_point_in_time(
            SourceTableName="backed-up", TargetTableName="copy", UseLatestRestorableTime=True
        ),
        lambda: reads.update_continuous_backups(TableName="backed-up", PointInTimeRecoverySpecification=ON),
    ):
        assert error_code(forbidden) == "AccessDeniedException"
