"""Actions: the writes of one request, each to one item, with the clauses of its condition.

A single action becomes PutItem, UpdateItem or DeleteItem; several become one TransactWriteItems. Each clause has the
error to raise if it fails: when DynamoDB rejects a write, the clauses are evaluated on the item that it returns, and
the error of the first that is false is raised.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Literal

import msgspec

from partita.design.conditions import All, AnyOf, Comparison, Condition, Exists, Field, Not
from partita.design.key_parts import EXACT
from partita.dynamodb import requests as wire
from partita.dynamodb.canonical import ItemIdentity, item_identity
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import InvalidTransaction, StoreError
from partita.plan.condition_expressions import Expression
from partita.plan.predicates import evaluate

Kind = Literal["put", "update", "delete", "check"]
_PRECEDENCE = ("put", "delete", "update", "check")  # of two actions on one item, the later is merged into the earlier


class Clause(msgspec.Struct, frozen=True):
    """A condition on one stored item, and the error to raise if it is false, given the item.

    `bounds` names the counter that it limits: it allows for one increment, so two such clauses cannot be merged.
    """

    condition: Condition
    on_failure: Callable[[Item], StoreError]
    bounds: str | None = None


class SetAttribute(msgspec.Struct, frozen=True):
    value: AttributeValue


class IncrementAttribute(msgspec.Struct, frozen=True):
    """`absent` is the value of the attribute for an older item without it."""

    by: str
    absent: str = "0"


class AppendToList(msgspec.Struct, frozen=True):
    values: AttributeValue


class AddToSet(msgspec.Struct, frozen=True):
    values: AttributeValue


class DeleteFromSet(msgspec.Struct, frozen=True):
    values: AttributeValue


class RemoveAttribute(msgspec.Struct, frozen=True):
    pass


Step = SetAttribute | IncrementAttribute | AppendToList | AddToSet | DeleteFromSet | RemoveAttribute


class ItemAction(msgspec.Struct, frozen=True):
    """One write of the item under `key`, or a check of its condition."""

    kind: Kind
    table: str
    key: Item
    entity: str
    item: Item | None = None
    steps: dict[str, Step] = msgspec.field(default_factory=dict)
    clauses: tuple[Clause, ...] = ()

    @property
    def identity(self) -> ItemIdentity:
        return item_identity(self.table, self.key)

    @property
    def repeatable(self) -> bool:
        """Whether a second execution has no further effect."""
        return not any(isinstance(step, IncrementAttribute | AppendToList) for step in self.steps.values())


def present(name: str) -> Condition:
    return Exists(Field((name,)))


def absent(name: str) -> Condition:
    return Not(Exists(Field((name,))))


def equals(name: str, value: AttributeValue | None) -> Condition:
    return absent(name) if value is None else Comparison("=", Field((name,)), value)


def alive(ttl: str, now: AttributeValue) -> Condition:
    """The item has not expired; DynamoDB may take days to delete an expired one."""
    return AnyOf((absent(ttl), Comparison(">", Field((ttl,)), now)))


def failed_clause_error(action: ItemAction, item: Item | None) -> StoreError | None:
    """The error of the first clause that is false for the item."""
    for clause in action.clauses:
        if not evaluate(clause.condition, item or {}):
            return clause.on_failure(item or {})
    return None


def merge(actions: Iterable[ItemAction]) -> list[ItemAction]:
    """One action for each item: DynamoDB rejects two actions on one item in a transaction."""
    found: dict[ItemIdentity, ItemAction] = {}
    for action in actions:
        earlier = found.get(action.identity)
        found[action.identity] = action if earlier is None else _merge_two(earlier, action)
    return list(found.values())


def _merge_two(one: ItemAction, other: ItemAction) -> ItemAction:
    """The one action for two actions on the same item."""
    kinds = {one.kind, other.kind}
    first, second = sorted((one, other), key=lambda each: _PRECEDENCE.index(each.kind))
    if kinds == {"update"}:
        return _merge_updates(one, other)
    if kinds == {"delete", "put"}:  # a unique value passes from one item to another
        return msgspec.structs.replace(first, clauses=second.clauses)
    if kinds == {"put", "update"} or kinds == {"put", "check"}:
        return _merge_into_put(first, second)
    if "check" in kinds or (kinds == {"delete", "update"} and not _grows(second)):
        return msgspec.structs.replace(first, clauses=(*first.clauses, *second.clauses))
    raise InvalidTransaction(f"the transaction writes the same item twice ({one.kind} and {other.kind})", one.entity)


def _merge_updates(one: ItemAction, other: ItemAction) -> ItemAction:
    bounded = {clause.bounds for clause in one.clauses if clause.bounds}
    if bounded & {clause.bounds for clause in other.clauses}:
        raise InvalidTransaction("one transaction adds two children under a limit; add them one by one", one.entity)
    steps = dict(one.steps)
    for name, step in other.steps.items():
        steps[name] = _merge_steps(one.entity, name, steps.get(name), step)
    return msgspec.structs.replace(one, steps=steps, clauses=(*one.clauses, *other.clauses))


def _merge_into_put(put: ItemAction, other: ItemAction) -> ItemAction:
    """The put with the steps of the other action; its clauses must hold for the item that is put."""
    assert put.item is not None
    error = failed_clause_error(other, put.item)
    if error is not None:
        raise error
    return msgspec.structs.replace(put, item=_apply_steps(put.item, other.steps))


def _grows(update: ItemAction) -> bool:
    return any(isinstance(step, IncrementAttribute) and Decimal(step.by) > 0 for step in update.steps.values())


def _merge_steps(entity: str, name: str, one: Step | None, other: Step) -> Step:
    if isinstance(one, IncrementAttribute) and isinstance(other, IncrementAttribute):
        return IncrementAttribute(_sum_of(one.by, other.by), one.absent)
    if one is not None:
        raise InvalidTransaction(f"the transaction changes {name!r} twice", entity)
    return other


def _apply_steps(item: Item, steps: dict[str, Step]) -> Item:
    changed = dict(item)
    for name, step in steps.items():
        if isinstance(step, IncrementAttribute):
            changed[name] = {"N": _sum_of(item.get(name, {"N": step.absent})["N"], step.by)}
        elif isinstance(step, SetAttribute):
            changed[name] = step.value
    return changed


def _sum_of(one: str, other: str) -> str:
    return str(EXACT.add(Decimal(one), Decimal(other)))


def single_request(action: ItemAction) -> wire.Request[Any]:
    """The request of one action alone."""
    if action.kind == "check":
        return transaction_request([action], token=None)
    expression = Expression()
    update = _update_text(expression, action.steps) if action.kind == "update" else None
    condition = _condition_text(expression, action)
    common: dict[str, Any] = {
        "table_name": action.table,
        "condition_expression": condition,
        "expression_attribute_names": expression.names or None,
        "expression_attribute_values": expression.values or None,
        "return_values_on_condition_check_failure": "ALL_OLD" if condition else None,
    }
    if action.kind == "put":
        return wire.PutItem(item=action.item, **common)
    if action.kind == "delete":
        return wire.DeleteItem(key=action.key, return_values="ALL_OLD", **common)
    return wire.UpdateItem(key=action.key, update_expression=update, return_values="ALL_NEW", **common)


def transaction_request(actions: list[ItemAction], token: str | None) -> wire.TransactWriteItems:
    """The request for all of the actions or none; the token makes sending it twice safe."""
    return wire.TransactWriteItems(
        transact_items=[_transact_item(action) for action in actions],
        client_request_token=token,
    )


def _transact_item(action: ItemAction) -> wire.TransactWriteItem:
    expression = Expression()
    update = _update_text(expression, action.steps) if action.kind == "update" else None
    condition = _condition_text(expression, action)
    common: dict[str, Any] = {
        "table_name": action.table,
        "condition_expression": condition,
        "expression_attribute_names": expression.names or None,
        "expression_attribute_values": expression.values or None,
        "return_values_on_condition_check_failure": "ALL_OLD" if condition else None,
    }
    if action.kind == "put":
        return wire.TransactWriteItem(put=wire.Put(item=action.item, **common))
    if action.kind == "delete":
        return wire.TransactWriteItem(delete=wire.Delete(key=action.key, **common))
    if action.kind == "check":
        return wire.TransactWriteItem(condition_check=wire.ConditionCheck(key=action.key, **common))
    return wire.TransactWriteItem(update=wire.Update(key=action.key, update_expression=update, **common))


def _condition_text(expression: Expression, action: ItemAction) -> str | None:
    if not action.clauses:
        return None
    conditions = tuple(clause.condition for clause in action.clauses)
    return expression.condition(conditions[0] if len(conditions) == 1 else All(conditions))


def _update_text(expression: Expression, steps: dict[str, Step]) -> str:
    sections: dict[str, list[str]] = {"SET": [], "ADD": [], "DELETE": [], "REMOVE": []}
    for name, step in steps.items():
        here = expression.name(name)
        if isinstance(step, SetAttribute):
            sections["SET"].append(f"{here} = {expression.value(step.value)}")
        elif isinstance(step, IncrementAttribute):
            start, by = expression.value({"N": step.absent}), expression.value({"N": step.by})
            sections["SET"].append(f"{here} = if_not_exists({here}, {start}) + {by}")
        elif isinstance(step, AppendToList):
            start, more = expression.value({"L": []}), expression.value(step.values)
            sections["SET"].append(f"{here} = list_append(if_not_exists({here}, {start}), {more})")
        elif isinstance(step, AddToSet):
            sections["ADD"].append(f"{here} {expression.value(step.values)}")
        elif isinstance(step, DeleteFromSet):
            sections["DELETE"].append(f"{here} {expression.value(step.values)}")
        else:
            sections["REMOVE"].append(here)
    return " ".join(f"{word} {', '.join(parts)}" for word, parts in sections.items() if parts)
