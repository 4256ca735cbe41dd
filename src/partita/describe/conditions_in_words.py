"""A condition in words, for the page of a design."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from partita.describe.markdown import code
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

Names = Mapping[str, str]  # on disk, by those in Python


def condition_in_words(condition: Condition, names: Names = MappingProxyType({})) -> str:
    """The condition with the names of attributes on disk.

    >>> from partita.design.conditions import F
    >>> condition_in_words((F.status == "OPEN") & F.owner_id.exists(), {"owner_id": "ownerId"})
    '`status` = OPEN and `ownerId` exists'
    """
    match condition:
        case All(terms):
            return " and ".join(condition_in_words(each, names) for each in terms)
        case AnyOf(terms):
            return " or ".join(condition_in_words(each, names) for each in terms)
        case Not(Exists(field)):
            return f"{_field(field, names)} is absent"
        case Not(term):
            return f"not ({condition_in_words(term, names)})"
        case Exists(field):
            return f"{_field(field, names)} exists"
        case Comparison(operator, field, value):
            return f"{_field(field, names)} {operator} {_value(value, names)}"
        case SizeComparison(operator, field, value):
            return f"the size of {_field(field, names)} {operator} {_value(value, names)}"
        case OneOf(field, values):
            return f"{_field(field, names)} is {' or '.join(_value(each, names) for each in values)}"
        case FunctionCondition(function, field, value):
            return f"{_field(field, names)} {function.replace('_', ' ')} {_value(value, names)}"
    raise AssertionError(condition)


def _field(field: Field, names: Names) -> str:
    first, *others = map(str, field.path)
    return code(".".join([names.get(first, first), *others]))


def _value(value: Any, names: Names) -> str:
    return _field(value, names) if isinstance(value, Field) else str(getattr(value, "value", value))
