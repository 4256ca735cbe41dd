"""Clauses that judge the new value of an attribute: its transitions, and the bounds of its type."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache, partial
from typing import Any

import msgspec

from partita.design.conditions import AnyOf, Comparison, Condition, Field
from partita.design.key_parts import EXACT
from partita.design.markers import Transitions
from partita.design.models import Attribute, Model
from partita.design.untyped_values import number_text
from partita.dynamodb.values import Item
from partita.errors import Fault, InvalidTransition
from partita.plan.actions import Clause, absent, equals
from partita.plan.edits import Add, Edit
from partita.plan.predicates import evaluate
from partita.validation import FaultyValue, invalid_value


@cache
def judged_by_value(model: Model) -> frozenset[str]:
    """The attributes of which a step says too little: their new value must be an allowed one."""
    found = {attribute.field for attribute, _ in model.transitions}
    found |= {
        each.field
        for each in model.attributes.values()
        if any(m.min_length or m.max_length is not None or m.multiple_of is not None for m in each.metas)
    }
    return frozenset(found)


def transition_clauses(model: Model, edits: Mapping[str, Edit]) -> Iterator[Clause]:
    for attribute, transitions in model.transitions:
        edit = edits.get(attribute.field)
        if edit is None:
            continue
        to = edit.value
        before = [each for each, following in transitions.allowed.items() if to in list(following)]
        allowed = [attribute.codec.encode(each) for each in (*before, to)]
        if attribute.member.default in (*before, to):
            allowed.append(None)  # an older item without the attribute has its default
        conditions = tuple(equals(attribute.name, value) for value in allowed)
        yield Clause(AnyOf(conditions), partial(_transition_error, model, attribute, transitions, to))


def bound_clauses(model: Model, edits: Mapping[str, Edit]) -> Iterator[Clause]:
    """A number stays within the bounds of its type when something is added to it, unread."""
    for name, metas in bounded_fields(model).items():
        edit = edits.get(name)
        if not isinstance(edit, Add):
            continue
        attribute = model.attributes[name]
        step = Decimal(number_text(edit.value))
        for meta in metas:
            bounds = {"<=": meta.le, "<": meta.lt} if step > 0 else {">=": meta.ge, ">": meta.gt}
            for operator, bound in bounds.items():
                if bound is not None:
                    yield _bound_clause(model, attribute, step, operator, bound)


@cache
def bounded_fields(model: Model) -> dict[str, tuple[msgspec.Meta, ...]]:
    """The attributes whose types have constraints."""
    return {each.field: metas for each in model.attributes.values() if (metas := tuple(each.metas))}


def _bound_clause(model: Model, attribute: Attribute, step: Decimal, operator: str, bound: Any) -> Clause:
    most = EXACT.subtract(Decimal(number_text(bound)), step)
    within: Condition = Comparison(operator, Field((attribute.name,)), {"N": str(most)})
    default = attribute.member.default_when_absent
    start = Decimal(number_text(default)) if isinstance(default, int | float | Decimal) else Decimal(0)
    if evaluate(within, {attribute.name: {"N": str(start)}}):
        within = within | absent(attribute.name)
    fault = FaultyValue(Fault("bound", operator=operator, limit=str(bound)))
    return Clause(within, lambda _: invalid_value(fault, model.name, attribute.field))


def _transition_error(
    model: Model, attribute: Attribute, transitions: Transitions, to: Any, item: Item
) -> InvalidTransition:
    """The error of a transition from what the item holds: one of the declared values, or whatever is stored."""
    stored = item.get(attribute.name)
    if stored is None:
        return InvalidTransition(model.name, attribute.field, to, attribute.member.default_when_absent)
    known = [each for before, following in transitions.allowed.items() for each in (before, *following)]
    same = (each for each in known if each is not None and attribute.codec.encode(each) == stored)
    return InvalidTransition(model.name, attribute.field, to, next(same, next(iter(stored.values()))))
