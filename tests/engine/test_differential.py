"""The same random requests to the engine and to DynamoDB Local have equal answers.

Where the two may differ, DynamoDB Local differs from the service; `DIFFERENCES` lists each such case with its source.
PARTITA_DIFFERENTIAL=1000 sends a thousand seeds of a hundred requests instead of the default few.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from tests.engine.generate import Generator, table
from tests.engine.shorthand import Answer, Embedded, Json, Remote

pytestmark = pytest.mark.slow

SEEDS = int(os.environ.get("PARTITA_DIFFERENTIAL", "12"))
REQUESTS = 60
ENVELOPE = "1 validation error detected: "


@dataclass(frozen=True)
class Difference:
    """A known difference; `explains` is called only for requests that both reject."""

    source: str
    explains: Callable[[Answer, Answer], bool]


def _either(*parts: str) -> Callable[[Answer, Answer], bool]:
    return lambda ours, theirs: any(part in ours.message or part in theirs.message for part in parts)


# Both reject, with other messages. The order of errors of different kinds in one request is not documented.
DIFFERENCES = [
    Difference(
        "API reference, TransactWriteItems: these faults of an update are reasons of a cancelled transaction",
        lambda ours, theirs: ours.code == "TransactionCanceledException" and "ValidationError" in ours.message,
    ),
    Difference(
        "API reference, TransactWriteItems: no two actions can target the same item; DynamoDB Local sees it last",
        _either("cannot include multiple operations on one item"),
    ),
    Difference(
        "DynamoDB Local names the last path of the expression, not the one that overlaps, and conflicts come later",
        _either("Two document paths"),
    ),
    Difference(
        "two faults: a missing operand, and a path that cannot be updated or a condition that fails",
        _either("document path provided", "refers to an attribute", "incorrect data type"),
    ),
    Difference(
        "API reference, BatchWriteItem and BatchGetItem: several faults, one of them a key given twice",
        _either("contains duplicates"),
    ),
    Difference("DynamoDB Local leaves out the index and the types", _either("Type mismatch for Index Key")),
    Difference("DynamoDB Local lists what is not projected in no order", _either("does not project")),
    Difference("two operands of a wrong type, of which either may be named", _either("Incorrect operand type")),
    Difference("two faults: a path in a key, and a condition that fails", _either("Key attributes must be scalars")),
    Difference("API reference, TransactWriteItems: 'Number overflow', and the words of PutItem", _either("38 digits")),
]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_answers_equal_those_of_dynamodb_local(seed: int, dynamodb_local: str) -> None:
    name = f"differential-{seed}"
    ours, theirs = Embedded(), Remote(dynamodb_local)
    for each in (ours, theirs):
        assert not each.ask("CreateTable", table(name)).error
    generator = Generator(seed, name)
    try:
        for number in range(REQUESTS):
            operation, body = generator.request()
            mine, other = ours.ask(operation, body), theirs.ask(operation, body)
            if mine.code and other.code and any(each.explains(mine, other) for each in DIFFERENCES):
                continue
            where = f"request {number}: {operation} {json.dumps(body)}"
            assert _error(mine) == _error(other), where
            assert _comparable(operation, body, mine) == _comparable(operation, body, other), where
    finally:
        theirs.ask("DeleteTable", {"TableName": name})
        theirs.close()


def _error(answer: Answer) -> str:
    """PutItem and UpdateItem got the envelope in 2026; DynamoDB Local 3.3.1 does not have it yet."""
    return answer.error.replace(ENVELOPE, "")


def _comparable(operation: str, request: Json, answer: Answer) -> Json:
    body: Json = _canonical(answer.body)
    if not _capacity_is_comparable(operation, request, body):
        body.pop("ConsumedCapacity", None)
    for reason in body.get("CancellationReasons", []):
        reason["Message"] = reason.get("Message", "").rstrip(".")  # a ConditionCheck of DynamoDB Local ends in a stop
    if operation == "TransactGetItems":
        # A projection that matches nothing: the service omits Item here (nubo-db/dynoxide#39, ExtendDB/extenddb#74).
        body["Responses"] = [each for each in body.get("Responses", []) if each != {"Item": {}} and each]
    if _returns_list_elements(request):
        # The service returns the elements at their indexes, DynamoDB Local the list when there are several or when
        # elements have moved (scylladb/scylladb, test/alternator/test_returnvalues.py, run on the service).
        body.pop("Attributes", None)
    if operation == "Query" and "Limit" in request:
        # At the inclusive end of a range DynamoDB Local looks ahead. Both are right: "the absence of LastEvaluatedKey
        # is the only way to know" (Developer Guide, "Paginating table query results").
        body.pop("LastEvaluatedKey", None)
    index = request.get("IndexName")
    if operation == "Scan" and index == "part" and "FilterExpression" in request:
        # A global index cannot fetch (Developer Guide, "Attribute projections"); DynamoDB Local's filter can.
        body.pop("Count", None)
        body.pop("Items", None)
    if index and "Limit" in request:  # the order of items with one sort key is not defined
        for member in ("Items", "LastEvaluatedKey", "Count", "ConsumedCapacity"):
            body.pop(member, None)
    for items in _unordered(operation, index, body):
        items.sort(key=lambda item: json.dumps(item, sort_keys=True))
    return body


def _returns_list_elements(request: Json) -> bool:
    update: str = request.get("UpdateExpression", "")
    elements = re.findall(r"[\w.#]+\[\d+\](?= =|,|$| )", update)
    return request.get("ReturnValues", "").startswith("UPDATED") and (len(elements) > 1 or "REMOVE" in update)


def _unordered(operation: str, index: str | None, body: Json) -> Iterator[list[Any]]:
    if operation == "BatchGetItem":
        yield from body.get("Responses", {}).values()
    elif "Items" in body and (operation == "Scan" or index):
        yield body["Items"]


def _capacity_is_comparable(operation: str, request: Json, body: Json) -> bool:
    if "ReturnConsumedCapacity" not in request:
        return False  # DynamoDB Local's DeleteItem always reports it
    if operation.startswith(("Transact", "Batch")):
        # awslabs/amazon-dynamodb-local-samples#31 and #7: transactions are billed once, missing items not at all.
        return False
    if operation in ("Query", "Scan"):
        # Developer Guide, "Capacity unit consumption for read operations": what finds nothing costs as the smallest
        # read; "Read considerations for global secondary indexes": index entries are measured, not items.
        return bool(body.get("ScannedCount")) and not (operation == "Scan" and "IndexName" in request)
    return True


def _canonical(value: Any) -> Any:
    """Sets in order, numbers in one notation: DynamoDB Local returns nested numbers as they were written."""
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"N"}:
        return {"N": _number(value["N"])}
    if set(value) == {"NS"}:
        return {"NS": sorted(map(_number, value["NS"]))}
    if set(value) in ({"SS"}, {"BS"}):
        return {kind: sorted(members) for kind, members in value.items()}
    return {name: _canonical(each) for name, each in value.items()}


def _number(text: str) -> str:
    return str(Decimal(text).normalize()) if Decimal(text) else "0"


# Scripted questions --------------------------------------------------------------------------------------------

PLAIN = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
KB = 1024


@pytest.fixture
def pair(dynamodb_local: str, request: pytest.FixtureRequest) -> Iterator[Callable[[str, Json], Json]]:
    """`ask(operation, body)`: the answer of both, which must be equal."""
    name = re.sub(r"\W", "-", request.node.name)[:200]
    ours, theirs = Embedded(), Remote(dynamodb_local)

    def ask(operation: str, body: Json) -> Json:
        body = {"TableName": name, **body}
        mine, other = ours.ask(operation, body), theirs.ask(operation, body)
        assert mine.error == other.error, body
        if "Limit" not in body and "LastEvaluatedKey" not in other.body:
            mine.body.pop("LastEvaluatedKey", None)  # the page was full, and nothing follows
        assert _comparable(operation, body, mine) == _comparable(operation, body, other)
        return mine.body

    assert not ours.ask("CreateTable", PLAIN | {"TableName": name}).error
    assert not theirs.ask("CreateTable", PLAIN | {"TableName": name}).error
    yield ask
    theirs.ask("DeleteTable", {"TableName": name})
    theirs.close()


def _fill(ask: Callable[[str, Json], Json], sizes: list[int]) -> None:
    """Puts items of exactly these sizes: seven bytes are for names and key values."""
    for number, size in enumerate(sizes, 1):
        item = {"pk": {"S": "a"}, "sk": {"N": str(number)}, "p": {"S": ""}}
        ask("PutItem", {"Item": item | {"p": {"S": "x" * (size - 8)}}, "ReturnConsumedCapacity": "TOTAL"})


@pytest.mark.parametrize(
    "sizes",
    [
        [256 * KB] * 5,
        [256 * KB] * 3 + [256 * KB - 1] + [1000],
        [256 * KB] * 3 + [256 * KB + 1] + [1000],
        [400 * KB] * 4,
        [300 * KB, 300 * KB, 300 * KB, 200 * KB, 10],
    ],
)
def test_page_ends_at_a_megabyte_as_in_dynamodb_local(sizes: list[int], pair: Callable[[str, Json], Json]) -> None:
    _fill(pair, sizes)
    query = {
        "KeyConditionExpression": "pk = :a",
        "ExpressionAttributeValues": {":a": {"S": "a"}},
        "ReturnConsumedCapacity": "TOTAL",
    }
    pair("Query", query)
    pair("Query", query | {"ScanIndexForward": False})
    pair("Scan", {"ReturnConsumedCapacity": "TOTAL"})


@pytest.mark.parametrize("limit", [2, 3, 4])
def test_limit_around_the_number_of_items_gives_the_same_last_key(
    limit: int, pair: Callable[[str, Json], Json]
) -> None:
    _fill(pair, [100] * 3)
    query = {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}, "Limit": limit}
    for direction in (True, False):
        answer = pair("Query", query | {"ScanIndexForward": direction})
        assert ("LastEvaluatedKey" in answer) is (limit <= 3)
    assert ("LastEvaluatedKey" in pair("Scan", {"Limit": limit})) is (limit <= 3)


@pytest.mark.parametrize(
    "value",
    [
        {"N": "0"},
        {"N": "1"},
        {"N": "100"},
        {"N": "-100"},
        {"N": "12345"},
        {"N": "12000"},
        {"N": "0.12"},
        {"N": "0.00012"},
        {"N": "0.0012"},
        {"N": "1.2"},
        {"N": "-123.456"},
        {"N": "12345678901234567890123456789012345678"},
        {"L": [{"N": "1"}, {"S": "ab"}, {"L": []}]},
        {"M": {"a": {"N": "1"}, "bc": {"M": {}}}},
        {"BOOL": True},
        {"NULL": True},
        {"SS": ["é", "b"]},
        {"NS": ["1", "2.5", "-3"]},
        {"BS": ["AAAA", "AA=="]},
        {"B": "AAAA"},
    ],
)
def test_size_of_a_value_is_that_of_dynamodb_local(value: Json, pair: Callable[[str, Json], Json]) -> None:
    """The padding grows until the item costs one more unit: both must change at the same byte."""
    edges = []
    for pad in range(940, 1024):
        item = {"pk": {"S": "a"}, "sk": {"N": "1"}, "v": value, "p": {"S": "x" * pad}}
        units = pair("PutItem", {"Item": item, "ReturnConsumedCapacity": "TOTAL"})["ConsumedCapacity"]["CapacityUnits"]
        edges.append(units)
    assert edges[0] == 1.0
    assert edges[-1] == 2.0
