"""Real clients against a real `partita engine`: boto3, the AWS CLI, the AWS SDK for JavaScript v3."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.peers.fixtures import RunJavaScript
from tests.peers.javascript import JavaScriptError
from tests.timing import PATIENCE

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_dynamodb.service_resource import Table

AWS = Path(sys.executable).with_name("aws")
SCHEMA: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
SETTINGS: dict[str, Any] = {
    "region_name": "eu-central-1",
    "aws_access_key_id": "partita",
    "aws_secret_access_key": "partita",
    "config": Config(retries={"total_max_attempts": 1}),
}


@pytest.fixture(scope="module")
def client(server: Any) -> Iterator["DynamoDBClient"]:
    client = boto3.client("dynamodb", endpoint_url=server.endpoint, **SETTINGS)
    client.create_table(TableName="boto", **SCHEMA)
    client.get_waiter("table_exists").wait(TableName="boto")
    yield client
    client.delete_table(TableName="boto")
    client.get_waiter("table_not_exists").wait(TableName="boto")
    client.close()


@pytest.fixture(scope="module")
def table(server: Any, client: "DynamoDBClient") -> "Table":
    return boto3.resource("dynamodb", endpoint_url=server.endpoint, **SETTINGS).Table("boto")


def test_boto3_writes_and_reads_every_type(table: "Table") -> None:
    item: dict[str, Any] = {
        "pk": "types",
        "sk": Decimal("1.50"),
        "bytes": b"\x00\xff",
        "list": [1, "two", None, True],
        "map": {"nested": {"deep": Decimal("1E-20")}},
        "strings": {"a", "b"},
        "numbers": {Decimal(1), Decimal("2.5")},
        "binaries": {b"x"},
        "empty": "",
    }
    table.put_item(Item=item)
    found = table.get_item(Key={"pk": "types", "sk": Decimal("1.5")}, ConsistentRead=True)["Item"]
    assert found["bytes"] == b"\x00\xff"
    assert {name: each for name, each in found.items() if name not in ("bytes", "binaries")} == {
        name: each for name, each in item.items() if name not in ("bytes", "binaries")
    }


def test_boto3_queries_in_pages(client: "DynamoDBClient", table: "Table") -> None:
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"pk": "pages", "sk": number, "even": number % 2 == 0})
    pages = client.get_paginator("query").paginate(
        TableName="boto",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues={":p": {"S": "pages"}},
        PaginationConfig={"PageSize": 7},
    )
    assert [item["sk"]["N"] for page in pages for item in page["Items"]] == [str(number) for number in range(60)]
    answer = table.query(
        KeyConditionExpression=Key("pk").eq("pages") & Key("sk").between(10, 20), FilterExpression=Attr("even").eq(True)
    )
    assert [int(str(item["sk"])) for item in answer["Items"]] == [10, 12, 14, 16, 18, 20]
    scanned = client.get_paginator("scan").paginate(TableName="boto", PaginationConfig={"PageSize": 9})
    assert len([item for page in scanned for item in page["Items"] if item["pk"]["S"] == "pages"]) == 60


def test_boto3_reads_large_replies(table: "Table") -> None:
    """Large enough to be compressed; boto3 checks the CRC32 of the bytes that arrived."""
    for number in range(5):
        table.put_item(Item={"pk": "large", "sk": number, "p": "lorem ipsum " * 20_000})
    answer = table.query(KeyConditionExpression=Key("pk").eq("large"))
    assert [len(str(item["p"])) for item in answer["Items"]] == [240_000] * 5


def test_boto3_runs_updates_and_transactions(client: "DynamoDBClient", table: "Table") -> None:
    table.put_item(Item={"pk": "account", "sk": 1, "balance": 100})
    client.transact_write_items(
        TransactItems=[
            {
                "Update": {
                    "TableName": "boto",
                    "Key": {"pk": {"S": "account"}, "sk": {"N": "1"}},
                    "UpdateExpression": "SET balance = balance - :amount",
                    "ConditionExpression": "balance >= :amount",
                    "ExpressionAttributeValues": {":amount": {"N": "30"}},
                }
            },
            {"Put": {"TableName": "boto", "Item": {"pk": {"S": "account"}, "sk": {"N": "2"}, "balance": {"N": "30"}}}},
        ]
    )
    answer = table.update_item(
        Key={"pk": "account", "sk": 1},
        UpdateExpression="ADD balance :one",
        ExpressionAttributeValues={":one": 1},
        ReturnValues="UPDATED_NEW",
    )
    assert answer["Attributes"] == {"balance": Decimal(71)}


def raised(work: Callable[[], object]) -> ClientError:
    with pytest.raises(ClientError) as caught:
        work()
    return caught.value


def test_boto3_raises_its_error_classes(client: "DynamoDBClient", table: "Table") -> None:
    key = {"pk": {"S": "errors"}, "sk": {"N": "1"}}
    found = [
        raised(lambda: client.get_item(TableName="none-such", Key=key)),
        raised(lambda: client.put_item(TableName="boto", Item=key, ConditionExpression="attribute_exists(pk)")),
        raised(lambda: client.get_item(TableName="boto", Key={"pk": {"S": "a"}})),
        raised(lambda: client.create_table(TableName="boto", **SCHEMA)),
    ]
    assert isinstance(found[0], client.exceptions.ResourceNotFoundException)
    assert isinstance(found[1], client.exceptions.ConditionalCheckFailedException)
    assert found[2].response["Error"]["Code"] == "ValidationException"
    assert isinstance(found[3], client.exceptions.ResourceInUseException)
    assert found[0].response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert found[0].response["ResponseMetadata"]["RequestId"]


def test_boto3_error_has_the_cancellation_reasons(client: "DynamoDBClient") -> None:
    check: Any = {
        "TableName": "boto",
        "Key": {"pk": {"S": "nobody"}, "sk": {"N": "1"}},
        "ConditionExpression": "attribute_exists(pk)",
    }
    error = raised(lambda: client.transact_write_items(TransactItems=[{"ConditionCheck": check}]))
    assert isinstance(error, client.exceptions.TransactionCanceledException)
    reasons: Any = error.response
    assert [reason["Code"] for reason in reasons["CancellationReasons"]] == ["ConditionalCheckFailed"]


# The AWS CLI ---------------------------------------------------------------------------------------------------


def aws(endpoint: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": "partita",
        "AWS_SECRET_ACCESS_KEY": "partita",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_PAGER": "",
        "HOME": str(home),
    }
    return subprocess.run(
        [AWS, "dynamodb", *arguments, "--endpoint-url", endpoint, "--output", "json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_aws_cli_creates_writes_and_reads_a_table(endpoint: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> Any:
        done = aws(endpoint, *arguments, home=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    run(
        *("create-table", "--table-name", "cli", "--billing-mode", "PAY_PER_REQUEST"),
        *("--key-schema", "AttributeName=pk,KeyType=HASH"),
        *("--attribute-definitions", "AttributeName=pk,AttributeType=S"),
    )
    run("put-item", "--table-name", "cli", "--item", '{"pk": {"S": "a"}, "n": {"N": "1"}}')
    values = '{":p": {"S": "a"}}'
    condition = ("--key-condition-expression", "pk = :p", "--expression-attribute-values", values)
    assert run("query", "--table-name", "cli", *condition)["Items"] == [{"pk": {"S": "a"}, "n": {"N": "1"}}]
    failed = aws(endpoint, "get-item", "--table-name", "missing", "--key", '{"pk": {"S": "a"}}', home=tmp_path)
    assert failed.returncode != 0
    assert "(ResourceNotFoundException) when calling the GetItem operation" in failed.stderr


# JavaScript ----------------------------------------------------------------------------------------------------

SCRIPT = """
const TableName = "javascript";
await client.send(new dynamodb.CreateTableCommand({
  TableName, BillingMode: "PAY_PER_REQUEST",
  KeySchema: [{ AttributeName: "pk", KeyType: "HASH" }, { AttributeName: "sk", KeyType: "RANGE" }],
  AttributeDefinitions: [{ AttributeName: "pk", AttributeType: "S" }, { AttributeName: "sk", AttributeType: "N" }],
}));
await dynamodb.waitUntilTableExists({ client, minDelay: 1, maxDelay: 2, maxWaitTime: 5 }, { TableName });
for (let sk = 0; sk < 10; sk++)
  await documentClient.send(new documents.PutCommand({ TableName, Item: { pk: "a", sk, tags: new Set(["x", "y"]) } }));
