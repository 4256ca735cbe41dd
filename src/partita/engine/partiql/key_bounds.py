"""The keys that a WHERE determines: one item, or the ranges of keys of its items."""

from collections.abc import Collection, Mapping
from itertools import product
from math import prod

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.expression_nodes import (
    AndNode,
    BetweenNode,
    CompareNode,
    ConditionNode,
    FunctionCall,
    InNode,
    Operand,
    Path,
    Value,
)
from partita.dynamodb.values import AttributeValue, Item, sort_value
from partita.engine.expressions.key_conditions import KeyCondition, KeyInterval, key_range
from partita.engine.expressions.scope import Scope
from partita.engine.schema import KeySchema, KeySchemaAttribute, check_not_empty

MAX_RANGES = 10_000  # combinations of the values of IN; a statement with more is read more widely and filtered
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def exact_key(keys: KeySchema, where: ConditionNode | None, scope: Scope) -> tuple[Item, ConditionNode | None]:
    """The key that WHERE determines by equality, and its other conditions; raises where a key attribute is missing."""
    placeholders, rest = key_placeholders(keys.names, where)
    return placed_key(keys, placeholders, scope), rest


def key_placeholders(
    names: Collection[str], where: ConditionNode | None
) -> tuple[dict[str, str], ConditionNode | None]:
    """The placeholders of the values of key attributes in WHERE, and its other conditions."""
    found: dict[str, str] = {}
    rest: list[ConditionNode] = []
    for condition in _conjuncts(where):
        match condition:
            case CompareNode("=", Path((str(name),)), Value(value)) if name in names and name not in found:
                found[name] = value
            case CompareNode("=", Value(value), Path((str(name),))) if name in names and name not in found:
                found[name] = value
            case _:
                rest.append(condition)
    if len(found) < len(names):
        raise ValidationException("Where clause does not contain a mandatory equality on all key attributes")
    return found, _conjunction(rest)


def placed_key(keys: KeySchema, placeholders: Mapping[str, str], scope: Scope) -> Item:
    """The key with the values of a request, whose types are checked."""
    key = {name: scope.value(placeholder) for name, placeholder in placeholders.items()}
    for attribute in keys.all:
        check_type(attribute, key[attribute.name])
    return key


def fixes_key(keys: KeySchema, where: ConditionNode | None, scope: Scope) -> bool:
    """Whether WHERE has equality on every key attribute."""
    found = [_key_condition(condition, scope) for condition in _conjuncts(where)]
    fixed = {each[0] for each in found if each and each[1].operator == "="}
    return fixed >= set(keys.names)


def key_ranges(keys: KeySchema, where: ConditionNode | None, scope: Scope) -> list[KeyInterval] | None:
    """The ranges of all items of a SELECT, in the order of their values; None where it needs a Scan.

    They only narrow the read: the whole WHERE is evaluated on each item that is read.
    """
    known: dict[str, list[KeyCondition]] = {}
    for condition in _conjuncts(where):
        found = _key_condition(condition, scope)
        if found:
            known.setdefault(found[0], []).append(found[1])
    for attribute in keys.all:
        for each in known.get(attribute.name, []):
            for value in each.values:
                check_type(attribute, value)
                check_not_empty(attribute.name, value, None)
    fixed = [values for key in keys.partition if (values := _equal_values(known.get(key.name, []))) is not None]
    count = prod(map(len, fixed))
    if len(fixed) < len(keys.partition) or count > MAX_RANGES:
        return None
    sort, ranged = _sort_conditions(keys, known, MAX_RANGES // count)
    names = [attribute.name for attribute in [*keys.partition, *sort]]
    choices = product(*fixed, *(_equal_values(known[key.name]) or [] for key in sort))
    ranges: dict[bytes, KeyInterval] = {}
    for chosen in choices:
        equal = {name: KeyCondition("=", [value]) for name, value in zip(names, chosen, strict=True)}
        whole = _intersection([key_range(keys, equal | each) for each in ranged or [{}]])
        if whole.high is None or whole.low < whole.high:
            ranges[whole.low] = whole
    return list(ranges.values())


def _sort_conditions(
    keys: KeySchema, known: dict[str, list[KeyCondition]], most: int
) -> tuple[list[KeySchemaAttribute], list[dict[str, KeyCondition]]]:
    """The leading sort attributes with equality or IN, of at most `most` values, and the conditions on the next one."""
    fixed: list[KeySchemaAttribute] = []
    for attribute in keys.sort:
        conditions = known.get(attribute.name, [])
        values = _equal_values(conditions)
        if values is None:
            return fixed, [{attribute.name: each} for each in conditions]
        most //= len(values)
        if not most:  # the ranges of the attributes before are wider, and WHERE is evaluated on their items
            break
        fixed.append(attribute)
    return fixed, []


def _equal_values(conditions: list[KeyCondition]) -> list[AttributeValue] | None:
    """The values of an attribute's equality or IN; None without one."""
    for condition in conditions:
        if condition.operator in ("=", "IN"):
            return sorted(condition.values, key=sort_value)
    return None


def _intersection(ranges: list[KeyInterval]) -> KeyInterval:
    highs = [each.high for each in ranges if each.high is not None]
    return KeyInterval(max(each.low for each in ranges), min(highs) if highs else None, ranges[0].partition)


def _conjuncts(where: ConditionNode | None) -> list[ConditionNode]:
    if where is None:
        return []
    if isinstance(where, AndNode):
        return [each for condition in where.conditions for each in _conjuncts(condition)]
    return [where]


def _conjunction(conditions: list[ConditionNode]) -> ConditionNode | None:
    if len(conditions) > 1:
        return AndNode(tuple(conditions))
    return conditions[0] if conditions else None


def _key_condition(condition: ConditionNode, scope: Scope) -> tuple[str, KeyCondition] | None:
    """The attribute and condition of a comparison of one top-level attribute with values; None for any other."""
    match condition:
        case CompareNode(operator, Path((str(name),)), Value(value)) if operator in _MIRRORED:
            return name, KeyCondition(operator, [scope.value(value)])
        case CompareNode(operator, Value(value), Path((str(name),))) if operator in _MIRRORED:
            return name, KeyCondition(_MIRRORED[operator], [scope.value(value)])
        case BetweenNode(Path((str(name),)), Value(low), Value(high)):
            return name, KeyCondition("BETWEEN", [scope.value(low), scope.value(high)])
        case FunctionCall("begins_with", (Path((str(name),)), Value(value))):
            return name, KeyCondition("begins_with", [scope.value(value)])
        case InNode(Path((str(name),)), choices):
            values = _values(choices, scope)
            return (name, KeyCondition("IN", values)) if values is not None else None
    return None


def _values(choices: tuple[Operand, ...], scope: Scope) -> list[AttributeValue] | None:
    found = [scope.value(choice.name) for choice in choices if isinstance(choice, Value)]
    return found if len(found) == len(choices) else None


def check_type(attribute: KeySchemaAttribute, value: AttributeValue) -> None:
    """Checks that a value has the type of the key attribute."""
    if attribute.type not in value:
        raise ValidationException(
            f"Key attribute's data type should match its data type in table's schema: Key {attribute.name}"
        )
