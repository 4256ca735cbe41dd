"""The list of operations: each is a read or a write, and PartiQL is what its statements are."""

from collections.abc import Iterator

import pytest

from partita.dynamodb.operations import ITEM_WRITES, OPERATIONS, READS, STATEMENTS, WRITES, is_read
from partita.dynamodb.requests import GetItem, PutItem, Request
from partita.dynamodb.statement_shapes import (
    BatchExecuteStatement,
    ExecuteStatement,
    ExecuteTransaction,
    StatementRequest,
)
from tests.timing import shortest

SELECT = "SELECT * FROM notes"
DELETE = "DELETE FROM notes WHERE pk = 'a'"


def request_classes(base: type) -> Iterator[type]:
    each: type
    for each in base.__subclasses__():
        if "[" not in each.__name__:
            yield each
        yield from request_classes(each)


def test_every_request_is_a_read_or_a_write_and_not_both() -> None:
    assert set(request_classes(Request)) == READS | WRITES
    assert not READS & WRITES
    assert STATEMENTS <= ITEM_WRITES <= WRITES
    assert {operation.request for operation in OPERATIONS.values() if operation.writes} == WRITES


def test_request_reads_when_its_operation_does() -> None:
    assert is_read(GetItem())
    assert not is_read(PutItem())


@pytest.mark.parametrize(
    ("statement", "reads"),
    [
        (SELECT, True),
        (f"  \n{SELECT.lower()}", True),
        (f"-- a comment\n/* and\nanother */ {SELECT}", True),
        (DELETE, False),
        (f"/* SELECT */ {DELETE}", False),
        (f"-- SELECT\n{DELETE}", False),
        (f"/* x */ /* SELECT */ {DELETE}", False),
        (f"-- {SELECT}", False),
        ("SELECTED", False),
        ("EXISTS(SELECT * FROM notes)", False),
        ("", False),
    ],
)
def test_statement_reads_when_it_is_a_select(statement: str, reads: bool) -> None:
    one = [StatementRequest(statement=statement)]
    assert is_read(ExecuteStatement(statement=statement)) == reads
    assert is_read(BatchExecuteStatement(statements=one)) == reads
    assert is_read(ExecuteTransaction(transact_statements=one)) == reads


def test_several_statements_read_when_all_are_selects() -> None:
    statements = [StatementRequest(statement=SELECT), StatementRequest(statement=DELETE)]
    assert not is_read(BatchExecuteStatement(statements=statements))
    assert is_read(BatchExecuteStatement(statements=statements[:1] * 2))


def test_request_without_statements_is_not_a_read() -> None:
    assert not is_read(BatchExecuteStatement(statements=[]))
    assert not is_read(ExecuteTransaction())


def test_statement_that_does_not_parse_is_not_a_read() -> None:
    """Another backend could execute it."""
    assert not is_read(ExecuteStatement(statement="SELECT * FROM"))
    assert not is_read(ExecuteStatement(statement=SELECT + " " * 9000))


@pytest.mark.parametrize("comment", ["-" * 100 + "\n", "/**/" * 100, "/*" * 1000, "--" * 2000, "/*" + "*" * 4000])
def test_statement_with_many_comments_is_decided_at_once(comment: str) -> None:
    statement = ExecuteStatement(statement=comment + DELETE)
    assert not is_read(statement)
    assert shortest(lambda: is_read(statement), 0.5) < 1
