"""boto3 on the embedded engine: existing code runs without server, keys or region, and nothing stays patched."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import boto3
import botocore.session
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError, NoRegionError
from mypy_boto3_dynamodb import DynamoDBClient

from partita import boto, connect
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import ListTables

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no region, no profile, and no instance metadata."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "absent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "absent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def backend() -> Iterator[Backend]:
    with connect("memory:") as engine:
        yield engine


def make_table(client: DynamoDBClient, name: str = "notes") -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    client.get_waiter("table_exists").wait(TableName=name)


def test_existing_code_uses_the_engine(backend: Backend) -> None:
    with boto.embedded(backend):
        make_table(boto3.client("dynamodb"))
        table = boto3.resource("dynamodb").Table("notes")
        table.put_item(Item={"pk": "a", "sk": 1, "price": Decimal("1.50"), "tags": {"x", "y"}, "raw": b"\0\1"})
        got = table.get_item(Key={"pk": "a", "sk": 1})["Item"]
    assert got == {"pk": "a", "sk": 1, "price": Decimal("1.5"), "tags": {"x", "y"}, "raw": b"\0\1"}
    assert backend.call(ListTables()).table_names == ["notes"]


def test_botocore_without_boto3_uses_the_engine(backend: Backend) -> None:
    with boto.embedded(backend):
        client: Any = botocore.session.Session().create_client("dynamodb")
        assert client.list_tables()["TableNames"] == []


def test_client_with_its_own_config_uses_the_engine(backend: Backend) -> None:
    make_table(boto.client(backend))
    with boto.embedded(backend):
        client = boto3.client(
            "dynamodb",
            region_name="eu-west-1",
            endpoint_url="http://127.0.0.1:1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
            config=Config(signature_version="v4", retries={"max_attempts": 0}),
        )
        assert client.list_tables()["TableNames"] == ["notes"]
        assert client.meta.region_name == "eu-west-1"


def test_error_has_its_code_class_and_members(backend: Backend) -> None:
    client = boto.client(backend)
    make_table(client)
    item = {"pk": {"S": "a"}, "sk": {"N": "1"}}
    client.put_item(TableName="notes", Item=item)
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
        client.put_item(
            TableName="notes",
            Item=item,
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert failed.value.response["Item"] == item  # type: ignore[typeddict-item]
    with pytest.raises(ClientError, match="Table: absent not found") as missing:
        client.describe_table(TableName="absent")
    assert missing.value.response["Error"]["Code"] == "ResourceNotFoundException"
    assert missing.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_cancelled_transaction_has_its_reasons(backend: Backend) -> None:
    client = boto.client(backend)
    make_table(client)
    absent = {"pk": {"S": "a"}, "sk": {"N": "1"}}
    with pytest.raises(client.exceptions.TransactionCanceledException) as cancelled:
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": "notes", "Item": {"pk": {"S": "b"}, "sk": {"N": "1"}}}},
                {
                    "ConditionCheck": {
                        "TableName": "notes",
                        "Key": absent,
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                },
            ]
        )
    reasons = cancelled.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["None", "ConditionalCheckFailed"]


def test_unsupported_operation_is_an_error(backend: Backend) -> None:
    with pytest.raises(ClientError, match="UnknownOperationException"):
        boto.client(backend).describe_kinesis_streaming_destination(TableName="notes")


def test_batch_writer_paginator_and_conditions_work(backend: Backend) -> None:
    resource = boto.resource(backend)
    make_table(resource.meta.client)
    table = resource.Table("notes")
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"pk": "a", "sk": number, "size": number})
    found = table.query(
        KeyConditionExpression=Key("pk").eq("a") & Key("sk").between(10, 19), FilterExpression=Attr("size").gt(15)
    )
    assert [item["sk"] for item in found["Items"]] == [16, 17, 18, 19]
    pages = resource.meta.client.get_paginator("scan").paginate(TableName="notes", PaginationConfig={"PageSize": 25})
    assert [len(page["Items"]) for page in pages] == [25, 25, 10]


def test_waiter_waits_for_a_deleted_table(backend: Backend) -> None:
    client = boto.client(backend)
    make_table(client)
    client.delete_table(TableName="notes")
    client.get_waiter("table_not_exists").wait(TableName="notes")


def test_streams_client_reads_a_stream(backend: Backend) -> None:
    client, streams = boto.client(backend), boto.streams_client(backend)
    make_table(client)
    client.update_table(
        TableName="notes", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    )
    client.put_item(TableName="notes", Item={"pk": {"S": "a"}, "sk": {"N": "1"}})
    arn = streams.list_streams(TableName="notes")["Streams"][0]["StreamArn"]
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    records = streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    assert [record["eventName"] for record in records] == ["INSERT"]
    assert records[0]["dynamodb"]["NewImage"] == {"pk": {"S": "a"}, "sk": {"N": "1"}}


def test_botocore_is_unpatched_after_the_block(backend: Backend) -> None:
    before = botocore.session.Session.create_client
    with boto.embedded(backend), pytest.raises(ZeroDivisionError), boto.embedded(backend):
        raise ZeroDivisionError
    assert botocore.session.Session.create_client is before
    with pytest.raises(NoRegionError):
        boto3.client("dynamodb")


def test_client_created_before_the_block_is_unaffected(backend: Backend) -> None:
    with connect("memory:") as other:
        earlier = boto.client(other)
        with boto.embedded(backend):
            make_table(earlier)
        assert other.call(ListTables()).table_names == ["notes"]
        assert backend.call(ListTables()).table_names == []


def test_client_created_in_the_block_keeps_its_engine(backend: Backend) -> None:
    with boto.embedded(backend):
        client = boto3.client("dynamodb")
    make_table(client)
    assert backend.call(ListTables()).table_names == ["notes"]


def test_innermost_block_applies(backend: Backend) -> None:
    with connect("memory:") as inner, boto.embedded(backend):
        with boto.embedded(inner):
            make_table(boto3.client("dynamodb"), "inner")
        make_table(boto3.client("dynamodb"), "outer")
        assert inner.call(ListTables()).table_names == ["inner"]
    assert backend.call(ListTables()).table_names == ["outer"]


def test_block_applies_to_other_threads(backend: Backend) -> None:
    with boto.embedded(backend):
        thread = threading.Thread(target=lambda: make_table(boto3.client("dynamodb")))
        thread.start()
        thread.join()
    assert backend.call(ListTables()).table_names == ["notes"]


def test_other_services_are_unaffected(backend: Backend) -> None:
    with boto.embedded(backend):
        with pytest.raises(NoRegionError):
            boto3.client("sqs")
        client = boto3.client("s3", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")
    assert client.meta.config.signature_version == "s3v4"
    sent: list[str] = []
    client.meta.events.register_last("before-send", lambda request, **_: sent.append(request.url))
    assert client.meta.events.emit("before-send.s3.ListBuckets", request=_Request())[0][1] is None
    assert sent == ["here"]


class _Request:
    url = "here"


def test_partita_is_imported_without_botocore() -> None:
    code = "import sys, partita.boto; assert not [name for name in sys.modules if name.startswith('boto')]"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_botocore_is_reported() -> None:
    code = (
        "import sys; sys.modules['botocore.session'] = None; sys.modules['boto3'] = None\n"
        "from partita import boto\n"
        "try: boto.client(None)\n"
        "except Exception as error: print(error)\n"
        "try: boto.embedded(None).__enter__()\n"
        "except Exception as error: print(error)\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.splitlines() == [
        "partita.boto needs an extra; run pip install 'partita[boto]' (boto3 is missing)",
        "partita.boto needs an extra; run pip install 'partita[boto]' (botocore is missing)",
    ]
