"""INSERT, UPDATE, DELETE and EXISTS as the intent and condition of a write."""

import msgspec

from partita.dynamodb.exceptions import DuplicateItemException, ValidationException
from partita.dynamodb.expression_nodes import ConditionNode, UpdateNode
from partita.dynamodb.statements.statement_nodes import DeleteClause, ExistsCheck, Insert, UpdateClause
from partita.dynamodb.values import Item
from partita.engine.expressions.condition import BoundCondition, bind_condition
from partita.engine.expressions.scope import Scope
from partita.engine.expressions.update import BoundUpdate, CompiledUpdate
from partita.engine.operations.item_writes import CheckIntent, DeleteIntent, PutIntent, UpdateIntent, WriteIntent
from partita.engine.partiql.key_bounds import check_type, exact_key, fixes_key
from partita.engine.partiql.statement_parameters import BoundStatement, run_statement_expression
from partita.engine.schema import StoredTable
from partita.engine.write import ItemVersion


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
            key, rest = exact_key(table.keys, body.where, scope)
            recipe: CompiledUpdate = run_statement_expression(lambda: CompiledUpdate(UpdateNode(body.actions), scope))
            return StatementWrite(
                UpdateIntent(key, BoundUpdate(recipe, scope.values)), _item_exists_and(rest, scope), body.returning
            )
        case DeleteClause():
            key, rest = exact_key(table.keys, body.where, scope)
            return StatementWrite(DeleteIntent(key), _item_missing_or(rest, scope), body.returning)
        case ExistsCheck(select):
            if not fixes_key(table.keys, select.where, scope):
                raise _check_error()
            key, rest = exact_key(table.keys, select.where, scope)
            if rest is None:
                raise _check_error()
            return StatementWrite(CheckIntent(key), _item_exists_and(rest, scope), None)
    raise ValidationException("Only insert, update and delete statements write")


def _insert_intent(table: StoredTable, body: Insert, scope: Scope) -> InsertIntent:
    item: Item = {name: scope.value(value.name) for name, value in body.members}
    for key in table.keys.all:
        if key.name not in item:
            raise ValidationException(f"Key attribute should be present in the item: Key {key.name}")
        check_type(key, item[key.name])
    inserting = InsertIntent.of(item)
    inserting.check_size()
    return InsertIntent(inserting.item, inserting.size)


def _item_exists_and(rest: ConditionNode | None, scope: Scope) -> BoundCondition:
    """UPDATE does not create items: the item must exist, and the rest of WHERE must hold."""
    if rest is None:
        return BoundCondition(bool, [])
    condition: BoundCondition = run_statement_expression(lambda: bind_condition(rest, scope))
    return BoundCondition(lambda item: bool(item) and condition.keep(item), condition.paths)


def _item_missing_or(rest: ConditionNode | None, scope: Scope) -> BoundCondition | None:
    """DELETE of a missing item succeeds, whatever the rest of WHERE."""
    if rest is None:
        return None
    condition: BoundCondition = run_statement_expression(lambda: bind_condition(rest, scope))
    return BoundCondition(lambda item: not item or condition.keep(item), condition.paths)


def _check_error() -> ValidationException:
    return ValidationException("EXISTS() must contain a single item read with additional condition")
