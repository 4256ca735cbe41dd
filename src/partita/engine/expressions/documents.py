"""Reading and comparing inside items: a path's value, equality, order."""

from base64 import b64decode
from decimal import Decimal
from typing import Any

from partita.dynamodb.values import AttributeValue, Item, type_of
from partita.engine.expressions.scope import ResolvedPath


def value_at(item: Item, path: ResolvedPath) -> AttributeValue | None:
    """The value that a path leads to, or None."""
    head: Any = path[0]
    value = item.get(head)
    for part in path[1:]:
        if value is None:
            return None
        if isinstance(part, int):
            members = value.get("L")
            value = members[part] if members is not None and part < len(members) else None
        else:
            members = value.get("M")
            value = members.get(part) if members is not None else None
    return value


def ordered(value: AttributeValue) -> Any:
    """A Python value that sorts as DynamoDB sorts the type; None for types without an order."""
    kind = type_of(value)
    if kind == "S":
        return value["S"].encode()
    if kind == "N":
        return Decimal(value["N"])
    if kind == "B":
        return b64decode(value["B"])
    return None


def compare(operator: str, left: AttributeValue | None, right: AttributeValue | None) -> bool:
    """DynamoDB's comparison: different types are never equal and have no order; absent is unequal even to absent."""
    if operator == "=":
        return left is not None and left == right
    if operator == "<>":
        return left is None or left != right
    if left is None or right is None or type_of(left) != type_of(right):
        return False
    low, high = ordered(left), ordered(right)
    if low is None:
        return False
    if operator == "<":
        return bool(low < high)
    if operator == "<=":
        return bool(low <= high)
    if operator == ">":
        return bool(low > high)
    return bool(low >= high)
