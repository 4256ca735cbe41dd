"""Two tables with a few items, and a function that runs statements on them."""

from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from tests.engine.shorthand import Answer, Embedded, open_engine


class Run(Protocol):
    """`run(statement, *parameters, **members)`: the answer of ExecuteStatement."""

    def __call__(self, statement: str, *parameters: dict[str, Any], **members: Any) -> Answer: ...


def table(name: str, keys: dict[str, str], **members: Any) -> dict[str, Any]:
    """`table("t", {"pk": "S"})`; the second key is the sort key, further ones belong to indexes."""
    schema = [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)]
    return {
        "TableName": name,
        "KeySchema": schema,
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind} for key, kind in keys.items()],
        "BillingMode": "PAY_PER_REQUEST",
        **members,
    }


INDEX = {
    "IndexName": "by_group",
    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}


@pytest.fixture
def talk() -> Iterator[Embedded]:
    with open_engine("memory:") as engine:
        asked = Embedded(engine)
        asked.ask("CreateTable", table("hash", {"pk": "S"}))
        asked.ask("CreateTable", table("comp", {"pk": "S", "sk": "N", "g": "S"}, GlobalSecondaryIndexes=[INDEX]))
        yield asked


@pytest.fixture
def run(talk: Embedded) -> Run:
    def execute(statement: str, *parameters: dict[str, Any], **members: Any) -> Answer:
        given = {"Parameters": list(parameters)} if parameters else {}
        return talk.ask("ExecuteStatement", {"Statement": statement, **given, **members})

    for number in range(5):
        inserted = execute(
            f"INSERT INTO comp VALUE {{'pk': 'p', 'sk': {number}, 'g': 'x', 'n': {number}, "
            f"'m': {{'a': [1, 2, {number}], 'b': 't'}}, 's': <<'q', 'w'>>, 'yes': true, 'z': null}}"
        )
        assert inserted.body == {"Items": []}
    execute("INSERT INTO comp VALUE {'pk': 'other', 'sk': 7, 'n': 2}")
    execute("INSERT INTO hash VALUE {'pk': 'a', 'v': 1}")
    return execute
