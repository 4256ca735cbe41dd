"""From actions to the requests that DynamoDB gets.

The texts of the expressions depend on the form of an action alone, not on its values, so they are rendered once.
"""

from functools import lru_cache
from typing import Any

from partita.design.conditions import (
    All,
    AnyOf,
    Comparison,
    Condition,
    Exists,
    Field,
    FunctionCondition,
    Not,
    OneOf,
    SizeComparison,
)
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
    rendered, values = _expressions(action)
    if action.kind == "put":
        return wire.PutItem(item=action.item, expression_attribute_values=values, **rendered)
    if action.kind == "delete":
        returned = "ALL_OLD"
        return wire.DeleteItem(key=action.key, expression_attribute_values=values, return_values=returned, **rendered)
    return wire.UpdateItem(key=action.key, expression_attribute_values=values, return_values="ALL_NEW", **rendered)


def transaction_request(actions: list[ItemAction], token: str | None) -> wire.TransactWriteItems:
    """The request for all of the actions or none; the token makes sending it twice safe."""
    return wire.TransactWriteItems(
        transact_items=[_transact_item(action) for action in actions],
        client_request_token=token,
    )


def _transact_item(action: ItemAction) -> wire.TransactWriteItem:
    rendered, values = _expressions(action)
    if action.kind == "put":
        return wire.TransactWriteItem(put=wire.Put(item=action.item, expression_attribute_values=values, **rendered))
    if action.kind == "delete":
        return wire.TransactWriteItem(
            delete=wire.Delete(key=action.key, expression_attribute_values=values, **rendered)
        )
    if action.kind == "check":
        check = wire.ConditionCheck(key=action.key, expression_attribute_values=values, **rendered)
        return wire.TransactWriteItem(condition_check=check)
    return wire.TransactWriteItem(update=wire.Update(key=action.key, expression_attribute_values=values, **rendered))


def _expressions(action: ItemAction) -> tuple[dict[str, Any], dict[str, AttributeValue] | None]:
    """The members of a request that follow from the form of the action, and its expression's values."""
    values: list[AttributeValue] = []
    form: list[Any] = [action.kind, action.table]
    for name, step in action.steps.items():
        form += (name, type(step))
        if type(step) is SetAttribute:
            values.append(step.value)
        else:
            values += step.operands
    conditions = _distinct_conditions(action, form, values)
    key = tuple(form)
    rendered = _rendered.get(key)
    if rendered is None:
        if len(_rendered) >= _MOST_FORMS:
            _rendered.clear()
        rendered = _rendered[key] = _render(action, conditions)
    return rendered, dict(zip(_placeholders(len(values)), values, strict=True)) if values else None


def _distinct_conditions(action: ItemAction, form: list[Any], values: list[AttributeValue]) -> list[Condition]:
    """Each condition of the action once, since the children of one parent all need that it exists.

    Their forms and values are added to those of the action.
    """
    found: list[Condition] = []
    seen: dict[Form, list[list[AttributeValue]]] = {}
    for clause in action.clauses:
        operands: list[AttributeValue] = []
        each = _form(clause.condition, operands)
        earlier = seen.setdefault(each, [])
        if operands not in earlier:
            earlier.append(operands)
            form.append(each)
            values += operands
            found.append(clause.condition)
    return found


_MOST_FORMS = 4096
_rendered: dict[Form, dict[str, Any]] = {}


@lru_cache(maxsize=256)
def _placeholders(count: int) -> tuple[str, ...]:
    return tuple(f":v{at}" for at in range(count))


def _form(condition: Condition, values: list[AttributeValue]) -> Form:
    """The form of a condition; its values are added in the order in which `Expression` renders them."""
    if type(condition) is Comparison:
        if type(condition.value) is Field:
            return condition.operator, condition.field.path, condition.value.path
        values.append(condition.value)
        return condition.operator, condition.field.path
    if type(condition) is Exists:
        return condition.field.path
    if type(condition) is Not:
        return "NOT", _form(condition.term, values)
    if type(condition) is All or type(condition) is AnyOf:
        return type(condition), *[_form(term, values) for term in condition.terms]
    if type(condition) is SizeComparison:
        return "size", _form(Comparison(condition.operator, condition.field, condition.value), values)
    if type(condition) is OneOf:
        values += condition.values
        return "IN", condition.field.path, len(condition.values)
    assert isinstance(condition, FunctionCondition)
    values.append(condition.value)
    return condition.function, condition.field.path


def _render(action: ItemAction, conditions: list[Condition]) -> dict[str, Any]:
    """The members of a request that actions of the same form have in common."""
    expression = Expression()
    found: dict[str, Any] = {"table_name": action.table}
    if action.kind == "update":
        found["update_expression"] = update = _update_text(expression, action.steps)
        check_length(action.entity, update, "the changes")
    if conditions:
        whole = conditions[0] if len(conditions) == 1 else All(tuple(conditions))
        found["condition_expression"] = condition = expression.condition(whole)
        found["return_values_on_condition_check_failure"] = "ALL_OLD"
        check_length(action.entity, condition)
    found["expression_attribute_names"] = expression.names or None
    return found


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
