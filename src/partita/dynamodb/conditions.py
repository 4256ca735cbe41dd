"""The one evaluator of conditions on an item: small functions that compose into a test.

An operand gives a value, or None where the item has none; a test answers true or false. Both take an item and the
values of the request's placeholders, so that one test serves every request of the same form:

    expensive = comparison(">", attribute(("price",)), placeholder(":limit"))
    expensive({"price": {"N": "12"}}, {":limit": {"N": "10"}})  ->  True

Values must be in canonical form (`canonical`): equal values are then equal as Python objects.
"""

from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from partita.dynamodb.canonical import binary_size, text_size
from partita.dynamodb.values import COMPARISONS, SETS, AttributeValue, Item, ResolvedPath, type_of, value_at

Operand: TypeAlias = Callable[[Item, Item], AttributeValue | None]
Test: TypeAlias = Callable[[Item, Item], bool]


def attribute(path: ResolvedPath) -> Operand:
    """The value at a document path."""
    if len(path) == 1:
        name: Any = path[0]
        return lambda item, values: item.get(name)
    return lambda item, values: value_at(item, path)


def placeholder(name: str) -> Operand:
    """The value of a placeholder."""
    return lambda item, values: values[name]


def constant(value: AttributeValue) -> Operand:
    return lambda item, values: value


def size_of(operand: Operand) -> Operand:
    """The function `size`."""
    return lambda item, values: size(operand(item, values))


def every(tests: Sequence[Test]) -> Test:
    """AND."""

    def test(item: Item, values: Item) -> bool:
        for each in tests:  # noqa: SIM110 - a loop takes half the time of all() over a generator
            if not each(item, values):
                return False
        return True

    return test


def some(tests: Sequence[Test]) -> Test:
    """OR."""

    def test(item: Item, values: Item) -> bool:
        for each in tests:  # noqa: SIM110 - as above
            if each(item, values):
                return True
        return False

    return test


def negation(test: Test) -> Test:
    """NOT."""
    return lambda item, values: not test(item, values)


def comparison(operator: str, left: Operand, right: Operand) -> Test:
    """`=`, `<>`, `<`, `<=`, `>` or `>=`."""
    compare = COMPARISONS[operator]
    return lambda item, values: compare(left(item, values), right(item, values))


def between(operand: Operand, low: Operand, high: Operand) -> Test:
    """BETWEEN; both bounds are included."""
    at_least, at_most = COMPARISONS[">="], COMPARISONS["<="]

    def test(item: Item, values: Item) -> bool:
        value = operand(item, values)
        return at_least(value, low(item, values)) and at_most(value, high(item, values))

    return test


def membership(operand: Operand, choices: Sequence[Operand]) -> Test:
    """IN."""

    def test(item: Item, values: Item) -> bool:
        value = operand(item, values)
        return value is not None and any(value == choice(item, values) for choice in choices)

    return test


def function(name: str, arguments: Sequence[Operand]) -> Test:
    """A function of DynamoDB's that is a condition by itself, such as `begins_with`."""
    first = arguments[0]
    if name == "attribute_exists":
        return lambda item, values: first(item, values) is not None
    if name == "attribute_not_exists":
        return lambda item, values: first(item, values) is None
    check, second = _FUNCTIONS[name], arguments[1]
    return lambda item, values: check(first(item, values), second(item, values))


def size(value: AttributeValue | None) -> AttributeValue | None:
    """Bytes of text and binary, members of a collection; None for other types."""
    if value is None:
        return None
    kind = type_of(value)
    if kind == "S":
        return {"N": str(text_size(value["S"]))}
    if kind == "B":
        return {"N": str(binary_size(value["B"]))}
    if kind in ("L", "M", *SETS):
        return {"N": str(len(value[kind]))}
    return None


def begins_with(value: AttributeValue | None, prefix: AttributeValue | None) -> bool:
    if value is None or prefix is None:
        return False
    if "S" in value and "S" in prefix:
        return bool(value["S"].startswith(prefix["S"]))
    return "B" in value and "B" in prefix and b64decode(value["B"]).startswith(b64decode(prefix["B"]))


def contains(value: AttributeValue | None, wanted: AttributeValue | None) -> bool:
    """A substring of text or binary, a member of a set, or an element of a list."""
    if value is None or wanted is None:
        return False
    kind, wanted_kind = type_of(value), type_of(wanted)
    if kind == "L":
        return wanted in value["L"]
    if SETS.get(kind) == wanted_kind:
        return wanted[wanted_kind] in value[kind]
    if kind == wanted_kind == "S":
        return wanted["S"] in value["S"]
    return kind == wanted_kind == "B" and b64decode(wanted["B"]) in b64decode(value["B"])


def has_type(value: AttributeValue | None, type_name: AttributeValue | None) -> bool:
    return value is not None and type_name is not None and type_of(value) == type_name["S"]


_FUNCTIONS: dict[str, Callable[[AttributeValue | None, AttributeValue | None], bool]] = {
    "attribute_type": has_type,
    "begins_with": begins_with,
    "contains": contains,
}
