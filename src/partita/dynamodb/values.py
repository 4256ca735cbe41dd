"""Attribute values as DynamoDB JSON has them: `{"S": "text"}`, `{"N": "12.5"}`, `{"L": [...]}`.

Binary stays base64 text and numbers stay text, exactly as they travel. To a type checker a value is a plain dict; to
the decoder it is a TypedDict, so that a wrong type inside a value is found while the bytes are read.
"""

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

    # The decoder takes no Raw in a union; a member that is absent keeps its default, which is None.
    OptionalRaw = Raw


Item: TypeAlias = dict[str, AttributeValue]

TYPES = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")
SETS = {"SS": "S", "NS": "N", "BS": "B"}
KEY_TYPES = ("S", "N", "B")


def type_of(value: AttributeValue) -> str:
    """The one type name of a checked value.

    >>> type_of({"N": "1"})
    'N'
    """
    return next(iter(value))
