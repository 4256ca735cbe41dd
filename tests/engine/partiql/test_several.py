"""Several statements: a batch answers each separately, a transaction runs all or none."""

from typing import Any

import pytest

from tests.engine.partiql.conftest import Run
from tests.engine.shorthand import Answer, Embedded

A = "SELECT * FROM hash WHERE pk = 'a'"
ITEM = {"pk": {"S": "a"}, "v": {"N": "1"}}


def batch(talk: Embedded, *statements: str | dict[str, Any], **members: Any) -> Answer:
    asked = [{"Statement": each} if isinstance(each, str) else each for each in statements]
    return talk.ask("BatchExecuteStatement", {"Statements": asked, **members})


def transaction(talk: Embedded, *statements: str | dict[str, Any], **members: Any) -> Answer:
    asked = [{"Statement": each} if isinstance(each, str) else each for each in statements]
    return talk.ask("ExecuteTransaction", {"TransactStatements": asked, **members})


def codes(answer: Answer) -> list[str | None]:
    return [each.get("Error", {}).get("Code") for each in answer.body["Responses"]]


def test_batch_reads_single_items(run: Run, talk: Embedded) -> None:
    found = batch(talk, A, "SELECT v FROM hash WHERE pk = 'none'", "SELECT n FROM comp WHERE pk = 'p' AND sk = 1")
    assert found.body["Responses"] == [
        {"TableName": "hash", "Item": ITEM},
        {"TableName": "hash"},
        {"TableName": "comp", "Item": {"n": {"N": "1"}}},
    ]


def test_batch_answers_each_statement_separately(run: Run, talk: Embedded) -> None:
    found = batch(talk, A, "SELECT * FROM comp WHERE pk = 'p'", "SELECT * FROM nope WHERE pk = 'a'", "SELEC")
    assert codes(found) == [None, "ValidationError", "ResourceNotFound", "ValidationError"]
    found = batch(
        talk,
        "INSERT INTO hash VALUE {'pk': 'a'}",
        "INSERT INTO hash VALUE {'pk': 'b'}",
        "UPDATE hash SET v = 3 WHERE pk = 'none'",
        "DELETE FROM hash WHERE pk = 'never'",
        "INSERT INTO hash VALUE {'pk': 1}",
        "UPDATE comp SET n = 9 WHERE pk = 'p' AND sk = 1 RETURNING MODIFIED NEW *",
    )
    assert codes(found) == ["DuplicateItem", None, "ConditionalCheckFailed", None, "ValidationError", None]
    assert found.body["Responses"][5]["Item"] == {"n": {"N": "9"}}
    assert run("SELECT * FROM hash WHERE pk = 'b'").body["Items"] == [{"pk": {"S": "b"}}]


def test_batch_returns_the_item_of_a_failed_condition(run: Run, talk: Embedded) -> None:
    asked = {"Statement": "UPDATE hash SET v = 2 WHERE pk = 'a' AND v = 7"}
    found = batch(talk, asked | {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
    assert found.body["Responses"][0]["Error"]["Item"] == ITEM


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (
            [A, "DELETE FROM hash WHERE pk = 'b'"],
            "Read and write requests together in the same batch is not supported.",
        ),
        ([A, A], "Provided list of item keys contains duplicates"),
        ([], "length greater than or equal to 1"),
        ([A] * 26, "length less than or equal to 25"),
    ],
)
def test_invalid_batch_is_rejected(run: Run, talk: Embedded, statements: list[str], words: str) -> None:
    answer = batch(talk, *statements)
    assert answer.code == "ValidationException"
    assert words in answer.message


def test_batch_reports_consumed_capacity_by_table(run: Run, talk: Embedded) -> None:
    found = batch(talk, A, "SELECT * FROM comp WHERE pk = 'p' AND sk = 1", ReturnConsumedCapacity="TOTAL")
    used = {each["TableName"]: each["CapacityUnits"] for each in found.body["ConsumedCapacity"]}
    assert used == {"hash": 0.5, "comp": 0.5}


