"""Tables: created, described, updated, protected, deleted; and every kind of invalid definition."""

from typing import Any

import pytest

from tests.engine.shorthand import Json
from tests.engine.tables import Bench, index

INVALID = "One or more parameter values were invalid: "
KEY = [{"AttributeName": "pk", "KeyType": "HASH"}]
TEXT = [{"AttributeName": "pk", "AttributeType": "S"}]
PLAIN: Json = {"TableName": "notes", "KeySchema": KEY, "AttributeDefinitions": TEXT, "BillingMode": "PAY_PER_REQUEST"}


def test_new_table_is_described(bench: Bench) -> None:
    made = bench.ok("CreateTable", **PLAIN)["TableDescription"]
    assert made["TableStatus"] == "CREATING"
    described = bench.ok("DescribeTable", TableName="notes")["Table"]
    assert described["TableStatus"] == "ACTIVE"
    assert described["KeySchema"] == KEY
    assert described["AttributeDefinitions"] == TEXT
    assert (described["ItemCount"], described["TableSizeBytes"]) == (0, 0)
    assert described["TableArn"] == "arn:aws:dynamodb:us-east-1:000000000000:table/notes"
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert described["DeletionProtectionEnabled"] is False


def test_item_count_and_size_are_exact(bench: Bench) -> None:
    bench.table("notes", "pk:S", index("byG", "g:S", "KEYS_ONLY"))
    bench.put("notes", pk="a", g="x", p="x" * 1000)
    bench.put("notes", pk="b")
    described = bench.ok("DescribeTable", TableName="notes")["Table"]
    assert (described["ItemCount"], described["TableSizeBytes"]) == (2, 3 + 2 + 1001 + 3)
    (made,) = described["GlobalSecondaryIndexes"]
    assert (made["ItemCount"], made["IndexSizeBytes"]) == (1, 3 + 2)


def test_tables_are_listed_in_pages(bench: Bench) -> None:
    names = [f"table{number:03}" for number in range(105)]
    for name in reversed(names):
        bench.ok("CreateTable", **PLAIN | {"TableName": name})
    first = bench.ok("ListTables")
    assert first == {"TableNames": names[:100], "LastEvaluatedTableName": names[99]}
    assert bench.ok("ListTables", ExclusiveStartTableName=names[99]) == {"TableNames": names[100:]}
    assert bench.ok("ListTables", Limit=2, ExclusiveStartTableName="table005x") == {
        "TableNames": names[6:8],
        "LastEvaluatedTableName": names[7],
    }


