"""A condition as text: in a fingerprint, on the page of a design, in the studio."""

import enum
from collections.abc import Callable
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
from partita.design.models import Model

ShowField = Callable[[Field], str]


def path_text(field: Field) -> str:
    """Its path with the names in Python."""
    return ".".join(field.path)


def stored_path(model: Model) -> ShowField:
    """Shows a field with the name under which the attribute is stored."""
    names = {each.field: each.name for each in model.attributes.values()}

    def show(field: Field) -> str:
        first, *members = field.path
        return ".".join([names.get(first, first), *members])

    return show


def condition_text(condition: Condition, show: ShowField = path_text) -> str:
    """The condition in words; a field looks as `show` says, by default with its name in Python.

    >>> from partita.design.conditions import F
    >>> condition_text((F.status == "OPEN") & (F.owner_id.exists() | ~F.sold_at.exists()))
    'status = OPEN and (owner_id exists or sold_at is absent)'
    """

    def grouped(term: Condition) -> str:
        text = condition_text(term, show)
        return f"({text})" if isinstance(term, All | AnyOf) else text

    def operand(value: Any) -> str:
        if isinstance(value, Field):
            return show(value)
        return str(value.value if isinstance(value, enum.Enum) else value)

    match condition:
        case All(terms):
            return " and ".join(map(grouped, terms))
        case AnyOf(terms):
            return " or ".join(map(grouped, terms))
        case Not(Exists(field)):
            return f"{show(field)} is absent"
        case Not(term):
            return f"not {grouped(term)}"
        case Exists(field):
            return f"{show(field)} exists"
        case Comparison(operator, field, value):
            return f"{show(field)} {operator} {operand(value)}"
        case SizeComparison(operator, field, value):
            return f"size of {show(field)} {operator} {operand(value)}"
        case OneOf(field, (value,)):
            return f"{show(field)} = {operand(value)}"
        case OneOf(field, values):
            return f"{show(field)} in ({', '.join(map(operand, values))})"
        case FunctionCondition(function, field, value):
            return f"{function}({show(field)}, {operand(value)})"
    raise AssertionError(condition)
