"""Typed requests with any values in their members raise DynamoDB errors, and store nothing invalid."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.operations import OPERATIONS
from tests.engine.tables import Bench, index, problems_of

pytestmark = pytest.mark.slow

ODD: list[Any] = [
    0,
    -1,
    1.5,
    True,
    "",
    "text",
    "\ud800",
    b"bytes",
    [],
    [None],
    [1],
    ["a"],
    [[]],
    {},
    {"S": 1},
    {"pk": None},
    {"pk": "a"},
    {"pk": {}},
    {"pk": {"S": None}},
    {"pk": {"S": 1}},
    {"pk": {"N": 1}},
    {"pk": {"B": b"x"}},
    {"pk": {"S": "\ud800"}},
    {"pk": ["S", "a"]},
    {"pk": {"SS": "ab"}},
    {"pk": {"L": {"S": "a"}}},
    {"pk": {"M": []}},
    {"pk": {"S": "a"}, "x": {"L": [None]}},
    {"pk": {"S": "a"}, "x": {"L": ["a"]}},
    {"pk": {"S": "a"}, "x": None},
    {"pk": {"S": "a"}, "x": {"M": {"y": 1}}},
    {"pk": {"S": "a"}, "x": {"SS": [1]}},
    {"pk": {"S": "a"}, 5: {"S": "a"}},
    {"pk": {"S": "a"}, "x": {1: "a"}},
    {"pk": {"S": "a"}, "\ud800": {"S": "a"}},
    {"pk": {"S": "a"}, "x": {"N": "\ud800"}},
    {"notes": None},
    {"notes": []},
    {"notes": [None]},
    {"notes": [1]},
    {"notes": {}},
    {"notes": 5},
    {1: []},
    object(),
    ({"S": "a"},),
    {"a"},
    10**30,
    float("nan"),
    {"#n": 1},
    {":v": 1},
    {":v": {"S": 1}},
    {":v": None},
    {"#n": "\ud800"},
]


@pytest.fixture
def notes(anywhere: Bench) -> Iterator[Bench]:
    anywhere.table("notes", "pk:S", index("byGroup", "g:N"))
    anywhere.put("notes", pk="a", g=1)
    yield anywhere
    assert problems_of(anywhere.engine) == []


PLAUSIBLE: dict[str, Any] = {"table_name": "notes", "key": {"pk": {"S": "a"}}, "item": {"pk": {"S": "a"}}}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_member_of_any_type_is_answered(notes: Bench, operation: str) -> None:
    request_type = OPERATIONS[operation].request
    fields = [field.name for field in msgspec.structs.fields(request_type)]
    body = {name: value for name, value in PLAUSIBLE.items() if name in fields}
    tracebacks: list[str] = []
    for field in fields:
        for value in ODD:
            request = request_type(**body | {field: value})
            try:
                notes.engine.call(request)
            except DynamoDBError:
                pass
            except Exception as error:  # noqa: BLE001 - the test is about such errors
                tracebacks.append(f"{field}={value!r}: {error!r}")
    assert tracebacks == []


@pytest.mark.parametrize("value", ODD)
def test_expression_values_of_any_type_are_answered(notes: Bench, value: Any) -> None:
    """The expression uses these placeholders."""
    update = OPERATIONS["UpdateItem"].request(
        table_name="notes",
        key={"pk": {"S": "a"}},
        update_expression="SET #n = :v",
        expression_attribute_names={"#n": value},
        expression_attribute_values={":v": value},
    )
    with pytest.raises(DynamoDBError):
        notes.engine.call(update)


@pytest.mark.parametrize("action", ["put", "delete", "update", "condition_check", "get"])
@pytest.mark.parametrize("value", ODD)
def test_action_of_any_type_is_answered(notes: Bench, action: str, value: Any) -> None:
    from partita.dynamodb import requests as q

    made: Any = q.TransactGetItem(get=value) if action == "get" else q.TransactWriteItem(**{action: value})
    request: Any = q.TransactGetItems if action == "get" else q.TransactWriteItems
    with pytest.raises(DynamoDBError):
        notes.engine.call(request(transact_items=[made]))
