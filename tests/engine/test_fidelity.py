"""Requests at the edges of DynamoDB's rules get the messages of the service; most are those of DynamoDB Local too."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.shorthand import Answer, DynamoDB, Embedded, Json, Remote, open_engine

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
LONG = "n" * 65_536
EMPTY_NAME = "ValidationException: Empty attribute name"
LONG_NAME = "ValidationException: Attribute name is too large, must be less than 65536 bytes"
NO_CONDITIONS = "ValidationException: ConditionalOperator cannot be used without Filter or Expected"
ONE_CONDITION = (
    "ValidationException: ConditionalOperator can only be used when Filter or Expected has two or more elements"
)
INVALID_NAME = "ValidationException: ExpressionAttributeNames contains invalid value: {} for key #a"
OTHER_SEGMENT = (
    "ValidationException: The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
    "ExclusiveStartKey with correct Segment. TotalSegments: 1000 Segment: 1"
)
UNSUPPORTED = (
    "ValidationException: One or more parameter values were invalid: {} is not supported by this engine; leave it out"
)
MISMATCH = "ValidationException: Type mismatch for attribute to update"


def definition(name: str) -> Json:
    return {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
            {"AttributeName": "g", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by_g",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    }


def put(**attributes: Any) -> tuple[str, Json]:
    return "PutItem", {"Item": KEY | attributes}


def put_with(**members: Any) -> tuple[str, Json]:
    return "PutItem", {"Item": KEY, **members}


def get(**members: Any) -> tuple[str, Json]:
    return "GetItem", {"Key": KEY, **members}


def update(**members: Any) -> tuple[str, Json]:
    return "UpdateItem", {"Key": KEY, **members}


def changed(name: str, action: str, value: Json) -> tuple[str, Json]:
    return update(AttributeUpdates={name: {"Action": action, "Value": value}})


NULL = {"ComparisonOperator": "NULL"}
EQUAL = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}}
TOO_DEEP = "The document path has too many nesting levels; nesting levels: 33"

CASES: dict[str, tuple[tuple[str, Json], str]] = {
    "an empty name": (put(**{"": {"S": "x"}}), EMPTY_NAME),
    "an empty name in a map": (put(m={"M": {"": {"S": "x"}}}), EMPTY_NAME),
    "an empty name in AttributesToGet": (get(AttributesToGet=[""]), EMPTY_NAME),
    "an empty name in AttributeUpdates": (changed("", "PUT", {"S": "x"}), EMPTY_NAME),
    "an empty name in Expected": (put_with(Expected={"": {"Exists": False}}), EMPTY_NAME),
    "an empty name in ScanFilter": (("Scan", {"ScanFilter": {"": NULL}}), EMPTY_NAME),
    "an empty name in KeyConditions": (("Query", {"KeyConditions": {"": EQUAL["pk"]}}), EMPTY_NAME),
    "an empty name behind a placeholder": (
        get(ProjectionExpression="#a", ExpressionAttributeNames={"#a": ""}),
        INVALID_NAME.format("Empty attribute name"),
    ),
    "a long name behind a placeholder": (
        get(ProjectionExpression="#a", ExpressionAttributeNames={"#a": LONG}),
        INVALID_NAME.format("Attribute name is too large, must be less than 65536 bytes"),
    ),
    "a path of 33 levels in a projection": (
        get(ProjectionExpression="a" + ".b" * 32),
        f"ValidationException: Invalid ProjectionExpression: {TOO_DEEP}",
    ),
    "a path of 33 levels with indexes": (
        get(ProjectionExpression="a" + "[0]" * 32),
        f"ValidationException: Invalid ProjectionExpression: {TOO_DEEP}",
    ),
    "ConditionalOperator of a Scan without a filter": (("Scan", {"ConditionalOperator": "AND"}), NO_CONDITIONS),
    "ConditionalOperator with an empty filter": (
        ("Scan", {"ConditionalOperator": "AND", "ScanFilter": {}}),
        NO_CONDITIONS,
    ),
    "ConditionalOperator with one filter": (
        ("Scan", {"ConditionalOperator": "OR", "ScanFilter": {"n": NULL}}),
        ONE_CONDITION,
    ),
    "ConditionalOperator of a Query without a filter": (
        ("Query", {"ConditionalOperator": "OR", "KeyConditions": EQUAL}),
        NO_CONDITIONS,
    ),
    "ConditionalOperator of a put": (put_with(ConditionalOperator="AND"), NO_CONDITIONS),
    "ConditionalOperator of a put with one condition": (
        put_with(ConditionalOperator="AND", Expected={"x": {"Exists": False}}),
        ONE_CONDITION,
    ),
    "ConditionalOperator of a deletion": (("DeleteItem", {"Key": KEY, "ConditionalOperator": "OR"}), NO_CONDITIONS),
    "ConditionalOperator of an update": (update(ConditionalOperator="OR"), NO_CONDITIONS),
    "ADD of a number to text": (changed("s", "ADD", {"N": "1"}), MISMATCH),
    "ADD of a set to a set of another type": (changed("ns", "ADD", {"SS": ["a"]}), MISMATCH),
    "ADD of a list to text": (changed("s", "ADD", {"L": []}), MISMATCH),
    "DELETE of text from a set of numbers": (changed("ns", "DELETE", {"SS": ["a"]}), MISMATCH),
    "ADD of a number to text in an expression": (
        update(UpdateExpression="ADD s :v", ExpressionAttributeValues={":v": {"N": "1"}}),
        "ValidationException: An operand in the update expression has an incorrect data type",
    ),
    "DELETE from a set of another type in an expression": (
        update(UpdateExpression="DELETE ns :v", ExpressionAttributeValues={":v": {"SS": ["a"]}}),
        "ValidationException: An operand in the update expression has an incorrect data type",
    ),
    "a number of the largest magnitude doubled": (
        update(UpdateExpression="SET n = huge + huge"),
        "ValidationException: Number overflow. Attempting to store a number with magnitude larger than supported range",
    ),
    "two definitions of an attribute": (
        (
            "CreateTable",
            {
                "AttributeDefinitions": [
                    *definition("")["AttributeDefinitions"],
                    {"AttributeName": "g", "AttributeType": "N"},
                ]
            },
        ),
        "ValidationException: Cannot have two attributes with the same name",
    ),
}

UPDATE = "ValidationException: 1 validation error detected: Invalid UpdateExpression: {}"
FILTER = "ValidationException: Invalid FilterExpression: {}"
CASES |= {
    "a function of updates in a filter": (
        ("Scan", {"FilterExpression": "size(if_not_exists(a, b)) = n"}),
        FILTER.format("The function is not allowed in a condition expression; function: if_not_exists"),
    ),
    "a list index that begins with zero": (
        ("Scan", {"FilterExpression": "l[01] = n"}),
        FILTER.format('Syntax error; token: "1", near: "01]"'),
    ),
    "Select SPECIFIC_ATTRIBUTES of nothing": (
        ("Scan", {"Select": "SPECIFIC_ATTRIBUTES"}),
        (
            "ValidationException: Must specify the AttributesToGet or ProjectionExpression when choosing to get "
            "SPECIFIC_ATTRIBUTES"
        ),
    ),
    "Select COUNT beside a projection": (
        ("Query", {"KeyConditions": EQUAL, "AttributesToGet": ["a"], "Select": "COUNT"}),
        "ValidationException: Cannot specify the AttributesToGet when choosing to get only the Count",
    ),
    "both forms of a projection in one batch": (
        (
            "BatchGetItem",
            {
                "RequestItems": {
                    "absent": {"Keys": [KEY], "ProjectionExpression": "pk"},
                    "other": {"Keys": [KEY], "AttributesToGet": ["pk"]},
                }
            },
        ),
        (
            "ValidationException: Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
        ),
    ),
}

MIXED = (
    "ValidationException: {}Can not use both expression and non-expression parameters in the same request: "
    "Non-expression parameters: {{ConditionalOperator}} Expression parameters: {{{}}}"
)
CASES |= {
    "ConditionalOperator beside a condition of a deletion": (
        ("DeleteItem", {"Key": KEY, "ConditionalOperator": "AND", "ConditionExpression": "attribute_exists(pk)"}),
        MIXED.format("", "ConditionExpression"),
    ),
}

TABLE_KEYS = (
    "ValidationException: 1 validation error detected: Value '{}' at 'requestItems' failed to satisfy constraint: Map "
    "keys must satisfy constraint: [Member must have length less than or equal to 255, Member must have length greater "
    "than or equal to 3, Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"
)
OURS: dict[str, tuple[tuple[str, Json], str]] = {  # DynamoDB Local fails, or has no such operation, or other words
    "a long name": (put(**{LONG: {"S": "x"}}), LONG_NAME),
    "a long name in a map": (put(m={"M": {LONG: {"S": "x"}}}), LONG_NAME),
    "a long name of few characters": (put(**{"é" * 32_768: {"S": "x"}}), LONG_NAME),
    "a long name in AttributeUpdates": (changed(LONG, "PUT", {"S": "x"}), LONG_NAME),
    "a sum of 39 digits": (
        update(UpdateExpression="SET n = digits + :v", ExpressionAttributeValues={":v": {"N": "0.1"}}),
        "ValidationException: Attempting to store more than 38 significant digits in a Number",
    ),
    "ADD beyond 38 digits": (
        changed("digits", "ADD", {"N": "0.5"}),
        "ValidationException: Attempting to store more than 38 significant digits in a Number",
    ),
    "ConditionalOperator beside a condition of a put": (
        put_with(ConditionalOperator="AND", ConditionExpression="attribute_exists(pk)"),
        MIXED.format("1 validation error detected: ", "ConditionExpression"),
    ),
    "ConditionalOperator beside an update expression": (
        update(ConditionalOperator="AND", UpdateExpression="REMOVE n"),
        MIXED.format("1 validation error detected: ", "UpdateExpression"),
    ),
    "an unknown action of AttributeUpdates": (
        changed("n", "put", {"S": "x"}),
        (
            "ValidationException: 1 validation error detected: Value 'put' at 'attributeUpdates.n.member.action' "
            "failed to satisfy constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]"
        ),
    ),
    "a start key of another segment": (
        ("Scan", {"Segment": 1, "TotalSegments": 1000, "ExclusiveStartKey": KEY}),
        OTHER_SEGMENT,
    ),
    "a function of conditions in an update": (
        update(UpdateExpression="SET n = attribute_exists(a)"),
        UPDATE.format("The function is not allowed in an update expression; function: attribute_exists"),
    ),
    # Those of batches, tokens and Select: nubo-db/dynamodb-conformance, captured from the service in 2026.
    "a batch of reads from a table with an invalid name": (
        ("BatchGetItem", {"RequestItems": {"bad!name": {"Keys": [{"pk": {"S": "a"}}]}}}),
        TABLE_KEYS.format('{"bad!name":{"Keys":[{"pk":{"S":"a"}}]}}'),
    ),
    "a batch of writes to a table with a short name": (
        ("BatchWriteItem", {"RequestItems": {"ab": [{"DeleteRequest": {"Key": {"pk": {"S": "a"}}}}]}}),
        TABLE_KEYS.format('{"ab":[{"DeleteRequest":{"Key":{"pk":{"S":"a"}}}}]}'),
    ),
    "a put of a batch with a key of another type": (
        ("BatchWriteItem", {"RequestItems": {"edges": [{"PutRequest": {"Item": KEY | {"sk": {"N": "1"}}}}]}}),
        "ValidationException: The provided key element does not match the schema",
    ),
    "the token of a transaction before its other members": (
        (
            "TransactWriteItems",
            {"TransactItems": [], "ReturnConsumedCapacity": "NO", "ClientRequestToken": "t" * 37},
        ),
        (
            f"ValidationException: 3 validation errors detected: Value '{'t' * 37}' at 'clientRequestToken' failed to "
            "satisfy constraint: Member must have length less than or equal to 36; Value 'NO' at "
            "'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: "
            "[INDEXES, TOTAL, NONE]; Value '[]' at 'transactItems' failed to satisfy constraint: Member must have "
            "length greater than or equal to 1"
        ),
    ),
    "an empty key in a transaction of reads": (
        ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "edges", "Key": KEY | {"pk": {"S": ""}}}}]}),
        (
            "ValidationException: One or more parameter values are not valid. The AttributeValue for a key attribute "
            "cannot contain an empty string value. Key: pk"
        ),
    ),
    "Select SPECIFIC_ATTRIBUTES of nothing in a query": (
        ("Query", {"KeyConditions": EQUAL, "Select": "SPECIFIC_ATTRIBUTES"}),
        (
            "ValidationException: 1 validation error detected: Must specify the AttributesToGet or "
            "ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        ),
    ),
    "a resource policy": (
        ("CreateTable", {"ResourcePolicy": "{}"}),
        UNSUPPORTED.format("ResourcePolicy"),
    ),
    "a replica": (
        ("UpdateTable", {"ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]}),
        UNSUPPORTED.format("ReplicaUpdates"),
    ),
}

STORED = put(
    s={"S": "x"},
    ns={"NS": ["1"]},
    huge={"N": "9.9E125"},
    digits={"N": "9" * 38},
)


def ask(database: DynamoDB, table: str, request: tuple[str, Json]) -> Answer:
    operation, body = request
    if operation == "CreateTable":
        body = definition(f"{table}-2") | body
    return database.ask(operation, {"TableName": table} | body)


@pytest.fixture
def engine() -> Iterator[Embedded]:
    with open_engine("memory:") as opened:
        embedded = Embedded(opened)
        assert embedded.ask("CreateTable", definition("edges")).error == ""
        assert ask(embedded, "edges", STORED).error == ""
        yield embedded


@pytest.mark.parametrize("name", [*CASES, *OURS])
def test_request_is_rejected_with_the_message_of_the_service(engine: Embedded, name: str) -> None:
    request, message = (CASES | OURS)[name]
    assert ask(engine, "edges", request).error == message


ACCEPTED = {
    "a name of 65535 bytes behind a placeholder": get(
        ProjectionExpression="#a", ExpressionAttributeNames={"#a": "n" * 65_535}
    ),
    "a path of 32 levels": get(ProjectionExpression="a" + ".b" * 31),
    "ConditionalOperator with two conditions": put_with(
        ConditionalOperator="OR", Expected={"x": {"Exists": False}, "y": {"Exists": False}}
    ),
    "a sum of 38 digits": update(UpdateExpression="SET n = digits - :v", ExpressionAttributeValues={":v": {"N": "1"}}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_request_within_the_limits_is_accepted(engine: Embedded, name: str) -> None:
    assert ask(engine, "edges", ACCEPTED[name]).error == ""


@pytest.fixture(scope="module")
def local(dynamodb_local: str) -> Iterator[tuple[Remote, str]]:
    remote, table = Remote(dynamodb_local), f"edges-{uuid.uuid4().hex}"
    assert remote.ask("CreateTable", definition(table)).error == ""
    assert ask(remote, table, STORED).error == ""
    yield remote, table
    remote.ask("DeleteTable", {"TableName": table})
    remote.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_dynamodb_local_has_the_same_message(local: tuple[Remote, str], name: str) -> None:
    request, message = CASES[name]
    assert ask(*local, request).error == message


@pytest.mark.slow
@pytest.mark.parametrize("name", ACCEPTED)
def test_dynamodb_local_accepts_it_too(local: tuple[Remote, str], name: str) -> None:
    ask(*local, STORED)
    assert ask(*local, ACCEPTED[name]).error == ""


# Tags, streams, deletion


def arn(engine: Embedded) -> str:
    found: str = engine.ask("DescribeTable", {"TableName": "edges"}).body["Table"]["TableArn"]
    return found


@pytest.mark.parametrize("text", ["a<b", "k!", "a\tb", "x*", "a,b", "€"])
@pytest.mark.parametrize("member", ["Key", "Value"])
def test_tag_with_other_characters_is_rejected(engine: Embedded, text: str, member: str) -> None:
    tag = {"Key": "k", "Value": "v"} | {member: text}
    answer = engine.ask("TagResource", {"ResourceArn": arn(engine), "Tags": [tag]})
    assert answer.code == "ValidationException"
    created = engine.ask("CreateTable", definition("tagged") | {"Tags": [tag]})
    assert created.code == "ValidationException"


@pytest.mark.parametrize("text", ["a_.:/=+-@ b", "été", "数字 1"])
def test_tag_with_letters_numbers_and_some_symbols_is_accepted(engine: Embedded, text: str) -> None:
    tag = {"Key": text, "Value": text}
    assert engine.ask("TagResource", {"ResourceArn": arn(engine), "Tags": [tag]}).error == ""


@pytest.mark.parametrize("below", ["/index/by_g", "/stream/2026-01-01T00:00:00.000"])
def test_indexes_and_streams_have_no_tags(engine: Embedded, below: str) -> None:
    resource = arn(engine) + below
    for operation, body in (
        ("TagResource", {"Tags": [{"Key": "k", "Value": "v"}]}),
        ("UntagResource", {"TagKeys": ["k"]}),
        ("ListTagsOfResource", {}),
    ):
        answer = engine.ask(operation, {"ResourceArn": resource, **body})
        assert answer.error == (
            f"ValidationException: Invalid TableArn: Invalid ResourceArn provided as input {resource}"
        )


def test_shard_filter_has_a_type_and_finds_no_children(engine: Embedded) -> None:
    stream = engine.ask("DescribeTable", {"TableName": "edges"}).body["Table"]["LatestStreamArn"]
    for without in ({}, {"ShardId": "shardId-00000001234567890123-12345678"}):
        answer = engine.ask("DescribeStream", {"StreamArn": stream, "ShardFilter": without})
        assert answer.code == "ValidationException"
        assert "'shardFilter.type' failed to satisfy constraint" in answer.message
    described = engine.ask("DescribeStream", {"StreamArn": stream, "ShardFilter": {"Type": "CHILD_SHARDS"}})
    assert described.body["StreamDescription"]["Shards"] == []


def test_segments_continue_after_their_own_keys(engine: Embedded) -> None:
    for number in range(40):
        item = {"pk": {"S": f"p{number}"}, "sk": {"S": "x"}}
        assert engine.ask("PutItem", {"TableName": "edges", "Item": item}).error == ""
    found: list[str] = []
    for segment in range(3):
        body: Json = {"TableName": "edges", "Segment": segment, "TotalSegments": 3, "Limit": 4}
        while True:
            page = engine.ask("Scan", body)
            assert page.error == ""
            found += [item["pk"]["S"] for item in page.body["Items"]]
            if "LastEvaluatedKey" not in page.body:
                break
            body["ExclusiveStartKey"] = page.body["LastEvaluatedKey"]
    assert len(found) == len(set(found)) == 41


def test_table_that_is_deleted_is_described_in_few_words(engine: Embedded) -> None:
    described = engine.ask("DeleteTable", {"TableName": "edges"}).body["TableDescription"]
    assert described["TableStatus"] == "DELETING"
    assert described["ItemCount"] == described["TableSizeBytes"] == 0
    left_out = {
        "AttributeDefinitions",
        "KeySchema",
        "CreationDateTime",
        "GlobalSecondaryIndexes",
        "StreamSpecification",
    }
    assert not left_out & described.keys()
