"""ExecuteTransaction: up to a hundred statements, either all SELECTs of one item, or all writes and checks."""

import msgspec
from msgspec import Raw

from partita.dynamodb.capacity import read_units
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.limits import TRANSACTION_ACTIONS
from partita.dynamodb.responses import ItemResponse
from partita.dynamodb.statement_shapes import (
    ExecuteTransaction,
    ExecuteTransactionOutput,
    StatementRequest,
)
from partita.dynamodb.statements.statement_nodes import DeleteClause, ExistsCheck, Select, UpdateClause
from partita.engine.constraints import Constraint, report_violations
from partita.engine.consumed_capacity import TableUsage, consumed_capacity
from partita.engine.context import EngineContext, Job
from partita.engine.operations.execute_statement import CONSUMED, STATEMENT
from partita.engine.operations.transact_get_items import SECOND_ACTION_ON_ITEM
from partita.engine.operations.transact_write_items import TransactionAction, run_transaction
from partita.engine.partiql.key_bounds import exact_key, fixes_key
from partita.engine.partiql.select_statements import filter_of, paths_of, selected_attributes
from partita.engine.partiql.statement_parameters import BoundStatement
from partita.engine.partiql.write_statements import statement_write
from partita.engine.schema import StoredTable
from partita.engine.write import ItemVersion, load_version
from partita.storage.contract import StorageTransaction

_MEMBERS = (
    Constraint("transact_statements", required=True, min_length=1, max_length=TRANSACTION_ACTIONS, children=STATEMENT),
    Constraint("client_request_token", min_length=1, max_length=36),
    CONSUMED,
)


def transaction_select(context: EngineContext, request: ExecuteTransaction) -> ExecuteTransactionOutput:
    report_violations(request, _MEMBERS)
    statements = _bind_statements(request)
    tables = [context.table(statement.table) for statement in statements]
    storage_keys = [
        _storage_key(at, table, each) for at, (table, each) in enumerate(zip(tables, statements, strict=True))
    ]
    if len({(table.name, storage_key) for table, storage_key in zip(tables, storage_keys, strict=True)}) < len(
        storage_keys
    ):
        raise ValidationException(SECOND_ACTION_ON_ITEM)
    with context.storage.snapshot() as reader:
        images = [
            load_version(reader, table, storage_key) for table, storage_key in zip(tables, storage_keys, strict=True)
        ]
    used: dict[str, TableUsage] = {}
    for table, image in zip(tables, images, strict=True):
        usage = used.setdefault(table.name, TableUsage(table))
        usage.units += 2 * read_units(image.size if image else 0, True)
    capacities = [consumed_capacity(usage, request.return_consumed_capacity, "read") for usage in used.values()]
    return ExecuteTransactionOutput(
        responses=[
            ItemResponse(item=_selected_item(table, each, image))
            for table, each, image in zip(tables, statements, images, strict=True)
        ],
        consumed_capacity=[each for each in capacities if each is not None] or None,
    )


def transaction_write(context: EngineContext, request: ExecuteTransaction) -> Job:
    report_violations(request, _MEMBERS)
    statements = _bind_statements(request)
    if any(isinstance(statement.body, Select) for statement in statements):
        raise ValidationException(
            "ExecuteTransaction API does not support both read and write operations in the same request."
        )
    for at, statement in enumerate(statements):
        if isinstance(statement.body, UpdateClause | DeleteClause) and statement.body.returning is not None:
            raise _statement_error(at, "RETURNING clause is not supported in ExecuteTransaction.")

    def job(txn: StorageTransaction) -> ExecuteTransactionOutput:
        reply = run_transaction(context, txn, request, lambda: _actions(context, request, statements))
        return ExecuteTransactionOutput(responses=[], consumed_capacity=reply.consumed_capacity)

    return job


def _bind_statements(request: ExecuteTransaction) -> list[BoundStatement]:
    found: list[BoundStatement] = []
    for at, each in enumerate(request.transact_statements or []):
        try:
            found.append(BoundStatement(each.statement or "", each.parameters))
        except ValidationException as error:
            raise _statement_error(at, error.message) from None
    return found


def _statement_error(at: int, why: str) -> ValidationException:
    return ValidationException(f"Validation failed in TransactStatements[{at}]: {why}")


def _storage_key(at: int, table: StoredTable, statement: BoundStatement) -> bytes:
    assert isinstance(statement.body, Select)
    if statement.body.index is not None or not fixes_key(table.keys, statement.body.where, statement.scope):
        raise _statement_error(
            at, "Select statements within ExecuteTransaction must specify the primary key in the where clause."
        )
    paths_of(table, statement.body)
    return table.storage_key(exact_key(table.keys, statement.body.where, statement.scope)[0])


def _selected_item(table: StoredTable, statement: BoundStatement, image: ItemVersion | None) -> Raw | None:
    """The selected parts of an item; None where it is missing or WHERE does not hold."""
    assert isinstance(statement.body, Select)
    keep = filter_of(table, statement.body, statement)
    if image is None or (keep is not None and not keep.keep(image.item)):
        return None
    return (
        Raw(image.row.value) if statement.body.paths is None else selected_attributes(image.item, statement.body.paths)
    )


class _InvalidStatement(msgspec.Struct, frozen=True):
    """An intent that raises the error of an invalid statement, as a cancellation reason."""

    error: ValidationException

    def storage_key(self, table: StoredTable) -> bytes:
        raise self.error

    def after(self, table: StoredTable, before: ItemVersion | None) -> ItemVersion | None:
        raise self.error


def _actions(
    context: EngineContext, request: ExecuteTransaction, statements: list[BoundStatement]
) -> list[TransactionAction]:
    asked = request.transact_statements or []
    return [
        _action(context, at, each, statement)
        for at, (each, statement) in enumerate(zip(asked, statements, strict=True))
    ]


def _action(context: EngineContext, at: int, asked: StatementRequest, statement: BoundStatement) -> TransactionAction:
    return_old = asked.return_values_on_condition_check_failure == "ALL_OLD"
    table = context.table_for_write(statement.table)
    try:
        write = statement_write(table, statement)
    except ValidationException as error:
        if isinstance(statement.body, ExistsCheck):
            raise _statement_error(at, error.message) from None
        return TransactionAction(table.name, _InvalidStatement(error), None, return_old)
    return TransactionAction(table.name, write.intent, write.condition, return_old)
