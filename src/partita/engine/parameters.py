"""Parameters that several operations share: their combinations, conditions and projections."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from partita.dynamodb.exceptions import INVALID, RequestValidationException, ValidationException
from partita.dynamodb.values import ResolvedPath
from partita.engine import legacy_parameters
from partita.engine.constraints import Constraint
from partita.engine.expressions.condition import BoundCondition, condition_of_text
from partita.engine.expressions.parse import parse_projection
from partita.engine.expressions.projection import resolve_paths
from partita.engine.expressions.scope import Scope, run_expression


def pascal(field: str) -> str:
    """The wire name of a member: `key_conditions` is `KeyConditions`."""
    name = Constraint(field).wire_name
    return name[0].upper() + name[1:]


def check_combination(request: Any, expressions: Sequence[str], legacy_fields: Sequence[str]) -> None:
    """Rejects expressions beside legacy parameters, and placeholders without an expression."""
    used = [field for field in expressions if getattr(request, field) is not None]
    old = [field for field in legacy_fields if getattr(request, field) is not None]
    check_one_form(used, old)
    if used and used != ["projection_expression"]:
        return
    if request.expression_attribute_names is not None and not used:
        raise ValidationException("ExpressionAttributeNames can only be specified when using expressions")
    with_values = [field for field in expressions if field != "projection_expression"]
    values = getattr(request, "expression_attribute_values", None)
    if values is not None:
        verb = "is" if len(with_values) == 1 else "are"
        raise RequestValidationException(
            "ExpressionAttributeValues can only be specified when using expressions: "
            f"{' and '.join(map(pascal, with_values))} {verb} null"
        )


def check_one_form(expressions: Sequence[str], legacy_fields: Sequence[str]) -> None:
    """Rejects a request that has expressions beside legacy parameters."""
    if expressions and legacy_fields:
        raise RequestValidationException(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(map(pascal, legacy_fields))}}} "
            f"Expression parameters: {{{', '.join(map(pascal, expressions))}}}"
        )


def scope_of(request: Any) -> Scope | None:
    """The placeholders of a request; None when it has none."""
    names, values = request.expression_attribute_names, getattr(request, "expression_attribute_values", None)
    return None if names is None and values is None else Scope(names, values)


_NO_PLACEHOLDERS = Scope()


def parse_condition_parameter(parameter: str, source: str, scope: Scope | None) -> BoundCondition:
    """Parses a condition or filter expression and binds its values."""
    result: BoundCondition = run_expression(parameter, lambda: condition_of_text(source, scope or _NO_PLACEHOLDERS))
    return result


def condition_of(request: Any, scope: Scope | None) -> BoundCondition | None:
    """The condition of a write, in either form."""
    if request.condition_expression is not None:
        return parse_condition_parameter("ConditionExpression", request.condition_expression, scope)
    expected = getattr(request, "expected", None)
    legacy_parameters.check_conditional_operator(getattr(request, "conditional_operator", None), expected)
    if expected is not None:
        return BoundCondition(legacy_parameters.expected_predicate(expected, request.conditional_operator), [])
    return None


def projection_of(request: Any, scope: Scope | None) -> list[ResolvedPath] | None:
    """The projected paths of a read, in either form; None for whole items."""
    if request.projection_expression is not None:
        paths: list[ResolvedPath] = run_expression(
            "ProjectionExpression",
            lambda: resolve_paths(parse_projection(request.projection_expression), scope or _NO_PLACEHOLDERS),
        )
        return paths
    names = getattr(request, "attributes_to_get", None)
    if names is None:
        return None
    legacy_parameters.check_names(names)
    for name, count in Counter(names).items():
        if count > 1:
            raise ValidationException(f"{INVALID}Duplicate value in attribute name: {name}")
    return [(name,) for name in names]