def test_transaction_reads_items_from_one_snapshot(run: Run, talk: Embedded) -> None:
    found = transaction(talk, A, "SELECT * FROM hash WHERE pk = 'none'")
    assert found.body == {"Responses": [{"Item": ITEM}, {}]}


def test_transaction_writes_all_or_nothing(run: Run, talk: Embedded) -> None:
    done = transaction(
        talk,
        "INSERT INTO hash VALUE {'pk': 'b'}",
        "UPDATE hash SET v = 2 WHERE pk = 'a'",
        "DELETE FROM hash WHERE pk = 'x'",
    )
    assert done.body == {"Responses": []}
    failed = transaction(talk, "DELETE FROM hash WHERE pk = 'a'", "INSERT INTO hash VALUE {'pk': 'b'}")
    assert failed.code == "TransactionCanceledException"
    assert [each["Code"] for each in failed.body["CancellationReasons"]] == ["None", "DuplicateItem"]
    assert run(A).body["Items"] == [ITEM | {"v": {"N": "2"}}]


def test_exists_checks_a_condition(run: Run, talk: Embedded) -> None:
    insert = "INSERT INTO hash VALUE {'pk': 'b'}"
    failed = transaction(talk, "EXISTS(SELECT * FROM hash WHERE pk = 'a' AND v = 9)", insert)
    assert [each["Code"] for each in failed.body["CancellationReasons"]] == ["ConditionalCheckFailed", "None"]
    absent = transaction(talk, "EXISTS(SELECT * FROM hash WHERE pk = 'none' AND v IS MISSING)", insert)
    assert absent.code == "TransactionCanceledException"
    assert transaction(talk, "EXISTS(SELECT * FROM hash WHERE pk = 'a' AND v = 1)", insert).error == ""


def test_repeated_token_runs_the_transaction_once(run: Run, talk: Embedded) -> None:
    insert = "INSERT INTO hash VALUE {'pk': 'b'}"
    for _ in range(2):
        assert transaction(talk, insert, ClientRequestToken="token").error == ""
    other = transaction(talk, "INSERT INTO hash VALUE {'pk': 'c'}", ClientRequestToken="token")
    assert other.code == "IdempotentParameterMismatchException"


_FAULTS: list[tuple[list[str], str]] = [
    ([A, "DELETE FROM hash WHERE pk = 'b'"], "does not support both read and write operations in the same request."),
    ([A, A], "Transaction request cannot include multiple operations on one item"),
    (
        ["SELECT * FROM comp WHERE pk = 'p'"],
        (
            "Validation failed in TransactStatements[0]: Select statements within ExecuteTransaction must specify the "
            "primary key in the where clause."
        ),
    ),
    (["UPDATE hash SET v = 1 WHERE pk = 'a' RETURNING ALL NEW *"], "RETURNING clause is not supported"),
    (
        ["EXISTS(SELECT * FROM hash WHERE pk = 'a')", "DELETE FROM hash WHERE pk = 'b'"],
        "EXISTS() must contain a single item read with additional condition",
    ),
    ([], "length greater than or equal to 1"),
]


@pytest.mark.parametrize(("statements", "words"), _FAULTS)
def test_invalid_transaction_is_rejected(run: Run, talk: Embedded, statements: list[str], words: str) -> None:
    answer = transaction(talk, *statements)
    assert answer.code == "ValidationException"
    assert words in answer.message


def test_statement_invalid_for_its_table_cancels_the_transaction(run: Run, talk: Embedded) -> None:
    answer = transaction(talk, "INSERT INTO hash VALUE {'pk': 1}", "DELETE FROM hash WHERE pk = 'a'")
    assert [each["Code"] for each in answer.body["CancellationReasons"]] == ["ValidationError", "None"]