await documentClient.send(new documents.TransactWriteCommand({ TransactItems: [
  { Update: { TableName, Key: { pk: "a", sk: 0 },
              UpdateExpression: "SET n = :n", ExpressionAttributeValues: { ":n": 5 } } },
  { Delete: { TableName, Key: { pk: "a", sk: 9 } } },
] }));
const sorts = [];
const asked = { TableName, KeyConditionExpression: "pk = :p", ExpressionAttributeValues: { ":p": "a" } };
for await (const page of documents.paginateQuery({ client: documentClient, pageSize: 4 }, asked))
  for (const item of page.Items) sorts.push(item.sk);
const first = (await documentClient.send(new documents.GetCommand({ TableName, Key: { pk: "a", sk: 0 } }))).Item;
return { sorts, first };
"""


def test_javascript_creates_writes_and_reads_a_table(endpoint: str, javascript: RunJavaScript) -> None:
    found = javascript(endpoint, SCRIPT)
    assert found["sorts"] == list(range(9))
    assert found["first"] == {"pk": "a", "sk": 0, "tags": ["x", "y"], "n": 5}


def test_javascript_throws_its_error_classes(endpoint: str, javascript: RunJavaScript) -> None:
    missing = 'await documentClient.send(new documents.GetCommand({ TableName: "none-such", Key: { pk: "a" } }))'
    with pytest.raises(JavaScriptError) as caught:
        javascript(endpoint, missing)
    assert caught.value.facts["name"] == "ResourceNotFoundException"
    assert caught.value.facts["message"] == "Requested resource not found"
