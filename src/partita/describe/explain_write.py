"""The explanation of a write: each item that it changes, the conditions, the request, and the cost."""

from collections.abc import Callable

import msgspec

from partita.design.models import Model
from partita.design.own_rules import rule_fields
from partita.design.tables import Index
from partita.dynamodb.canonical import item_size
from partita.dynamodb.capacity import write_units
from partita.dynamodb.request_tables import with_table_names
from partita.dynamodb.values import AttributeValue, Item
from partita.plan.actions import (
    AddToSet,
    AppendToList,
    DeleteFromSet,
    IncrementAttribute,
    ItemAction,
    RemoveAttribute,
    SetAttribute,
    SetIfAbsent,
    Step,
    combine,
)
from partita.plan.changes import ItemChange, needs_read, plan_blind_change
from partita.plan.condition_expressions import Expression
from partita.plan.creating_changes import can_create_unread, check_can_create, plan_creation, plan_unread_creation
from partita.plan.design import Design
from partita.plan.edits import Assign
from partita.plan.items import derivations, key_text
from partita.plan.races import ParentMissing
from partita.plan.write_requests import single_request, transaction_request


def explain_actions(title: str, model: Model, actions: list[ItemAction], table_name: Callable[[str], str] = str) -> str:
    """The explanation of planned actions, in lines; `table_name` gives the backend's name of a table."""
    joined = combine(actions)
    alone = len(joined) == 1 and joined[0].kind != "check"
    request = single_request(joined[0]) if alone else transaction_request(joined, token=None)
    lines = [f"{title}: one {type(request).__name__}" + ("" if alone else f" of {len(joined)} actions")]
    for action in joined:
        lines += _action_lines(action)
    body = msgspec.json.format(msgspec.json.encode(with_table_names(request, table_name)), indent=2).decode()
    lines += [f"  cost     {_cost(model, joined, alone)}", f"  request  {type(request).__name__}"]
    return "\n".join([*lines, *(f"           {line}" for line in body.splitlines())])


def explain_change(design: Design, change: ItemChange, table_name: Callable[[str], str] = str) -> str:
    """The explanation of a change; where it needs a read, the attributes that it reads and why."""
    title = f"change {change.model.name}"
    if change.create:
        return _explain_creating_change(design, change, table_name)
    if not needs_read(design, change):
        return explain_actions(title, change.model, plan_blind_change(design, change), table_name)
    touched = set(change.edits)
    known = {*change.key, *(name for name, edit in change.edits.items() if isinstance(edit, Assign))}
    lines = [f"{title}: one GetItem, then one conditional write; repeated if the item changes in between"]
    for group in derivations(change.model):
        missing = sorted(group.fields - known)
        if group.fields & touched and missing:
            lines.append(f"  reads    {', '.join(missing)}, for {', '.join(group.names)}")
    rules = rule_fields(change.model)
    if rules & change.all_edits.keys():
        lines.append(f"  reads    {', '.join(sorted(rules))}, for __post_init__")
    invariants = [f"{change.model.name}.{each.name}" for each in change.model.uniques if set(each.fields) & touched]
    counters = design.counters.get(change.model, ())
    invariants += [f"{each.parent.name}.{each.attribute.field}" for each in counters if each.fields & touched]
    if invariants:
        lines.append(f"  updates  {', '.join(invariants)}")
    return "\n".join(lines)


def _explain_creating_change(design: Design, change: ItemChange, table_name: Callable[[str], str]) -> str:
    title = f"change or create {change.model.name}"
    check_can_create(change)
    if can_create_unread(design, change):
        return explain_actions(title, change.model, plan_unread_creation(change), table_name)
    creation = explain_actions("  without an item", change.model, plan_creation(design, change), table_name)
    change = msgspec.structs.replace(change, create=False)
    existing = explain_change(design, change, table_name)
    return f"{title}: one GetItem, then one write\n{creation}\n  with an item: {existing}"


def _action_lines(action: ItemAction) -> list[str]:
    lines = [f"  {action.kind:<8} {action.entity} {key_text(action.key)}"]
    lines += [f"           {_step(name, step)}" for name, step in action.steps.items()]
    for clause in action.clauses:
        error = clause.on_failure({})
        shown = type(error.otherwise if isinstance(error, ParentMissing) else error).__name__
        lines.append(f"           if {_InlinedExpression().condition(clause.condition)}, else {shown}")
    return lines


class _InlinedExpression(Expression):
    """An expression with its names and values in place of the placeholders."""

    def name(self, *path: str) -> str:
        return ".".join(path)

    def value(self, value: AttributeValue) -> str:
        return _text(value)


def _step(name: str, step: Step) -> str:
    match step:
        case SetAttribute(value):
            return f"{name} = {_text(value)}"
        case SetIfAbsent(value):
            return f"{name} = {_text(value)}, if it is absent"
        case IncrementAttribute(by):
            return f"{name} += {by}"
        case DeleteFromSet(values):
            return f"{name} -= {_text(values)}"
        case AppendToList(values) | AddToSet(values):
            return f"{name} += {_text(values)}"
        case RemoveAttribute():
            return f"remove {name}"


def _text(value: AttributeValue) -> str:
    return str(next(iter(value.values())))


def _cost(model: Model, actions: list[ItemAction], alone: bool) -> str:
    times = 1 if alone else 2
    table = sum(times * write_units(0, item_size(action.item)) for action in actions if action.item is not None)
    others = sum(1 for action in actions if action.item is None)
    parts = [f"{table:g} for the items that are put"] if table else []
    if others:
        parts.append(f"{others} x {times} per KB of each item that is updated, checked or deleted")
    for action in actions:
        if action.item is not None and action.entity == model.name and action is actions[0]:
            parts += [f"{units:g} for {name}" for name, units in _index_units(model, action.item).items()]
    return "write units: " + ", ".join(parts)


def _index_units(model: Model, item: Item) -> dict[str, float]:
    """Write units of each index that a new item is in; vector indexes are billed by the byte."""
    return {
        index.name: write_units(0, item_size(_projected(index, model, item)))
        for index in model.table.indexes
        if all(name in item for name in index.pk + index.sk)
    }


def _projected(index: Index, model: Model, item: Item) -> Item:
    if index.project == "ALL":
        return item
    included = () if index.project == "KEYS_ONLY" else index.project
    names = {*model.table.key_names, *index.pk, *index.sk, *included}
    return {name: value for name, value in item.items() if name in names}
