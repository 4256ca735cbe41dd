"""INSERT, UPDATE, DELETE and EXISTS as what a write means to do with one item, and under which condition."""

from dataclasses import dataclass

from partita.dynamodb.exceptions import DuplicateItemException, ValidationException
from partita.dynamodb.values import Item
from partita.engine.expressions.condition import Bound, bound
from partita.engine.expressions.nodes import Condition
from partita.engine.expressions.nodes import Update as UpdateNode
from partita.engine.expressions.scope import Scope
from partita.engine.expressions.update import Changes, Recipe
from partita.engine.operations.item_writes import ConditionCheck, Delete, Put, Update, WriteIntent
from partita.engine.partiql.key_bounds import check_type, exact_key, fixes_key
from partita.engine.partiql.statement_parameters import BoundStatement, worded
from partita.engine.partiql.statements import Exists, Insert, Remove, UpdateClause
from partita.engine.schema import StoredTable
from partita.engine.write import ItemVersion


@dataclass(frozen=True, slots=True)
class Inserting(Put):
    """A put that never replaces."""

    def after(self, table: StoredTable, before: ItemVersion | None) -> ItemVersion | None:
        if before is not None:
            raise DuplicateItemException()
        return ItemVersion.of(self.item, self.size)


@dataclass(frozen=True, slots=True)
class Meant:
    """What a statement means for its table: `returning` is ReturnValues of the operation that it stands for."""

    intent: WriteIntent
    condition: Bound | None
    returning: str | None


def meant(table: StoredTable, statement: BoundStatement) -> Meant:
    """The write in a statement."""
    body, scope = statement.body, statement.scope
    match body:
        case Insert():
            return Meant(_inserting(table, body, scope), None, None)
        case UpdateClause():
            key, rest = exact_key(table.keys, body.where, scope)
            recipe: Recipe = worded(lambda: Recipe(UpdateNode(body.actions), scope))
            return Meant(Update(key, Changes(recipe, scope.values)), _existing(rest, scope), body.returning)
        case Remove():
            key, rest = exact_key(table.keys, body.where, scope)
            return Meant(Delete(key), _absent_or(rest, scope), body.returning)
        case Exists(select):
            if not fixes_key(table.keys, select.where, scope):
                raise _not_a_check()
            key, rest = exact_key(table.keys, select.where, scope)
            if rest is None:
                raise _not_a_check()
            return Meant(ConditionCheck(key), _existing(rest, scope), None)
    raise ValidationException("Only insert, update and delete statements write")


def _inserting(table: StoredTable, body: Insert, scope: Scope) -> Inserting:
    item: Item = {name: scope.value(value.name) for name, value in body.members}
    for key in table.keys.all:
        if key.name not in item:
            raise ValidationException(f"Key attribute should be present in the item: Key {key.name}")
        check_type(key, item[key.name])
    inserting = Inserting.of(item)
    inserting.check_size()
    return Inserting(inserting.item, inserting.size)


def _existing(rest: Condition | None, scope: Scope) -> Bound:
    """UPDATE never makes an item: it has to be there, and the rest of WHERE has to hold."""
    if rest is None:
        return Bound(bool, [])
    held: Bound = worded(lambda: bound(rest, scope))
    return Bound(lambda item: bool(item) and held.keep(item), held.paths)


def _absent_or(rest: Condition | None, scope: Scope) -> Bound | None:
    """DELETE of nothing succeeds, whatever else it asks."""
    if rest is None:
        return None
    held: Bound = worded(lambda: bound(rest, scope))
    return Bound(lambda item: not item or held.keep(item), held.paths)


def _not_a_check() -> ValidationException:
    return ValidationException("EXISTS() must contain a single item read with additional condition")
