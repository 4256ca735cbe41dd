"""Evaluates a design's conditions on stored items, with DynamoDB's own semantics (`dynamodb.conditions`).

This decides which index keys an item has, what it counts for, whether it expires, and, after a failed write, which
clause of its condition the item fails.
"""

from collections.abc import Callable
from functools import cache

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
from partita.dynamodb import conditions as test
from partita.dynamodb.canonical import canonical_value
from partita.dynamodb.values import AttributeValue, Item
from partita.plan.condition_expressions import to_encoded

Predicate = Callable[[Item], bool]


def evaluate(condition: Condition, item: Item) -> bool:
    """Whether a condition on stored attributes is true of an item."""
    return _test(condition)(item, {})


@cache
def design_predicate(model: Model, condition: Condition) -> Predicate:
    """A condition that is part of a design, such as a counter's `when`, as a function of a stored item."""
    return predicate(model, condition)


def predicate(model: Model, condition: Condition) -> Predicate:
    """The same for a condition that is built for one use, which is not remembered."""
    evaluated = _test(to_encoded(model, condition))
    return lambda item: evaluated(item, {})


def _test(condition: Condition) -> test.Test:
    match condition:
        case All(terms):
            return test.every([_test(term) for term in terms])
        case AnyOf(terms):
            return test.some([_test(term) for term in terms])
        case Not(term):
            return test.negation(_test(term))
        case Exists(field):
            return test.function("attribute_exists", [test.attribute(field.path)])
        case Comparison(operator, field, value):
            return test.comparison(operator, _operand(field), _operand(value))
        case SizeComparison(operator, field, value):
            return test.comparison(operator, test.size_of(_operand(field)), _operand(value))
        case OneOf(field, values):
            return test.membership(_operand(field), [_operand(value) for value in values])
        case FunctionCondition(function, field, value):
            return test.function(function, [_operand(field), _operand(value)])
    raise AssertionError(condition)


def _operand(operand: object) -> test.Operand:
    """A field or a value; a backend other than ours may return sets in any order, so both are made canonical."""
    if not isinstance(operand, Field):
        assert isinstance(operand, dict)
        return test.constant(canonical_value(operand))
    at = test.attribute(operand.path)

    def canonical(item: Item, values: Item) -> AttributeValue | None:
        value = at(item, values)
        return value if value is None or "S" in value else canonical_value(value)

    return canonical
