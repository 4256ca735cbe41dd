"""Key conditions: from a tree to one condition for each key attribute, and from these to a contiguous range of keys."""

from typing import NamedTuple

from partita.dynamodb.exceptions import INVALID, ValidationException
from partita.dynamodb.expression_nodes import (
    AndNode,
    BetweenNode,
    CompareNode,
    ConditionNode,
    FunctionCall,
    InNode,
    NotNode,
    Operand,
    OrNode,
    Path,
    Value,
)
from partita.dynamodb.values import AttributeValue
from partita.engine import key_encoding
from partita.engine.expressions.cache import ExpressionCache
from partita.engine.expressions.condition import check_between
from partita.engine.expressions.parse import parse_condition
from partita.engine.expressions.scope import Scope
from partita.engine.expressions.tokens import ExpressionError
from partita.engine.schema import KeySchema

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class KeyCondition(NamedTuple):
    """`operator` is a comparison, BETWEEN or begins_with; there are two values for BETWEEN, else one."""

    operator: str
    values: list[AttributeValue]


class KeyInterval(NamedTuple):
    """Storage keys low <= key < high, which all begin with the hash of the partition."""

    low: bytes
    high: bytes | None
    partition: bytes


class _UnboundCondition(NamedTuple):
    """A condition on one attribute, whose values are placeholders."""

    attribute: str
    operator: str
    values: list[str]


def key_conditions(text: str, scope: Scope) -> dict[str, KeyCondition]:
    """The conditions by attribute; raises DynamoDB's error for anything but one condition on each key."""
    given = scope.values
    return {
        name: KeyCondition(operator, [given[placeholder] for placeholder in values])
        for name, operator, values in _compiled(text, scope)
    }


def _unbound_conditions(tree: ConditionNode, scope: Scope) -> list[_UnboundCondition]:
    found: dict[str, _UnboundCondition] = {}
    for condition in _conjuncts(tree):
        wanted = _unbound_condition(condition, scope)
        if wanted.attribute in found:
            raise ValidationException("KeyConditionExpressions must only contain one condition per key")
        found[wanted.attribute] = wanted
    return list(found.values())


def _conjuncts(tree: ConditionNode) -> list[ConditionNode]:
    if isinstance(tree, AndNode):
        return [each for condition in tree.conditions for each in _conjuncts(condition)]
    return [tree]


def _unbound_condition(condition: ConditionNode, scope: Scope) -> _UnboundCondition:
    match condition:
        case OrNode():
            raise _operator_error("OR")
        case NotNode():
            raise _operator_error("NOT")
        case InNode():
            raise _operator_error("IN")
        case CompareNode("<>", _, _):
            raise _operator_error("<>")
        case CompareNode(operator, left, right):
            if isinstance(left, Value) and isinstance(right, Path):
                left, right, operator = right, left, _MIRRORED[operator]
            name = _attribute(left, right, scope)
            return _UnboundCondition(name, operator, [_value(right, scope)])
        case BetweenNode(operand, low, high):
            name = _key_operand(operand, "BETWEEN", scope)
            first, last = _value(low, scope), _value(high, scope)
            scope.check_values(lambda values: check_between(values[first], values[last]))
            return _UnboundCondition(name, "BETWEEN", [first, last])
        case FunctionCall("begins_with", arguments):
            return _begins_with(arguments, scope)
        case FunctionCall("size", _):
            raise ValidationException("KeyConditionExpressions cannot contain nested operations")
        case FunctionCall(function, _):
            raise _operator_error(function)
    raise _operator_error("AND")


def _begins_with(arguments: tuple[Operand, ...], scope: Scope) -> _UnboundCondition:
    if len(arguments) != 2:
        raise ExpressionError(
            "Incorrect number of operands for operator or function; "
            f"operator or function: begins_with, number of operands: {len(arguments)}"
        )
    name = _key_operand(arguments[0], "begins_with", scope)
    prefix = _value(arguments[1], scope)
    if (kind := scope.type_of_value(prefix)) not in ("S", "B"):
        raise ExpressionError(
            f"Incorrect operand type for operator or function; operator or function: begins_with, operand type: {kind}"
        )
    return _UnboundCondition(name, "begins_with", [prefix])


def _operator_error(operator: str) -> ValidationException:
    return ValidationException(f"Invalid operator used in KeyConditionExpression: {operator}")


