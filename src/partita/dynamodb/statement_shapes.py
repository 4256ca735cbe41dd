"""Requests and responses of PartiQL: one statement, batches, transactions."""

from typing import Any

from msgspec import Raw

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.limits import STATEMENT_LENGTH, TRANSACTION_ACTIONS
from partita.dynamodb.requests import Request
from partita.dynamodb.responses import ItemResponse
from partita.dynamodb.shapes import ConsumedCapacity, Shape
from partita.dynamodb.values import AttributeValue, Item, OptionalRaw


class ExecuteStatementOutput(Shape):
    items: list[Raw] | None = None
    next_token: str | None = None
    consumed_capacity: ConsumedCapacity | None = None


class BatchStatementError(Shape):
    code: str | None = None
    message: str | None = None
    item: Item | None = None


class BatchStatementResponse(Shape):
    error: BatchStatementError | None = None
    table_name: str | None = None
    item: OptionalRaw = None


class BatchExecuteStatementOutput(Shape):
    responses: list[BatchStatementResponse] | None = None
    consumed_capacity: list[ConsumedCapacity] | None = None


class ExecuteTransactionOutput(Shape):
    responses: list[ItemResponse] | None = None
    consumed_capacity: list[ConsumedCapacity] | None = None


class ExecuteStatement(Request[ExecuteStatementOutput]):
    statement: str | None = None
    parameters: list[AttributeValue] | None = None
    consistent_read: bool | None = None
    next_token: str | None = None
    return_consumed_capacity: str | None = None
    limit: int | None = None
    return_values_on_condition_check_failure: str | None = None


class StatementRequest(Shape):
    """One statement of a batch or a transaction; only one of a batch may set `consistent_read`."""

    statement: str | None = None
    parameters: list[AttributeValue] | None = None
    consistent_read: bool | None = None
    return_values_on_condition_check_failure: str | None = None


class BatchExecuteStatement(Request[BatchExecuteStatementOutput]):
    statements: list[StatementRequest] | None = None
    return_consumed_capacity: str | None = None


class ExecuteTransaction(Request[ExecuteTransactionOutput]):
    transact_statements: list[StatementRequest] | None = None
    client_request_token: str | None = None
    return_consumed_capacity: str | None = None


def only_selects(request: Request[Any]) -> bool:
    """Whether the request has statements and all of them parse as a SELECT, so that it cannot write."""
    texts = _texts(request)
    return 0 < len(texts) <= TRANSACTION_ACTIONS and all(map(_is_select, texts))


def _is_select(text: str) -> bool:
    from partita.dynamodb.statements.statement_parser import parse_statement

    if len(text) > STATEMENT_LENGTH:
        return False
    try:
        return parse_statement(text).reads
    except ValidationException:
        return False


def _texts(request: Request[Any]) -> list[str]:
    """The statements of a request; an empty list for a request of another kind."""
    if isinstance(request, ExecuteStatement):
        return [request.statement or ""]
    if isinstance(request, BatchExecuteStatement):
        return [each.statement or "" for each in request.statements or []]
    if isinstance(request, ExecuteTransaction):
        return [each.statement or "" for each in request.transact_statements or []]
    return []
