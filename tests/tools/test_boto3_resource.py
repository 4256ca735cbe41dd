"""boto3's resource layer: Python values, batches and condition objects."""

from decimal import Decimal
from typing import TYPE_CHECKING

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import DynamoDBServiceResource, Table


@pytest.fixture
def dynamodb(endpoint: str) -> "DynamoDBServiceResource":
    return boto3.resource(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="partita",
        aws_secret_access_key="partita",
    )


@pytest.fixture
def table(dynamodb: "DynamoDBServiceResource", table_name: str) -> "Table":
    made = dynamodb.create_table(
        TableName=table_name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    made.wait_until_exists()
    return made


def test_every_python_value_is_returned_unchanged(table: "Table") -> None:
    item = {
        "pk": "a",
        "sk": Decimal("1.5"),
        "list": ["x", Decimal(2), None, {"deep": [True, False]}],
        "strings": {"a", "b"},
        "numbers": {Decimal(1), Decimal("2.5")},
        "nothing": None,
        "empty": "",
    }
    table.put_item(Item=item)  # type: ignore[arg-type]
    assert table.get_item(Key={"pk": "a", "sk": Decimal("1.5")})["Item"] == item


def test_bytes_are_returned_unchanged(table: "Table") -> None:
    table.put_item(Item={"pk": "a", "sk": 1, "raw": b"\x00\x01\xff", "set": {b"1", b"2"}})
    found = table.get_item(Key={"pk": "a", "sk": 1})["Item"]
    assert bytes(found["raw"]) == b"\x00\x01\xff"  # type: ignore[arg-type]
    assert {bytes(each) for each in found["set"]} == {b"1", b"2"}  # type: ignore[union-attr, arg-type]


def test_batch_writer_writes_several_batches_and_pages_return_them(table: "Table") -> None:
    with table.batch_writer() as batch:
        for number in range(60):
            batch.put_item(Item={"pk": "a", "sk": number, "text": "x" * 50_000})
    found: list[object] = []
    condition = Key("pk").eq("a") & Key("sk").between(0, 49)
    page = table.query(KeyConditionExpression=condition)
    while True:
        found += [item["sk"] for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        page = table.query(KeyConditionExpression=condition, ExclusiveStartKey=page["LastEvaluatedKey"])
    assert found == [Decimal(number) for number in range(50)]


def test_condition_objects_are_evaluated(table: "Table") -> None:
    table.put_item(Item={"pk": "a", "sk": 1, "n": 1}, ConditionExpression=Attr("pk").not_exists())
    with pytest.raises(ClientError, match="ConditionalCheckFailedException"):
        table.put_item(Item={"pk": "a", "sk": 1}, ConditionExpression=Attr("pk").not_exists())
    found = table.scan(FilterExpression=Attr("n").gte(1) & ~Attr("absent").exists() & Attr("n").is_in([1, 2]))
    assert found["Count"] == 1
    changed = table.update_item(
        Key={"pk": "a", "sk": 1},
        UpdateExpression="ADD n :one",
        ConditionExpression=Attr("n").eq(1),
        ExpressionAttributeValues={":one": 1},
        ReturnValues="ALL_NEW",
    )
    assert changed["Attributes"]["n"] == Decimal(2)


def test_paginators_return_all_tables_and_items(dynamodb: "DynamoDBServiceResource", table: "Table") -> None:
    assert table.name in [each.name for each in dynamodb.tables.all()]
    for number in range(5):
        table.put_item(Item={"pk": "a", "sk": number})
    pages = table.meta.client.get_paginator("scan").paginate(TableName=table.name, PaginationConfig={"PageSize": 2})
    assert [len(page["Items"]) for page in pages] == [2, 2, 1]