def test_deleted_table_is_gone_with_its_items(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", index("byG", "g:S"))
    anywhere.put("notes", pk="a", g="x")
    assert anywhere.ok("DeleteTable", TableName="notes")["TableDescription"]["TableStatus"] == "DELETING"
    error = "ResourceNotFoundException: Requested resource not found: Table: notes not found"
    assert anywhere.error("DescribeTable", TableName="notes") == error
    assert anywhere.error("DeleteTable", TableName="notes") == error
    anywhere.table("notes", "pk:S", index("byG", "g:S"))
    assert anywhere.rows("notes") == anywhere.rows("notes", "byG") == []


def test_protected_table_cannot_be_deleted(anywhere: Bench) -> None:
    anywhere.table("notes", "pk:S", DeletionProtectionEnabled=True)
    answer = anywhere.failed("DeleteTable", TableName="notes")
    assert answer.code == "ValidationException"
    assert "protected against deletion" in answer.message
    anywhere.ok("UpdateTable", TableName="notes", DeletionProtectionEnabled=False)
    anywhere.ok("DeleteTable", TableName="notes")


def test_existing_table_cannot_be_created_again(bench: Bench) -> None:
    bench.ok("CreateTable", **PLAIN)
    assert bench.error("CreateTable", **PLAIN) == "ResourceInUseException: Table already exists: notes"


def test_table_is_found_by_its_arn(bench: Bench) -> None:
    bench.ok("CreateTable", **PLAIN)
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/notes"
    bench.ok("PutItem", TableName=arn, Item={"pk": {"S": "a"}})
    assert bench.ok("GetItem", TableName=arn, Key={"pk": {"S": "a"}}) == {"Item": {"pk": {"S": "a"}}}
    assert bench.ok("DescribeTable", TableName=arn)["Table"]["TableName"] == "notes"


def test_throughput_changes_are_dated(bench: Bench) -> None:
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
    body = {name: value for name, value in PLAIN.items() if name != "BillingMode"}
    bench.ok("CreateTable", **body, ProvisionedThroughput=units)
    same = bench.failed("UpdateTable", TableName="notes", ProvisionedThroughput=units)
    assert same.message.startswith("The provisioned throughput for the table will not change.")
    bench.ok("UpdateTable", TableName="notes", ProvisionedThroughput=units | {"ReadCapacityUnits": 9})
    described = bench.ok("DescribeTable", TableName="notes")["Table"]["ProvisionedThroughput"]
    assert described["ReadCapacityUnits"] == 9
    assert described["LastIncreaseDateTime"] == bench.clock.now
    bench.ok("UpdateTable", TableName="notes", BillingMode="PAY_PER_REQUEST")
    assert bench.ok("DescribeTable", TableName="notes")["Table"]["ProvisionedThroughput"]["ReadCapacityUnits"] == 0


def definitions(**types: str) -> list[Json]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def schema(*names: str) -> list[Json]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


def gsi(name: str = "byG", key: list[Json] | None = None, **projection: Any) -> Json:
    described = projection or {"ProjectionType": "ALL"}
    return {"IndexName": name, "KeySchema": key or schema("g"), "Projection": described}


WITH_G = {"AttributeDefinitions": definitions(pk="S", g="S")}
NAME_LENGTH = (  # in bytes; DynamoDB Local says so of both
    "Names of key attributes and attributes projected into an index must be between 1 and 255 characters, inclusive"
)
WRONG: list[tuple[Json, str]] = [
    (
        {"BillingMode": "PAY_PER_REQUEST", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
        (
            f"{INVALID}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST"
        ),
    ),
    (
        {"BillingMode": "PROVISIONED"},
        f"{INVALID}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
    ),
    (
        {"KeySchema": schema("other")},
        (
            f"{INVALID}Some index key attributes are not defined in AttributeDefinitions. Keys: [other], "
            "AttributeDefinitions: [pk]"
        ),
    ),
    (
        {"AttributeDefinitions": definitions(pk="S", unused="S")},
        (
            f"{INVALID}Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions"
        ),
    ),
    (
        {"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]},
        "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
    ),
    ({"LocalSecondaryIndexes": []}, f"{INVALID}List of LocalSecondaryIndexes is empty"),
    ({"GlobalSecondaryIndexes": []}, f"{INVALID}List of GlobalSecondaryIndexes is empty"),
    (
        {"LocalSecondaryIndexes": [gsi()], **WITH_G},
        f"{INVALID}Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
    ),
    (
        {"GlobalSecondaryIndexes": [gsi(), gsi()], **WITH_G},
        f"{INVALID}Duplicate index name: byG",
    ),
    (
        {"GlobalSecondaryIndexes": [gsi(ProjectionType="ALL", NonKeyAttributes=["x"])], **WITH_G},
        f"{INVALID}ProjectionType is ALL, but NonKeyAttributes is specified",
    ),
    (
        {"GlobalSecondaryIndexes": [gsi(ProjectionType="INCLUDE")], **WITH_G},
        f"{INVALID}ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    *(
        (
            {"GlobalSecondaryIndexes": [gsi(ProjectionType="INCLUDE", NonKeyAttributes=["a", name])], **WITH_G},
            NAME_LENGTH,
        )
        for name in ("", "x" * 256, "é" * 128)
    ),
    (
        {
            "KeySchema": [{"AttributeName": "é" * 128, "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "é" * 128, "AttributeType": "S"}],
        },
        NAME_LENGTH,
    ),
    (
        {"GlobalSecondaryIndexes": [gsi(f"by{number:03}") for number in range(21)], **WITH_G},
        f"{INVALID}GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    (
        {"StreamSpecification": {"StreamEnabled": True}},
        f"{INVALID}StreamViewType must be specified when StreamEnabled is true",
    ),
    ({"TableName": None}, "The parameter 'TableName' is required but was not present in the request"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_invalid_table_definition_is_rejected(bench: Bench, change: Json, message: str) -> None:
    answer = bench.failed("CreateTable", **PLAIN | change)
    assert answer.code == "ValidationException"
    assert message in answer.message
    assert bench.ok("ListTables") == {"TableNames": []}


# Several faults at once ----------------------------------------------------------------------------------------

CONSUMED = (
    "Value 'MAYBE' at 'returnConsumedCapacity' failed to satisfy constraint: "
    "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
)
MISSING_KEY = "Value null at 'key' failed to satisfy constraint: Member must not be null"
MISSING_TABLE = "Value null at 'tableName' failed to satisfy constraint: Member must not be null"


@pytest.mark.parametrize(
    ("operation", "body", "message"),
    [
        ("GetItem", {}, f"2 validation errors detected: {MISSING_TABLE}; {MISSING_KEY}"),
        (
            "GetItem",
            {"ReturnConsumedCapacity": "MAYBE"},
            f"3 validation errors detected: {CONSUMED}; {MISSING_TABLE}; {MISSING_KEY}",
        ),
        (
            "GetItem",
            {"TableName": "a b", "Key": {}},
            (
                "1 validation error detected: Value 'a b' at 'tableName' failed to satisfy constraint: "
                "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"
            ),
        ),
        (
            "Scan",
            {"TableName": "notes", "Limit": 0, "Select": "SOME"},
            (
                "2 validation errors detected: Value 'SOME' at 'select' failed to satisfy constraint: "
                "Member must satisfy enum value set: "
                "[SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]; Value '0' at "
                "'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
            ),
        ),
        (
            "ListTables",
            {"Limit": 101},
            (
                "1 validation error detected: Value '101' at 'limit' failed to satisfy constraint: "
                "Member must have value less than or equal to 100"
            ),
        ),
    ],
)
def test_member_violations_are_reported_together_and_first(
    bench: Bench, operation: str, body: Json, message: str
) -> None:
    """Before the missing table is reported."""
    assert bench.error(operation, **body) == f"ValidationException: {message}"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"Item": {"pk": {"N": "x"}}, "ConditionExpression": "a ="},
            "ValidationException: The parameter cannot be converted to a numeric value: x",
        ),
        (
            {"Item": {"pk": {"S": "a"}}, "ConditionExpression": "a ="},
            (
                "ValidationException: 1 validation error detected: Invalid ConditionExpression: "
                'Syntax error; token: "<EOF>", near: "="'
            ),
        ),
        ({"Item": {"pk": {"S": "a"}}}, "ResourceNotFoundException: Requested resource not found"),
    ],
)
def test_put_is_checked_in_the_order_values_expressions_table(bench: Bench, body: Json, error: str) -> None:
    """Each request also has the errors of the later ones, and reports its own first."""
    assert bench.error("PutItem", TableName="missing", **body) == error
