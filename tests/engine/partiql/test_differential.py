"""Statements made at random, asked of the engine and of DynamoDB Local: the same items, the same refusals."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.partiql.conftest import INDEX, table
from tests.engine.partiql.grammar import statement
from tests.engine.shorthand import Answer, Embedded, Remote, Talk

pytestmark = pytest.mark.slow

STATEMENTS = 400
CODES = {"DuplicateItem": "DuplicateItemException"}  # DynamoDB Local's own name for it


@pytest.fixture(params=range(4))
def seed(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def both(dynamodb_local: str, seed: int) -> Iterator[tuple[str, Talk, Talk]]:
    """A table's name, the engine and DynamoDB Local; both have the table."""
    name = f"partiql-{seed}"
    ours, theirs = Embedded(), Remote(dynamodb_local)
    wanted = table(name, {"pk": "S", "sk": "N", "g": "S"}, GlobalSecondaryIndexes=[INDEX])
    for talk in (ours, theirs):
        assert talk.ask("CreateTable", wanted).error == ""
    yield name, ours, theirs
    theirs.ask("DeleteTable", {"TableName": name})
    theirs.close()
    ours.engine.close()


def told(answer: Answer) -> Any:
    """What both have to agree on: the items, or the kind of refusal."""
    return CODES.get(answer.code, answer.code) if answer.code else answer.body["Items"]


def test_statements_are_answered_as_dynamodb_local_answers_them(both: tuple[str, Talk, Talk], seed: int) -> None:
    name, ours, theirs = both
    source = random.Random(seed)
    for _ in range(STATEMENTS):
        body = {"Statement": statement(source, name)}
        expected = told(theirs.ask("ExecuteStatement", body))
        if expected == "InternalFailure":  # a fault of theirs
            continue
        assert told(ours.ask("ExecuteStatement", body)) == expected, body["Statement"]
