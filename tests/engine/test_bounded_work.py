"""A request of the largest size that a server reads is answered in bounded time, however its members are arranged."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from partita.dynamodb.decode import decode_request
from partita.dynamodb.exceptions import DynamoDBError
from tests.engine.hostile_requests import CREATE, TABLE
from tests.engine.shorthand import Embedded, Json
from tests.timing import shortest

pytestmark = pytest.mark.slow

KEY: Json = {"pk": {"S": "p"}, "sk": {"N": "1"}}
MAX_SECONDS = 2.5  # on a busy machine; each of them took 5 to 110 seconds


def item(value: Json) -> Json:
    return {"TableName": TABLE, "Item": KEY | {"x": value}}


def index(number: int) -> Json:
    return {
        "IndexName": f"by{number}",
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }


def select(number: int) -> Json:
    return {"Statement": f"SELECT * FROM {TABLE} WHERE pk = '{number}'"}


def create(**members: Any) -> tuple[str, Json]:
    return "CreateTable", CREATE | {"TableName": "other"} | members


def scan(conditions: Json) -> tuple[str, Json]:
    return "Scan", {"TableName": TABLE, "ScanFilter": conditions}


def update(text: str, values: Json) -> tuple[str, Json]:
    return "UpdateItem", {
        "TableName": TABLE,
        "Key": KEY,
        "UpdateExpression": text,
        "ExpressionAttributeValues": values,
    }


NULL = {"ComparisonOperator": "NULL"}
ONES = {"L": [{"N": "1"}] * 200_000}
LARGE: dict[str, Callable[[], tuple[str, Json]]] = {
    "numbers in a set": lambda: ("PutItem", item({"NS": [str(number) for number in range(490_000)]})),
    "texts in a set": lambda: ("PutItem", item({"SS": [str(number) for number in range(490_000)]})),
    "members of a set in an expression": lambda: update("SET x = :v", {":v": {"SS": ["a"] * 480_000}}),
    "digits": lambda: ("PutItem", item({"N": "9" * 10_000_000 + "x"})),
    "digits after the point": lambda: ("PutItem", item({"N": "0." + "9" * 10_000_000})),
    "global indexes": lambda: create(GlobalSecondaryIndexes=[*map(index, range(50_000))]),
    "local indexes": lambda: create(LocalSecondaryIndexes=[*map(index, range(50_000))]),
    "statements": lambda: ("BatchExecuteStatement", {"Statements": [*map(select, range(80_000))]}),
    "actions": lambda: (
        "TransactWriteItems",
        {"TransactItems": [{"Put": {"TableName": TABLE, "Item": KEY}}] * 55_000},
    ),
    "conditions": lambda: scan({f"a{number}": NULL for number in range(150_000)}),
    "values of IN": lambda: scan({"a": {"ComparisonOperator": "IN", "AttributeValueList": [{"N": "1"}] * 240_000}}),
    "lists appended to each other": lambda: update(
        "SET " + ",".join(f"x{number} = list_append(:l, :l)" for number in range(150)), {":l": ONES}
    ),
    "lists assigned": lambda: update("SET " + ",".join(f"x{number} = :l" for number in range(300)), {":l": ONES}),
    "sets added": lambda: update(
        "ADD " + ",".join(f"x{number} :s" for number in range(300)), {":s": {"NS": [*map(str, range(100_000))]}}
    ),
    "a list searched by many operands": lambda: (
        "DeleteItem",
        {
            "TableName": TABLE,
            "Key": KEY,
            "ConditionExpression": " OR ".join(["contains(:l, x)"] * 140),
            "ExpressionAttributeValues": {":l": ONES},
        },
    ),
    "binary compared by many operands": lambda: (
        "DeleteItem",
        {
            "TableName": TABLE,
            "Key": KEY,
            "ConditionExpression": " OR ".join(f"x{number} < :b" for number in range(140)),
            "ExpressionAttributeValues": {":b": {"B": "A" * 8_000_000}},
        },
    ),
    "names to get": lambda: (
        "GetItem",
        {"TableName": TABLE, "Key": KEY, "AttributesToGet": [f"a{number}" for number in range(300_000)]},
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_request_is_rejected_in_bounded_time(name: str) -> None:
    engine = Embedded()
    assert engine.ask("CreateTable", CREATE).error == ""
    operation, body = LARGE[name]()
    request: Any = decode_request(operation, json.dumps(body).encode())
    with pytest.raises(DynamoDBError) as caught:
        engine.engine.call(request)
    assert caught.value.status == 400

    def again() -> None:
        with suppress(DynamoDBError):
            engine.engine.call(request)

    assert shortest(again, MAX_SECONDS) < MAX_SECONDS
    engine.engine.close()


@pytest.mark.parametrize(
    "value",
    [{"N": "1." + "0" * 15_000_000}, {"NS": [f"{number}.{'0' * 3_000}" for number in range(5_000)]}],
    ids=["one number", "many numbers"],
)
def test_zeros_of_numbers_are_read_in_bounded_time(value: Json) -> None:
    engine = Embedded()
    assert engine.ask("CreateTable", CREATE).error == ""
    request: Any = decode_request("PutItem", json.dumps(item(value)).encode())
    assert shortest(lambda: engine.engine.call(request), 1.0) < 1.0
    engine.engine.close()


def test_product_of_many_values_of_in_is_bounded() -> None:
    """Eight key attributes with fifty values each would be 39 trillion ranges."""
    names = [f"{kind}{number}" for kind in "hr" for number in range(4)]
    schema = [{"AttributeName": name, "KeyType": "HASH" if name < "r" else "RANGE"} for name in names]
    wide = {"IndexName": "wide", "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
    definitions = [{"AttributeName": name, "AttributeType": "N"} for name in names]
    engine = Embedded()
    table = CREATE | {
        "AttributeDefinitions": [*CREATE["AttributeDefinitions"], *definitions],
        "GlobalSecondaryIndexes": [*CREATE["GlobalSecondaryIndexes"], wide],
    }
    assert engine.ask("CreateTable", table).error == ""
    numbers = {name: {"N": "7"} for name in names}
    assert engine.ask("PutItem", {"TableName": TABLE, "Item": KEY | numbers}).error == ""
    values = ",".join(map(str, range(50)))
    where = " AND ".join(f"{name} IN [{values}]" for name in names)
    statement = {"Statement": f'SELECT * FROM {TABLE}."wide" WHERE {where}'}
    answer = engine.ask("ExecuteStatement", statement)
    assert shortest(lambda: engine.ask("ExecuteStatement", statement), MAX_SECONDS) < MAX_SECONDS
    assert answer.error == ""
    assert len(answer.body["Items"]) == 1
    engine.engine.close()


def test_page_of_a_filter_with_many_operands_ends_early() -> None:
    """All items are found, in more pages: 30,000 small items and 600 operands would be one page of 18 million steps."""
    engine = Embedded()
    assert engine.ask("CreateTable", CREATE).error == ""
    for start in range(0, 5000, 25):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": "p"}, "sk": {"N": str(number)}}}}
            for number in range(start, start + 25)
        ]
        assert engine.ask("BatchWriteItem", {"RequestItems": {TABLE: puts}}).error == ""
    names = [f":{number:x}" for number in range(100)]
    condition = " OR ".join(f"sk IN ({','.join(names)})" for _ in range(6))
    body: Json = {
        "TableName": TABLE,
        "FilterExpression": condition,
        "ExpressionAttributeValues": {name: {"N": str(number * 50)} for number, name in enumerate(names)},
    }
    found, pages = 0, 0
    while True:
        page = engine.ask("Scan", body)
        assert page.error == ""
        found, pages = found + page.body["Count"], pages + 1
        assert page.body["ScannedCount"] <= 1_000_000 // 600
        if "LastEvaluatedKey" not in page.body:
            break
        body["ExclusiveStartKey"] = page.body["LastEvaluatedKey"]
    assert found == 100
    assert pages > 2
    engine.engine.close()


MANY = ",".join(f"x{number:x}" for number in range(600))
PAGES: dict[str, tuple[str, Json]] = {
    "a large value that is searched": (
        "Scan",
        {
            "TableName": TABLE,
            "FilterExpression": "attribute_exists(pk) OR contains(:l, sk)",
            "ExpressionAttributeValues": {":l": {"L": [{"N": "7"}] * 10_000}},
        },
    ),
    "a projection": ("Scan", {"TableName": TABLE, "ProjectionExpression": f"pk,{MANY}"}),
    "attributes to get": (
        "Scan",
        {"TableName": TABLE, "AttributesToGet": ["pk", *[f"x{number}" for number in range(254)]]},
    ),
    "columns of a statement": ("ExecuteStatement", {"Statement": f'SELECT "pk",{MANY} FROM {TABLE}'}),
}


@pytest.fixture(scope="module")
def small_items() -> Iterator[Embedded]:
    engine = Embedded()
    assert engine.ask("CreateTable", CREATE).error == ""
    for start in range(0, 2500, 25):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": "p"}, "sk": {"N": str(number)}}}}
            for number in range(start, start + 25)
        ]
        assert engine.ask("BatchWriteItem", {"RequestItems": {TABLE: puts}}).error == ""
    yield engine
    engine.engine.close()


@pytest.mark.parametrize("name", PAGES)
def test_page_that_takes_much_for_each_item_ends_early(small_items: Embedded, name: str) -> None:
    """Each would be one page otherwise, of up to 30,000 items on a table like this."""
    operation, body = PAGES[name]
    position = "NextToken" if operation == "ExecuteStatement" else "LastEvaluatedKey"
    resumed = "NextToken" if operation == "ExecuteStatement" else "ExclusiveStartKey"
    found, pages = 0, 0
    start: Json = {}
    while True:
        page = small_items.ask(operation, body | start)
        assert page.error == ""
        found, pages = found + len(page.body["Items"]), pages + 1
        if position not in page.body:
            break
        start = {resumed: page.body[position]}
    assert found == 2500
    assert pages > 1
