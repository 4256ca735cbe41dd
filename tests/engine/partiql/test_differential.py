"""Random statements to the engine and to DynamoDB Local have the same items or the same errors."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.partiql.conftest import INDEX, table
from tests.engine.partiql.grammar import statement
from tests.engine.shorthand import Answer, DynamoDB, Embedded, Remote

pytestmark = pytest.mark.slow

STATEMENTS = 400
CODES = {"DuplicateItem": "DuplicateItemException"}  # DynamoDB Local's own name for it


@pytest.fixture(params=range(4))
def seed(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def both(dynamodb_local: str, seed: int) -> Iterator[tuple[str, DynamoDB, DynamoDB]]:
    """The name of a table, the engine and DynamoDB Local, which both have the table."""
    name = f"partiql-{seed}"
    ours, theirs = Embedded(), Remote(dynamodb_local)
    wanted = table(name, {"pk": "S", "sk": "N", "g": "S"}, GlobalSecondaryIndexes=[INDEX])
    for talk in (ours, theirs):
        assert talk.ask("CreateTable", wanted).error == ""
    yield name, ours, theirs
    theirs.ask("DeleteTable", {"TableName": name})
    theirs.close()
    ours.engine.close()


def comparable(answer: Answer) -> Any:
    """The part of an answer that both must agree on: the items, or the kind of error."""
    return CODES.get(answer.code, answer.code) if answer.code else answer.body["Items"]


def test_statements_have_the_answers_of_dynamodb_local(both: tuple[str, DynamoDB, DynamoDB], seed: int) -> None:
    name, ours, theirs = both
    source = random.Random(seed)
    for _ in range(STATEMENTS):
        body = {"Statement": statement(source, name)}
        expected = comparable(theirs.ask("ExecuteStatement", body))
        if expected == "InternalFailure":  # a bug in DynamoDB Local
            continue
        assert comparable(ours.ask("ExecuteStatement", body)) == expected, body["Statement"]
