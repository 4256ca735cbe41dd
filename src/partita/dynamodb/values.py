"""Attribute values in DynamoDB JSON (`{"S": "text"}`, `{"N": "12.5"}`, `{"L": [...]}`), and how they compare.

Binary stays base64 text and numbers stay text, exactly as on the wire. To a type checker a value is a plain dict; to
the decoder it is a TypedDict, so that a wrong type inside a value is found while the bytes are decoded.
"""

import operator
from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Raw

if TYPE_CHECKING:
    AttributeValue: TypeAlias = dict[str, Any]
    OptionalRaw: TypeAlias = Raw | None
else:
    from typing import TypedDict

    class AttributeValue(TypedDict, total=False):
        S: str
        N: str
        B: str
        BOOL: bool
        NULL: bool
        SS: list[str]
        NS: list[str]
        BS: list[str]
        L: list["AttributeValue"]
        M: dict[str, "AttributeValue"]

    # The decoder does not accept Raw in a union; an absent member keeps its default, which is None.
    OptionalRaw = Raw


Item: TypeAlias = dict[str, AttributeValue]

ResolvedPath: TypeAlias = tuple[str | int, ...]
"""A document path without placeholders: names of attributes and map members, indexes of list elements."""

Comparison: TypeAlias = Callable[[AttributeValue | None, AttributeValue | None], bool]

TYPES = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")
SETS = {"SS": "S", "NS": "N", "BS": "B"}
KEY_TYPES = ("S", "N", "B")


def type_of(value: AttributeValue) -> str:
    """The one type name of a checked value.

    >>> type_of({"N": "1"})
    'N'
    """
    return next(iter(value))


def value_at(item: Item, path: ResolvedPath) -> AttributeValue | None:
    """The value at a document path; None where the item has nothing there."""
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


def sort_value(value: AttributeValue) -> Any:
    """A Python value that sorts as DynamoDB sorts values of this type; None for types without an order.

    Python orders text by code point, and DynamoDB by its UTF-8 bytes: these are the same order.

    >>> sort_value({"N": "10"}) > sort_value({"N": "9.5"}), sort_value({"BOOL": True})
    (True, None)
    """
    kind = type_of(value)
    if kind == "S":
        return value["S"]
    if kind == "N":
        return Decimal(value["N"])
    return b64decode(value["B"]) if kind == "B" else None


def _equal(left: AttributeValue | None, right: AttributeValue | None) -> bool:
    return left is not None and left == right


def _unequal(left: AttributeValue | None, right: AttributeValue | None) -> bool:
    return left is None or left != right


def _in_order(in_order: Callable[[Any, Any], bool]) -> Comparison:
    def compare(left: AttributeValue | None, right: AttributeValue | None) -> bool:
        if left is None or right is None or type_of(left) != type_of(right):
            return False
        low = sort_value(left)
        return low is not None and in_order(low, sort_value(right))

    return compare


COMPARISONS: dict[str, Comparison] = {
    "=": _equal,
    "<>": _unequal,
    "<": _in_order(operator.lt),
    "<=": _in_order(operator.le),
    ">": _in_order(operator.gt),
    ">=": _in_order(operator.ge),
}
"""DynamoDB's comparisons of values in canonical form; None is an absent attribute.

Values of different types are never equal and have no order; an absent attribute is unequal even to an absent one.
"""
