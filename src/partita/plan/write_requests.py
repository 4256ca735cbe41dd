"""From actions to the requests that DynamoDB gets.

The texts of the expressions depend on the form of an action alone, not on its values, so they are rendered once.
"""

from functools import lru_cache
from typing import Any

from partita.design.conditions import All, AnyOf, Comparison, Condition, Exists, Field, Not, OneOf, SizeComparison
from partita.dynamodb import requests as wire
from partita.dynamodb.values import AttributeValue
from partita.plan.actions import (
    AddToSet,
    AppendToList,
    DeleteFromSet,
    IncrementAttribute,
    ItemAction,
    SetAttribute,
    SetIfAbsent,
    Step,
)
from partita.plan.condition_expressions import Expression, check_length

Form = tuple[Any, ...]  # everything of an action that its expressions depend on


def single_request(action: ItemAction) -> wire.Request[Any]:
    """The request of one action alone."""
    if action.kind == "check":
        return transaction_request([action], token=None)
    update, common = _expressions(action)
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
    update, common = _expressions(action)
    if action.kind == "put":
        return wire.TransactWriteItem(put=wire.Put(item=action.item, **common))
    if action.kind == "delete":
        return wire.TransactWriteItem(delete=wire.Delete(key=action.key, **common))
    if action.kind == "check":
        return wire.TransactWriteItem(condition_check=wire.ConditionCheck(key=action.key, **common))
    return wire.TransactWriteItem(update=wire.Update(key=action.key, update_expression=update, **common))


def _expressions(action: ItemAction) -> tuple[str | None, dict[str, Any]]:
    """The update expression, and the members that requests have in common."""
    values: list[AttributeValue] = []
    form: list[Any] = []
    for name, step in action.steps.items():
        form += (name, type(step))
        values += step.operands
    for clause in action.clauses:
        form.append(_form(clause.condition, values))
    key = tuple(form)
    found = _rendered.get(key)
    if found is None:
        found = _render(action, [clause.condition for clause in action.clauses])
        if len(_rendered) >= _MOST_FORMS:
            _rendered.clear()
        _rendered[key] = found
    update, condition, names = found
    common = {
        "table_name": action.table,
        "condition_expression": condition,
        "expression_attribute_names": names or None,
        "expression_attribute_values": dict(zip(_placeholders(len(values)), values, strict=True)) or None,
        "return_values_on_condition_check_failure": "ALL_OLD" if condition else None,
    }
    return update, common


_MOST_FORMS = 4096
_rendered: dict[Form, tuple[str | None, str | None, dict[str, str]]] = {}


@lru_cache(maxsize=256)
def _placeholders(count: int) -> tuple[str, ...]:
    return tuple(f":v{at}" for at in range(count))


def _form(condition: Condition, values: list[AttributeValue]) -> Form:
    """The form of a condition; its values are added in the order in which `Expression` renders them."""
    kind = type(condition)
    if isinstance(condition, Comparison):
        if isinstance(condition.value, Field):
            return condition.operator, condition.field.path, condition.value.path
        values.append(condition.value)
        return condition.operator, condition.field.path
    if isinstance(condition, SizeComparison):
        if isinstance(condition.value, Field):
            return "size", condition.operator, condition.field.path, condition.value.path
        values.append(condition.value)
        return "size", condition.operator, condition.field.path
    if isinstance(condition, Exists):
        return condition.field.path
    if isinstance(condition, Not):
        return "NOT", _form(condition.term, values)
    if isinstance(condition, All | AnyOf):
        return kind, *[_form(term, values) for term in condition.terms]
    if isinstance(condition, OneOf):
        values += condition.values
        return "IN", condition.field.path, len(condition.values)
    values.append(condition.value)  # type: ignore[attr-defined]
    return condition.function, condition.field.path  # type: ignore[attr-defined]


def _render(action: ItemAction, conditions: list[Condition]) -> tuple[str | None, str | None, dict[str, str]]:
    expression = Expression()
    update = _update_text(expression, action.steps) if action.steps else None
    whole = conditions[0] if len(conditions) == 1 else All(tuple(conditions))
    condition = expression.condition(whole) if conditions else None
    check_length(action.entity, update or "", "the changes")
    check_length(action.entity, condition or "")
    return update, condition, expression.names


def _update_text(expression: Expression, steps: dict[str, Step]) -> str:
    sections: dict[str, list[str]] = {"SET": [], "ADD": [], "DELETE": [], "REMOVE": []}
    for name, step in steps.items():
        here = expression.name(name)
        if isinstance(step, SetAttribute):
            sections["SET"].append(f"{here} = {expression.value(step.value)}")
        elif isinstance(step, SetIfAbsent):
            sections["SET"].append(f"{here} = if_not_exists({here}, {expression.value(step.value)})")
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
