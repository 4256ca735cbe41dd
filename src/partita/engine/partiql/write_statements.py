"""INSERT, UPDATE, DELETE and EXISTS as the intent and condition of a write."""

from functools import lru_cache
from typing import NamedTuple

import msgspec

from partita.dynamodb.exceptions import DuplicateItemException, ValidationException
from partita.dynamodb.expression_nodes import ConditionNode, UpdateNode
from partita.dynamodb.statements.statement_nodes import DeleteClause, ExistsCheck, Insert, UpdateClause
from partita.dynamodb.statements.statement_parser import parse_statement
from partita.dynamodb.values import Item
from partita.engine.expressions.cache import ExpressionCache
from partita.engine.expressions.condition import BoundCondition, CompiledCondition, bind_condition, compile_condition
from partita.engine.expressions.scope import Scope
from partita.engine.expressions.tokens import ExpressionError
from partita.engine.expressions.update import BoundUpdate, CompiledUpdate
from partita.engine.operations.item_writes import CheckIntent, DeleteIntent, PutIntent, UpdateIntent, WriteIntent
from partita.engine.partiql.key_bounds import check_type, exact_key, fixes_key, key_placeholders, placed_key
from partita.engine.partiql.statement_parameters import BoundStatement, run_statement_expression
from partita.engine.schema import StoredTable
from partita.engine.write import ItemVersion

CACHED_LENGTH = 1024  # characters; longer statements are compiled each time


class InsertIntent(PutIntent, frozen=True):
    """A put that does not replace an item."""

    def after(self, table: StoredTable, before: ItemVersion | None) -> ItemVersion | None:
        if before is not None:
            raise DuplicateItemException()
        return ItemVersion.of(self.item, self.size)


class StatementWrite(msgspec.Struct, frozen=True):
    """The write of a statement; `returning` is as ReturnValues of its operation."""

    intent: WriteIntent
    condition: BoundCondition | None
    returning: str | None


def statement_write(table: StoredTable, statement: BoundStatement) -> StatementWrite:
    """The write of a statement on its table."""
    body, scope = statement.body, statement.scope
    match body:
        case Insert():
            return StatementWrite(_insert_intent(table, body, scope), None, None)
        case UpdateClause():
            return _update(table, statement, body)
        case DeleteClause():
            key, rest = exact_key(table.keys, body.where, scope)
            return StatementWrite(DeleteIntent(key), _item_missing_or(rest, scope), body.returning)
        case ExistsCheck(select):
            if not fixes_key(table.keys, select.where, scope):
                raise _check_error()
            key, rest = exact_key(table.keys, select.where, scope)
            if rest is None:
                raise _check_error()
            condition: BoundCondition = run_statement_expression(lambda: bind_condition(rest, scope))
            return StatementWrite(CheckIntent(key), _item_exists_and(condition), None)
    raise ValidationException("Only insert, update and delete statements write")


class _CompiledStatement(NamedTuple):
    """An UPDATE for every request with values of the same types."""

    key: dict[str, str]  # the placeholders of its values
    update: CompiledUpdate
    condition: CompiledCondition | None


def _update(table: StoredTable, statement: BoundStatement, body: UpdateClause) -> StatementWrite:
    """UPDATE does not create items: the item must exist, and the rest of WHERE must hold."""
    scope, names = statement.scope, tuple(table.keys.names)
    is_short = len(statement.text) <= CACHED_LENGTH
    try:
        compiled = (
            _statement_cache(names)(statement.text, scope) if is_short else _compile(names, statement.text, scope)
        )
    except ExpressionError as error:
        exact_key(table.keys, body.where, scope)  # its errors come first
        raise ValidationException(str(error)) from None
    intent = UpdateIntent(placed_key(table.keys, compiled.key, scope), BoundUpdate(compiled.update, scope.values))
    bound = None if compiled.condition is None else compiled.condition.bind(scope.values)
    return StatementWrite(intent, _item_exists_and(bound), body.returning)


@lru_cache(maxsize=64)
def _statement_cache(key_names: tuple[str, ...]) -> ExpressionCache[_CompiledStatement]:
    """The compiled statements on tables with these key attributes."""
    return ExpressionCache(lambda text, scope: _compile(key_names, text, scope))


def _compile(key_names: tuple[str, ...], text: str, scope: Scope) -> _CompiledStatement:
    body = parse_statement(text).body
    assert isinstance(body, UpdateClause)
    key, rest = key_placeholders(key_names, body.where)
    update = CompiledUpdate(UpdateNode(body.actions), scope)
    return _CompiledStatement(key, update, None if rest is None else compile_condition(rest, scope))


def _insert_intent(table: StoredTable, body: Insert, scope: Scope) -> InsertIntent:
    item: Item = {name: scope.value(value.name) for name, value in body.members}
    for key in table.keys.all:
        if key.name not in item:
            raise ValidationException(f"Key attribute should be present in the item: Key {key.name}")
        check_type(key, item[key.name])
    inserting = InsertIntent.of(item)
    inserting.check_size()
    return InsertIntent(inserting.item, inserting.size)


def _item_exists_and(condition: BoundCondition | None) -> BoundCondition:
    if condition is None:
        return BoundCondition(bool, [])
    return BoundCondition(lambda item: bool(item) and condition.keep(item), condition.paths)


def _item_missing_or(rest: ConditionNode | None, scope: Scope) -> BoundCondition | None:
    """DELETE of a missing item succeeds, whatever the rest of WHERE."""
    if rest is None:
        return None
    condition: BoundCondition = run_statement_expression(lambda: bind_condition(rest, scope))
    return BoundCondition(lambda item: not item or condition.keep(item), condition.paths)


def _check_error() -> ValidationException:
    return ValidationException("EXISTS() must contain a single item read with additional condition")
