"""ExecuteStatement: one PartiQL statement; a SELECT returns a page, all others write one item."""

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.limits import STATEMENT_LENGTH
from partita.dynamodb.requests import UpdateItem
from partita.dynamodb.responses import UpdateItemOutput
from partita.dynamodb.statement_shapes import ExecuteStatement, ExecuteStatementOutput
from partita.dynamodb.statements.statement_nodes import ExistsCheck, Select
from partita.engine.constraints import Constraint, report_violations
from partita.engine.consumed_capacity import consumed_capacity
from partita.engine.context import EngineContext, Job
from partita.engine.operations.item_writes import write_job
from partita.engine.partiql.select_statements import select_page
from partita.engine.partiql.statement_parameters import BoundStatement
from partita.engine.partiql.write_statements import statement_write
from partita.storage.contract import StorageTransaction

STATEMENT = (
    Constraint("statement", required=True, min_length=1, max_length=STATEMENT_LENGTH),
    Constraint("parameters", min_length=1),
    Constraint("return_values_on_condition_check_failure", enum=("ALL_OLD", "NONE")),
)
CONSUMED = Constraint("return_consumed_capacity", enum=("INDEXES", "TOTAL", "NONE"))
ONLY_IN_TRANSACTIONS = "EXISTS can only be used in ExecuteTransaction write requests."
_MEMBERS = (
    *STATEMENT,
    Constraint("next_token", min_length=1, max_length=32768),
    CONSUMED,
    Constraint("limit", minimum=1),
)


def execute_select(context: EngineContext, request: ExecuteStatement) -> ExecuteStatementOutput:
    report_violations(request, _MEMBERS)
    statement = BoundStatement(request.statement or "", request.parameters)
    assert isinstance(statement.body, Select)
    page = select_page(
        context,
        statement,
        statement.body,
        limit=request.limit,
        consistent=request.consistent_read,
        token=request.next_token,
    )
    return ExecuteStatementOutput(
        items=page.items,
        next_token=page.next_token,
        consumed_capacity=consumed_capacity(page.usage, request.return_consumed_capacity),
    )


def execute_write(context: EngineContext, request: ExecuteStatement) -> Job:
    report_violations(request, _MEMBERS)
    statement = BoundStatement(request.statement or "", request.parameters)
    if isinstance(statement.body, ExistsCheck):
        raise ValidationException(ONLY_IN_TRANSACTIONS)

    def job(txn: StorageTransaction) -> ExecuteStatementOutput:
        write = statement_write(context.table_for_write(statement.table), statement)
        update = UpdateItem(
            table_name=statement.table,
            return_values=write.returning,
            return_consumed_capacity=request.return_consumed_capacity,
            return_values_on_condition_check_failure=request.return_values_on_condition_check_failure,
        )
        reply = write_job(context, update, write.intent, write.condition, UpdateItemOutput())(txn)
        return ExecuteStatementOutput(
            items=[] if reply.attributes is None else [reply.attributes], consumed_capacity=reply.consumed_capacity
        )

    return job
