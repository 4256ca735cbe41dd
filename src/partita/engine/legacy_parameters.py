"""The legacy parameters: Expected, AttributeUpdates, KeyConditions, QueryFilter, ScanFilter."""

from collections.abc import Iterable, Mapping
from typing import Any

from partita.dynamodb import conditions as test
from partita.dynamodb.canonical import check_attribute_name, checked_value
from partita.dynamodb.conditions import Test
from partita.dynamodb.exceptions import INVALID, ValidationException
from partita.dynamodb.expression_nodes import Path, UpdateAction, UpdateNode, Value
from partita.dynamodb.requests import AttributeValueUpdate, Condition, ExpectedAttributeValue
from partita.dynamodb.values import SETS, AttributeValue, Item, sort_value, type_of
from partita.engine.expressions.condition import TEXT_OF_MEMBER, Predicate
from partita.engine.expressions.key_conditions import KeyCondition
from partita.engine.expressions.scope import Scope
from partita.engine.expressions.update import BoundUpdate, CompiledUpdate

_COMPARE = {"EQ": "=", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
MAX_VALUES = 1000
_COUNTS = {"NULL": 0, "NOT_NULL": 0, "BETWEEN": 2}
_SCALARS = ("S", "N", "B")
_TYPES = {
    **dict.fromkeys(("LE", "LT", "GE", "GT", "BETWEEN", "CONTAINS", "NOT_CONTAINS", "IN"), _SCALARS),
    "BEGINS_WITH": ("S", "B"),
}
_KEY_OPERATORS = {
    **{name: operator for name, operator in _COMPARE.items() if name != "NE"},
    "BETWEEN": "BETWEEN",
    "BEGINS_WITH": "begins_with",
}
_FUNCTIONS = {
    "NULL": "attribute_not_exists",
    "NOT_NULL": "attribute_exists",
    "BEGINS_WITH": "begins_with",
    "CONTAINS": "contains",
}


def filter_predicate(conditions: Mapping[str, Condition], operator: str | None) -> Predicate:
    """QueryFilter or ScanFilter as a predicate."""
    check_names(conditions)
    _check_count(conditions)
    tests = [_test(name, each.comparison_operator or "", _values(each)) for name, each in conditions.items()]
    return _combine(tests, operator)


def work_of(conditions: Mapping[str, Condition]) -> tuple[int, int]:
    """What the conditions take for one item, and their searches for members, as BoundCondition has them."""
    values = [value for each in conditions.values() for value in each.attribute_value_list or ()]
    texts = (len(content) // TEXT_OF_MEMBER for each in values for content in each.values() if type(content) is str)
    searches = sum(each.comparison_operator in ("CONTAINS", "NOT_CONTAINS") for each in conditions.values())
    return len(conditions) + len(values) + sum(texts), searches


def key_conditions(conditions: Mapping[str, Condition]) -> dict[str, KeyCondition]:
    """KeyConditions in the form of a parsed KeyConditionExpression."""
    check_names(conditions)
    found: dict[str, KeyCondition] = {}
    for name, condition in conditions.items():
        operator, values = condition.comparison_operator or "", _values(condition)
        if operator not in _KEY_OPERATORS:
            raise ValidationException("Attempted conditional constraint is not an indexable operation")
        found[name] = KeyCondition(_KEY_OPERATORS[operator], values)
    return found


def expected_predicate(expected: Mapping[str, ExpectedAttributeValue], operator: str | None) -> Predicate:
    """The Expected parameter as a predicate."""
    check_names(expected)
    _check_count(expected)
    return _combine([_expectation(name, each) for name, each in expected.items()], operator)


def attribute_updates(updates: Mapping[str, AttributeValueUpdate]) -> BoundUpdate:
    """AttributeUpdates as an update expression."""
    check_names(updates)
    values: Item = {}
    names: dict[str, str] = {}
    actions: list[UpdateAction] = []
    for number, (name, update) in enumerate(updates.items()):
        names[f"#n{number}"] = name
        path, value = Path((f"#n{number}",)), _update_value(update)
        if value is None:
            actions.append(UpdateAction("REMOVE", path, None))
            continue
        values[f":v{number}"] = value
        section = {"ADD": "ADD", "DELETE": "DELETE"}.get(update.action or "PUT", "SET")
        actions.append(UpdateAction(section, path, Value(f":v{number}")))
    scope = Scope(names or None, values or None)
    return BoundUpdate(CompiledUpdate(UpdateNode(tuple(actions)), scope, is_legacy=True), scope.values)


def check_names(names: Iterable[str]) -> None:
    for name in names:
        check_attribute_name(name)


def _check_count(conditions: Mapping[str, Any]) -> None:
    """Bounds the work for each item, as the size of an expression does."""
    count = len(conditions) + sum(len(each.attribute_value_list or ()) for each in conditions.values())
    if count > MAX_VALUES:
        raise ValidationException(f"{INVALID}Too many conditions and values: {count}; the limit is {MAX_VALUES}")


def check_conditional_operator(operator: str | None, conditions: Mapping[str, object] | None) -> None:
    """ConditionalOperator combines several conditions, and is rejected without them."""
    if operator is None:
        return
    if not conditions:
        raise ValidationException("ConditionalOperator cannot be used without Filter or Expected")
    if len(conditions) == 1:
        raise ValidationException(
            "ConditionalOperator can only be used when Filter or Expected has two or more elements"
        )


def _update_value(update: AttributeValueUpdate) -> AttributeValue | None:
    if update.value is None:
        if update.action != "DELETE":
            raise ValidationException(f"{INVALID}Only DELETE action is allowed when no attribute value is specified")
        return None
    value, _ = checked_value(update.value)
    kind = type_of(value)
    if update.action == "DELETE" and kind not in SETS:
        raise ValidationException(f"{INVALID}DELETE action with value is not supported for the type {kind}")
    if update.action == "ADD" and kind not in ("N", "L", *SETS):
        raise ValidationException(f"{INVALID}ADD action is not supported for the type {kind}")
    return value


def _values(condition: Any) -> list[AttributeValue]:
    """The arguments of a comparison, checked for number and type."""
    operator = condition.comparison_operator
    values = [checked_value(value)[0] for value in condition.attribute_value_list or []]
    right_number = bool(values) if operator == "IN" else len(values) == _COUNTS.get(operator, 1)
    if not right_number:
        raise ValidationException(f"{INVALID}Invalid number of argument(s) for the {operator} ComparisonOperator")
    kinds = {type_of(value) for value in values}
    if len(kinds) > 1:
        raise ValidationException(f"{INVALID}AttributeValues inside AttributeValueList must be of same type")
    for kind in kinds:
        if operator in _TYPES and kind not in _TYPES[operator]:
            raise ValidationException(
                f"{INVALID}ComparisonOperator {operator} is not valid for {kind} AttributeValue type"
            )
    if operator == "BETWEEN" and sort_value(values[0]) > sort_value(values[1]):
        raise ValidationException(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
        )
    return values


def _expectation(name: str, each: ExpectedAttributeValue) -> Test:
    if each.attribute_value_list is not None and each.value is not None:
        raise ValidationException(
            f"{INVALID}Value and AttributeValueList cannot be used together for Attribute: {name}"
        )
    if each.comparison_operator is not None:
        return _compared_expectation(name, each)
    if each.attribute_value_list is not None:
        raise ValidationException(
            f"{INVALID}AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}"
        )
    if each.exists is False:
        if each.value is not None:
            raise ValidationException(f"{INVALID}Value cannot be used when Exists is false for Attribute: {name}")
        return _test(name, "NULL", [])
    if each.value is None:
        shown = "null" if each.exists is None else "true"
        raise ValidationException(f"{INVALID}Value must be provided when Exists is {shown} for Attribute: {name}")
    return _test(name, "EQ", [checked_value(each.value)[0]])


def _compared_expectation(name: str, each: ExpectedAttributeValue) -> Test:
    operator = each.comparison_operator or ""
    if each.exists is not None:
        raise ValidationException(
            f"{INVALID}Exists and ComparisonOperator cannot be used together for Attribute: {name}"
        )
    if operator not in ("NULL", "NOT_NULL") and each.attribute_value_list is None and each.value is None:
        raise ValidationException(
            f"{INVALID}Value or AttributeValueList must be used with ComparisonOperator: {operator} "
            f"for Attribute: {name}"
        )
    values = each.attribute_value_list if each.value is None else [each.value]
    return _test(name, operator, _values(Condition(comparison_operator=operator, attribute_value_list=values)))


def _test(name: str, operator: str, values: list[AttributeValue]) -> Test:
    attribute, constants = test.attribute((name,)), [test.constant(value) for value in values]
    if operator in _COMPARE:
        return test.comparison(_COMPARE[operator], attribute, *constants)
    if operator == "IN":
        return test.membership(attribute, constants)
    if operator == "BETWEEN":
        return test.between(attribute, *constants)
    if operator in _FUNCTIONS:
        return test.function(_FUNCTIONS[operator], [attribute, *constants])
    lacks = test.negation(test.function("contains", [attribute, *constants]))
    return test.every([test.function("attribute_exists", [attribute]), lacks])


def _combine(tests: list[Test], operator: str | None) -> Predicate:
    combined = test.some(tests) if operator == "OR" else test.every(tests)
    return lambda item: combined(item, {})