def _attribute(left: Operand, right: Operand, scope: Scope) -> str:
    if isinstance(left, Path) and isinstance(right, Path):
        raise ValidationException(
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
        )
    if isinstance(left, FunctionCall) or isinstance(right, FunctionCall):
        raise ValidationException("KeyConditionExpressions cannot contain nested operations")
    if not isinstance(left, Path):
        raise ValidationException("Invalid condition in KeyConditionExpression: No key attribute specified")
    return _top_level(left, scope)


def _key_operand(operand: Operand, operator: str, scope: Scope) -> str:
    if not isinstance(operand, Path):
        raise ValidationException(
            f"Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute "
            "as its first operand"
        )
    return _top_level(operand, scope)


def _top_level(path: Path, scope: Scope) -> str:
    resolved = scope.path(path)
    if len(resolved) > 1:
        raise ValidationException("KeyConditionExpressions cannot have conditions on nested attributes")
    return str(resolved[0])


def _value(operand: Operand, scope: Scope) -> str:
    """The placeholder of a value."""
    if isinstance(operand, Value):
        scope.value(operand.name)
        return operand.name
    if isinstance(operand, Path):
        raise ValidationException(
            "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
        )
    raise ValidationException("KeyConditionExpressions cannot contain nested operations")


def key_range(keys: KeySchema, conditions: dict[str, KeyCondition]) -> KeyInterval:
    """The range of the conditions: `=` on the partition, and at most one range, on the last sort key."""
    _check_conditions(keys, conditions)
    partition = key_encoding.partition_hash([conditions[key.name].values[0] for key in keys.partition])
    prefix = partition
    for key in keys.sort:
        condition = conditions.get(key.name)
        if condition is None:
            break
        if condition.operator != "=":
            low, high = _bounds(prefix, condition)
            return KeyInterval(low, high, partition)
        prefix += key_encoding.sort_bytes(condition.values[0])
    return KeyInterval(prefix, key_encoding.prefix_end(prefix), partition)


def _check_conditions(keys: KeySchema, conditions: dict[str, KeyCondition]) -> None:
    if len(keys.partition) > 1 or len(keys.sort) > 1:
        _check_composite(keys, conditions)
    for key in keys.partition:
        if key.name not in conditions:
            raise _missing_key_error(key.name)
    given = [key.name in conditions for key in keys.sort]
    if len(conditions) > len(keys.partition) + sum(given):
        if not keys.sort or all(given):
            raise ValidationException("Query key condition not supported")
        raise _missing_key_error(keys.sort[given.index(False)].name)
    for key in keys.all:
        condition = conditions.get(key.name)
        if condition and any(key.type not in value for value in condition.values):
            raise ValidationException(f"{INVALID}Condition parameter type does not match schema type")
    for key in keys.partition:
        if conditions[key.name].operator != "=":
            raise ValidationException("Query key condition not supported")


def _check_composite(keys: KeySchema, conditions: dict[str, KeyCondition]) -> None:
    """Checks the conditions on a composite key: every HASH, and every RANGE before the last one used, has `=`."""

    def without_equality(names: list[str]) -> list[str]:
        return [name for name in names if name not in conditions or conditions[name].operator != "="]

    partition, sort = [key.name for key in keys.partition], [key.name for key in keys.sort]
    if missing := without_equality(partition):
        raise ValidationException(
            f"HASH key attributes {', '.join(missing)} must have equality conditions specified in the query"
        )
    for at in range(1, len(sort)):
        if sort[at] in conditions and (missing := without_equality(sort[:at])):
            raise ValidationException(
                f"RANGE key attributes {', '.join(missing)} must have equality conditions specified in the query "
                f"because a condition is present on key attribute {sort[at]}"
            )


def _missing_key_error(name: str) -> ValidationException:
    return ValidationException(f"Query condition missed key schema element: {name}")


def _bounds(prefix: bytes, condition: KeyCondition) -> tuple[bytes, bytes | None]:
    first = condition.values[0]
    end = key_encoding.prefix_end(prefix)
    if condition.operator == "begins_with":
        start = prefix + key_encoding.escape(key_encoding.scalar_bytes(first))
        return start, key_encoding.prefix_end(start)
    at = prefix + key_encoding.sort_bytes(first)
    match condition.operator:
        case "<":
            return prefix, at
        case "<=":
            return prefix, key_encoding.prefix_end(at)
        case ">":
            return key_encoding.prefix_end(at) or end or at, end
        case ">=":
            return at, end
        case _:
            return at, key_encoding.prefix_end(prefix + key_encoding.sort_bytes(condition.values[1]))


_compiled = ExpressionCache(lambda text, scope: _unbound_conditions(parse_condition(text), scope))
