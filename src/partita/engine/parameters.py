"""The parameters that many operations share: which go together, conditions, projections."""

from collections.abc import Sequence
from typing import Any

from partita.dynamodb.exceptions import INVALID, RequestValidationException, ValidationException
from partita.dynamodb.values import ResolvedPath
from partita.engine import legacy_parameters
from partita.engine.constraints import Constraint
from partita.engine.expressions.condition import Bound, condition_in
from partita.engine.expressions.parse import parse_projection
from partita.engine.expressions.projection import resolved_paths
from partita.engine.expressions.scope import Scope, run_expression


def pascal(field: str) -> str:
    """A member's name on the wire: `key_conditions` is `KeyConditions`."""
    name = Constraint(field).wire_name
    return name[0].upper() + name[1:]


def check_combination(request: Any, expressions: Sequence[str], legacy_fields: Sequence[str]) -> None:
    """Expressions and the older parameters exclude each other, and placeholders need an expression."""
    used = [field for field in expressions if getattr(request, field) is not None]
    old = [field for field in legacy_fields if getattr(request, field) is not None]
    if used and old:
        raise RequestValidationException(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(map(pascal, old))}}} "
            f"Expression parameters: {{{', '.join(map(pascal, used))}}}"
        )
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


def scope_of(request: Any) -> Scope | None:
    """The request's placeholders; None when it has none, as most have."""
    names, values = request.expression_attribute_names, getattr(request, "expression_attribute_values", None)
    return None if names is None and values is None else Scope(names, values)


_NO_PLACEHOLDERS = Scope()


def bound_condition(parameter: str, source: str, scope: Scope | None) -> Bound:
    """A condition or filter expression, ready to be held against items."""
    result: Bound = run_expression(parameter, lambda: condition_in(source, scope or _NO_PLACEHOLDERS))
    return result


def condition_of(request: Any, scope: Scope | None) -> Bound | None:
    """The condition of a write, in either form."""
    if request.condition_expression is not None:
        return bound_condition("ConditionExpression", request.condition_expression, scope)
    expected = getattr(request, "expected", None)
    if expected is not None:
        return Bound(legacy_parameters.expected_predicate(expected, request.conditional_operator), [])
    return None


def projection_of(request: Any, scope: Scope | None) -> list[ResolvedPath] | None:
    """The paths that a read asks for, in either form; None: whole items."""
    if request.projection_expression is not None:
        paths: list[ResolvedPath] = run_expression(
            "ProjectionExpression",
            lambda: resolved_paths(parse_projection(request.projection_expression), scope or _NO_PLACEHOLDERS),
        )
        return paths
    names = getattr(request, "attributes_to_get", None)
    if names is None:
        return None
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ValidationException(f"{INVALID}Duplicate value in attribute name: {name}")
    return [(name,) for name in names]
