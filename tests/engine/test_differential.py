"""The same random requests to the engine and to DynamoDB Local, with equal answers.

Where the two may differ, DynamoDB Local is the one that differs from the service; `DIFFERENCES` names each such place
with its source. PARTITA_DIFFERENTIAL=1000 asks a thousand seeds of a hundred requests instead of the default few.
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
from tests.engine.talk import Answer, Embedded, Json, Remote

SEEDS = int(os.environ.get("PARTITA_DIFFERENTIAL", "12"))
REQUESTS = 60
ENVELOPE = "1 validation error detected: "


@dataclass(frozen=True)
class Difference:
    """A known one; `explains` is asked only about requests that both refuse."""

    source: str
    explains: Callable[[Answer, Answer], bool]


def _either(*parts: str) -> Callable[[Answer, Answer], bool]:
    return lambda ours, theirs: any(part in ours.message or part in theirs.message for part in parts)


# Both refuse, with other words. Faults of two kinds in one request are told in an order that nobody documents.
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
    Difference("two faults: a path inside a key, and a condition that fails", _either("Key attributes must be scalars")),
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
    """PutItem and UpdateItem got the envelope in 2026; DynamoDB Local 3.3.1 does not know it yet."""
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
    if _takes_several_of_one_list(request):
        # The service returns the elements, DynamoDB Local the list (scylladb/scylladb, test_returnvalues.py).
        body.pop("Attributes", None)
    if operation == "Query" and "Limit" in request:
        # At the inclusive end of a range DynamoDB Local looks ahead. Both are right: "the absence of LastEvaluatedKey
        # is the only way to know" (Developer Guide, "Paginating table query results").
        body.pop("LastEvaluatedKey", None)
    index = request.get("IndexName")
    if index and "Limit" in request:  # which of several items with one sort key come first is nobody's promise
        for member in ("Items", "LastEvaluatedKey", "Count", "ConsumedCapacity"):
            body.pop(member, None)
    for items in _unordered(operation, index, body):
        items.sort(key=lambda item: json.dumps(item, sort_keys=True))
    return body


def _takes_several_of_one_list(request: Json) -> bool:
    lists = re.findall(r"([\w.#]+)\[\d+\](?= =|,|$| )", request.get("UpdateExpression", ""))
    return request.get("ReturnValues", "").startswith("UPDATED") and len(lists) > 1


def _unordered(operation: str, index: str | None, body: Json) -> Iterator[list[Any]]:
    if operation == "BatchGetItem":
        yield from body.get("Responses", {}).values()
    elif "Items" in body and (operation == "Scan" or index):
        yield body["Items"]


def _capacity_is_comparable(operation: str, request: Json, body: Json) -> bool:
    if "ReturnConsumedCapacity" not in request:
        return False  # DynamoDB Local's DeleteItem reports it unasked
    if operation.startswith(("Transact", "Batch")):
        # awslabs/amazon-dynamodb-local-samples#31 and #7: transactions are billed once, missing items not at all.
        return False
    if operation in ("Query", "Scan"):
        # Developer Guide, "Capacity unit consumption for read operations": what finds nothing costs as the smallest
        # read; "Read considerations for global secondary indexes": index entries are measured, not items.
        return bool(body.get("ScannedCount")) and not (operation == "Scan" and "IndexName" in request)
    return True


def _canonical(value: Any) -> Any:
    """Sets in order, numbers in one form: DynamoDB Local returns nested numbers as they were written."""
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
