"""BatchExecuteStatement: up to 25 statements, all SELECTs of one item or all writes, each on its own."""

from collections.abc import Callable

import msgspec
from msgspec import Raw

from partita.dynamodb.capacity import read_units
from partita.dynamodb.exceptions import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    DynamoDBError,
    ResourceNotFoundException,
    ValidationException,
)
from partita.dynamodb.shapes import ConsumedCapacity
from partita.dynamodb.statement_shapes import (
    BatchExecuteStatement,
    BatchExecuteStatementOutput,
    BatchStatementError,
    BatchStatementResponse,
    StatementRequest,
)
from partita.dynamodb.statements.statement_nodes import Body, ExistsCheck, Select
from partita.dynamodb.statements.statement_parser import parse_statement
from partita.engine.constraints import Constraint, report_violations
from partita.engine.consumed_capacity import TableUsage, consumed_capacity
from partita.engine.context import EngineContext, Job
from partita.engine.operations.batch_get_item import DUPLICATES
from partita.engine.operations.execute_statement import CONSUMED, ONLY_IN_TRANSACTIONS, STATEMENT
from partita.engine.operations.item_writes import decide, returned_attributes
from partita.engine.partiql.key_bounds import exact_key, fixes_key
from partita.engine.partiql.select_statements import paths_of, selected_attributes
from partita.engine.partiql.statement_parameters import BoundStatement
from partita.engine.partiql.write_statements import StatementWrite, statement_write
from partita.engine.schema import StoredTable
from partita.engine.write import load_version
from partita.storage.contract import Reader, StorageTransaction

STATEMENTS = 25
_MEMBERS = (
    Constraint("statements", required=True, min_length=1, max_length=STATEMENTS, children=STATEMENT),
    CONSUMED,
)
_SINGLE = "Only single item select is supported"


class _LocatedStatement(msgspec.Struct, frozen=True):
    """A statement on one item of a table."""

    table: StoredTable
    storage_key: bytes
    statement: BoundStatement
    write: StatementWrite | None = None


def batch_select(context: EngineContext, request: BatchExecuteStatement) -> BatchExecuteStatementOutput:
    report_violations(request, _MEMBERS)
    asked = request.statements or []
    batch = _StatementBatch(request)
    located = batch.locate_all(lambda each: _locate_select(context, each))
    with context.storage.snapshot() as reader:
        for number, each in located.items():
            batch.read(reader, number, each, asked[number].consistent_read)
    return batch.output()


def batch_write(context: EngineContext, request: BatchExecuteStatement) -> Job:
    report_violations(request, _MEMBERS)
    kinds = {type(body) is Select for body in map(_body, request.statements or []) if body is not None}
    if len(kinds) > 1:
        raise ValidationException("Read and write requests together in the same batch is not supported.")

    def job(txn: StorageTransaction) -> BatchExecuteStatementOutput:
        if True in kinds:
            return batch_select(context, request)
        batch = _StatementBatch(request)
        for number, each in batch.locate_all(lambda each: _locate_write(context, each)).items():
            batch.write(context, txn, number, each)
        return batch.output()

    return job


def _body(asked: StatementRequest) -> Body | None:
    """The parsed statement; None for an invalid one, which gets an error of its own in the reply."""
    try:
        return parse_statement(asked.statement or "").body
    except ValidationException:
        return None


def _locate_select(context: EngineContext, asked: StatementRequest) -> _LocatedStatement:
    statement = BoundStatement(asked.statement or "", asked.parameters)
    assert isinstance(statement.body, Select)
    table = context.table(statement.table)
    if statement.body.index is not None or not fixes_key(table.keys, statement.body.where, statement.scope):
        raise ValidationException(_SINGLE)
    key, rest = exact_key(table.keys, statement.body.where, statement.scope)
    if rest is not None:
        raise ValidationException(_SINGLE)
    paths_of(table, statement.body)
    return _LocatedStatement(table, table.storage_key(key), statement)


def _locate_write(context: EngineContext, asked: StatementRequest) -> _LocatedStatement:
    statement = BoundStatement(asked.statement or "", asked.parameters)
    if isinstance(statement.body, ExistsCheck):
        raise ValidationException(ONLY_IN_TRANSACTIONS)
    table = context.table_for_write(statement.table)
    write = statement_write(table, statement)
    return _LocatedStatement(table, write.intent.storage_key(table), statement, write)


class _StatementBatch:
    """The responses of one batch, in the order of its statements."""

    def __init__(self, request: BatchExecuteStatement) -> None:
        self._request = request
        self._requests = request.statements or []
        self._answers: dict[int, BatchStatementResponse] = {}
        self._used: dict[str, TableUsage] = {}

    def locate_all(self, place: Callable[[StatementRequest], _LocatedStatement]) -> dict[int, _LocatedStatement]:
        """Locates the item of each statement, at most one statement for an item; errors become responses."""
        found: dict[int, _LocatedStatement] = {}
        for number, asked in enumerate(self._requests):
            try:
                found[number] = place(asked)
            except DynamoDBError as error:
                self._fail(number, None, error)
        if len({(each.table.name, each.storage_key) for each in found.values()}) < len(found):
            raise ValidationException(DUPLICATES)
        return found

    def read(self, reader: Reader, number: int, located: _LocatedStatement, consistent: bool | None) -> None:
        image = load_version(reader, located.table, located.storage_key)
        usage = self._used.setdefault(located.table.name, TableUsage(located.table))
        usage.units += read_units(image.size if image else 0, consistent)
        item: Raw | None = None
        if image is not None:
            assert isinstance(located.statement.body, Select)
            paths = located.statement.body.paths
            item = Raw(image.row.value) if paths is None else selected_attributes(image.item, paths)
        self._answers[number] = BatchStatementResponse(table_name=located.table.name, item=item)

    def write(self, context: EngineContext, txn: StorageTransaction, number: int, located: _LocatedStatement) -> None:
        assert located.write is not None
        write, table = located.write, located.table
        return_old = self._requests[number].return_values_on_condition_check_failure == "ALL_OLD"
        try:
            outcome = decide(context, txn, table, located.storage_key, write.intent, write.condition, return_old)
        except DynamoDBError as error:
            self._fail(number, table.name, error)
            return
        txn.apply(outcome.writes)
        self._used.setdefault(table.name, TableUsage(table)).add(outcome.usage)
        item = returned_attributes(write.returning, write.intent, outcome)
        self._answers[number] = BatchStatementResponse(table_name=table.name, item=item)

    def output(self) -> BatchExecuteStatementOutput:
        capacities = (consumed_capacity(usage, self._request.return_consumed_capacity) for usage in self._used.values())
        used: list[ConsumedCapacity] = [each for each in capacities if each is not None]
        answers = [self._answers[number] for number in range(len(self._requests))]
        return BatchExecuteStatementOutput(responses=answers, consumed_capacity=used or None)

    def _fail(self, number: int, table: str | None, error: DynamoDBError) -> None:
        item = error.item if isinstance(error, ConditionalCheckFailedException) else None
        failure = BatchStatementError(code=_code(error), message=error.message, item=item)
        self._answers[number] = BatchStatementResponse(error=failure, table_name=table)


def _code(error: DynamoDBError) -> str:
    if isinstance(error, ConditionalCheckFailedException):
        return "ConditionalCheckFailed"
    if isinstance(error, DuplicateItemException):
        return "DuplicateItem"
    return "ResourceNotFound" if isinstance(error, ResourceNotFoundException) else "ValidationError"
