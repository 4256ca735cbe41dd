"""The AWS command line: its dynamodb and dynamodbstreams commands."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

Aws = Callable[..., Any]


@pytest.fixture
def aws(endpoint: str, tmp_path: Path) -> Aws:
    """`aws("dynamodb", "list-tables")`: the output of the command, as JSON."""
    program = Path(sys.executable).with_name("aws")
    if not program.exists():
        pytest.skip("the AWS command line is not in this environment")
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": "partita",
        "AWS_SECRET_ACCESS_KEY": "partita",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_PAGER": "",
    }

    def run(*arguments: str) -> Any:
        command = [str(program), *arguments, "--endpoint-url", endpoint, "--output", "json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


def create(aws: Aws, name: str) -> Any:
    return aws(
        *("dynamodb", "create-table", "--table-name", name),
        *("--attribute-definitions", "AttributeName=pk,AttributeType=S", "AttributeName=sk,AttributeType=N"),
        *("--key-schema", "AttributeName=pk,KeyType=HASH", "AttributeName=sk,KeyType=RANGE"),
        *("--billing-mode", "PAY_PER_REQUEST", "--tags", "Key=env,Value=test"),
        *("--stream-specification", "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"),
    )["TableDescription"]


def put(aws: Aws, name: str, key: str, number: int) -> None:
    item = {"pk": {"S": key}, "sk": {"N": str(number)}, "text": {"S": "hello"}}
    aws("dynamodb", "put-item", "--table-name", name, "--item", json.dumps(item))


def test_items_are_put_changed_queried_and_deleted(aws: Aws, table_name: str) -> None:
    create(aws, table_name)
    aws("dynamodb", "wait", "table-exists", "--table-name", table_name)
    for number in range(3):
        put(aws, table_name, "a", number)
    changed = aws(
        *("dynamodb", "update-item", "--table-name", table_name, "--key", '{"pk": {"S": "a"}, "sk": {"N": "1"}}'),
        *("--update-expression", "SET #t = :t", "--expression-attribute-names", '{"#t": "text"}'),
        *("--expression-attribute-values", '{":t": {"S": "changed"}}', "--return-values", "UPDATED_NEW"),
    )
    assert changed == {"Attributes": {"text": {"S": "changed"}}}
    found = aws(
        *("dynamodb", "query", "--table-name", table_name, "--key-condition-expression", "pk = :pk AND sk > :sk"),
        *("--expression-attribute-values", '{":pk": {"S": "a"}, ":sk": {"N": "0"}}', "--no-scan-index-forward"),
    )
    assert [item["sk"]["N"] for item in found["Items"]] == ["2", "1"]
    assert aws("dynamodb", "scan", "--table-name", table_name, "--max-items", "2")["NextToken"]
    counted = aws("dynamodb", "scan", "--table-name", table_name, "--page-size", "1", "--select", "COUNT")
    assert counted["Count"] == 3
    statement = f"SELECT sk FROM \"{table_name}\" WHERE pk = 'a'"  # noqa: S608 - PartiQL
    selected = aws("dynamodb", "execute-statement", "--statement", statement)
    assert len(selected["Items"]) == 3
    aws("dynamodb", "delete-table", "--table-name", table_name)
    aws("dynamodb", "wait", "table-not-exists", "--table-name", table_name)


def test_table_is_described_tagged_and_listed(aws: Aws, table_name: str) -> None:
    arn = create(aws, table_name)["TableArn"]
    aws("dynamodb", "tag-resource", "--resource-arn", arn, "--tags", "Key=team,Value=platform")
    tags = aws("dynamodb", "list-tags-of-resource", "--resource-arn", arn)["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"env": "test", "team": "platform"}
    ttl = "Enabled=true,AttributeName=until"
    aws("dynamodb", "update-time-to-live", "--table-name", table_name, "--time-to-live-specification", ttl)
    described = aws("dynamodb", "describe-time-to-live", "--table-name", table_name)
    assert described["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
    assert table_name in aws("dynamodb", "list-tables")["TableNames"]
    assert aws("dynamodb", "describe-limits")["TableMaxReadCapacityUnits"] == 40000


def test_stream_is_read(aws: Aws, table_name: str) -> None:
    create(aws, table_name)
    put(aws, table_name, "a", 1)
    (stream,) = aws("dynamodbstreams", "list-streams", "--table-name", table_name)["Streams"]
    arn = stream["StreamArn"]
    description = aws("dynamodbstreams", "describe-stream", "--stream-arn", arn)["StreamDescription"]
    shard = description["Shards"][0]["ShardId"]
    place = aws(
        *("dynamodbstreams", "get-shard-iterator", "--stream-arn", arn, "--shard-id", shard),
        *("--shard-iterator-type", "TRIM_HORIZON"),
    )["ShardIterator"]
    (record,) = aws("dynamodbstreams", "get-records", "--shard-iterator", place)["Records"]
    assert record["eventName"] == "INSERT"
    assert record["dynamodb"]["NewImage"]["text"] == {"S": "hello"}


def test_error_has_dynamodbs_code(aws: Aws) -> None:
    with pytest.raises(RuntimeError, match="ResourceNotFoundException"):
        aws("dynamodb", "describe-table", "--table-name", "absent")
    with pytest.raises(RuntimeError, match="UnknownOperationException"):
        aws("dynamodb", "list-global-tables")


def test_table_is_backed_up_and_restored(aws: Aws, table_name: str) -> None:
    create(aws, table_name)
    put(aws, table_name, "a", 1)
    on = "PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=7"
    enabled = aws(
        *("dynamodb", "update-continuous-backups", "--table-name", table_name),
        *("--point-in-time-recovery-specification", on),
    )
    assert enabled["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]["RecoveryPeriodInDays"] == 7
    backup = aws("dynamodb", "create-backup", "--table-name", table_name, "--backup-name", "first")["BackupDetails"]
    put(aws, table_name, "a", 2)
    copies = {"point": f"{table_name}-point", "latest": f"{table_name}-latest", "backup": f"{table_name}-backup"}
    described = aws("dynamodb", "describe-continuous-backups", "--table-name", table_name)
    recovery = described["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    restore = ("dynamodb", "restore-table-to-point-in-time", "--source-table-name", table_name)
    earliest = str(recovery["EarliestRestorableDateTime"])
    aws(*restore, "--target-table-name", copies["point"], "--restore-date-time", earliest)
    aws(*restore, "--target-table-name", copies["latest"], "--use-latest-restorable-time")
    aws(
        *("dynamodb", "restore-table-from-backup", "--backup-arn", backup["BackupArn"]),
        *("--target-table-name", copies["backup"]),
    )
    counts = {}
    for kind, name in copies.items():
        aws("dynamodb", "wait", "table-exists", "--table-name", name)
        counts[kind] = aws("dynamodb", "scan", "--table-name", name)["Count"]
    assert counts == {"point": 1, "latest": 2, "backup": 1}
    listed = aws("dynamodb", "list-backups", "--table-name", table_name)["BackupSummaries"]
    assert [each["BackupStatus"] for each in listed] == ["AVAILABLE"]
    gone = aws("dynamodb", "delete-backup", "--backup-arn", backup["BackupArn"])["BackupDescription"]
    assert gone["BackupDetails"]["BackupStatus"] == "DELETED"
    with pytest.raises(RuntimeError, match="BackupNotFoundException"):
        aws("dynamodb", "describe-backup", "--backup-arn", backup["BackupArn"])
    aws("dynamodb", "delete-table", "--table-name", table_name)
    (system,) = aws("dynamodb", "list-backups", "--backup-type", "SYSTEM")["BackupSummaries"]
    assert system["BackupName"] == f"{table_name}$DeletedTableBackup"
