"""Canonical form and size of attribute values, and DynamoDB's validation of them, in one pass.

In canonical form numbers are written as DynamoDB writes them, and sets are sorted. Two equal values are then equal as
Python objects, and an item always has the same bytes. The functions never modify their argument; a value that is
already canonical is returned as it is.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal
from operator import itemgetter
from typing import Any

from partita.dynamodb.exceptions import (
    INVALID,
    DynamoDBError,
    ItemTooLarge,
    NestingTooDeep,
    RequestValidationException,
    SerializationException,
    ValidationException,
)
from partita.dynamodb.limits import ATTRIBUTE_NAME_BYTES, ITEM_BYTES, NESTING_LEVELS
from partita.dynamodb.numbers import canonical_number, measured_number, measured_numbers, number_size
from partita.dynamodb.values import AttributeValue, Item

_MANY = 8  # members of a list that may be worth a look at all of them together
_number_of = itemgetter("N")

Checked = tuple[AttributeValue, int]
ItemIdentity = tuple[str, ...]

_EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
_SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
)
_TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)


def checked_item(item: Item) -> tuple[Item, int]:
    """The item in canonical form, and its size in bytes with names; raises DynamoDB's error for an invalid value."""
    size = 0
    changed: Item = {}
    if "" in item:
        check_attribute_name("")
    if len(item) > ITEM_BYTES:
        raise ItemTooLarge()
    for name, value in item.items():
        text = value.get("S")
        if type(text) is str and len(value) == 1:
            size += len(name) + len(text) if name.isascii() and text.isascii() else text_size(name) + text_size(text)
            continue
        canonical, value_size = checked_value(value)
        size += text_size(name) + value_size
        if canonical is not value:
            changed[name] = canonical
    if size > ATTRIBUTE_NAME_BYTES:
        for name in item:
            check_attribute_name(name)
    return ({**item, **changed} if changed else item), size


def check_attribute_name(name: str) -> None:
    """Raises DynamoDB's error for a name that is empty or too long."""
    if not name:
        raise ValidationException("Empty attribute name")
    if len(name) * 4 > ATTRIBUTE_NAME_BYTES and text_size(name) > ATTRIBUTE_NAME_BYTES:
        raise ValidationException(f"Attribute name is too large, must be less than {ATTRIBUTE_NAME_BYTES + 1} bytes")


def checked_value(value: AttributeValue, depth: int = 0) -> Checked:
    """The value in canonical form, and its size in bytes; raises DynamoDB's error for an invalid value."""
    if len(value) != 1:
        raise _not_one_type(value, depth)
    ((kind, content),) = value.items()
    if kind == "S" and type(content) is str:
        return value, text_size(content)
    try:
        check = _CHECKS[kind]
    except KeyError:
        raise ValidationException(_EMPTY) from None
    canonical, size = check(content, depth)
    return (value if canonical is content else {kind: canonical}), size


def canonical_value(value: AttributeValue) -> AttributeValue:
    """The value in canonical form; a value that DynamoDB would reject is returned as it is.

    >>> canonical_value({"M": {"sizes": {"NS": ["10", "9.0"]}}})
    {'M': {'sizes': {'NS': ['9', '10']}}}
    """
    try:
        return checked_value(value)[0]
    except (DynamoDBError, UnicodeError):
        return value


def equal_items(one: Item, other: Item) -> bool:
    """Whether two items are equal to DynamoDB: numbers by value, sets in any order.

    >>> equal_items({"n": {"N": "1.0"}, "s": {"SS": ["b", "a"]}}, {"s": {"SS": ["a", "b"]}, "n": {"N": "1"}})
    True
    """
    return one.keys() == other.keys() and all(
        canonical_value(value) == canonical_value(other[name]) for name, value in one.items()
    )


def item_identity(table: str, key: Item) -> ItemIdentity:
    """Identifies one item among those of all tables.

    >>> item_identity("orders", {"PK": {"S": "CUSTOMER#1"}, "SK": {"N": "1.0"}})
    ('orders', 'CUSTOMER#1', '1')
    """
    identity = [table]
    for name in sorted(key) if len(key) > 1 else key:
        value = key[name]
        identity.append(value.get("S") or next(iter(canonical_value(value).values())))
    return tuple(identity)


def text_size(text: str) -> int:
    """The number of bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def binary_size(base64_text: str) -> int:
    """The number of bytes that valid base64 text encodes."""
    return len(base64_text) // 4 * 3 - base64_text.endswith("=") - base64_text.endswith("==")


def item_size(item: Item) -> int:
    """Size in bytes of a whole item."""
    return sum(attribute_size(name, item) for name in item)


def attribute_size(name: str, item: Item) -> int:
    """Size in bytes of one attribute with its name; 0 if the item, which is checked, does not have it."""
    value = item.get(name)
    if value is None:
        return 0
    if (text := value.get("S")) is not None:
        return text_size(name) + text_size(text)
    number = value.get("N")
    return text_size(name) + (checked_value(value) if number is None else measured_number(number))[1]


def _not_one_type(value: AttributeValue, depth: int) -> ValidationException:
    """The error for a value of no type or several; DynamoDB reports an invalid content first."""
    for kind, content in value.items():
        checked_value({kind: content}, depth)
    return ValidationException(_SEVERAL if value else _EMPTY)


def _expect(content: Any, expected: type, name: str) -> None:
    if type(content) is not expected:
        raise SerializationException(f"{type(content).__name__} cannot be converted to {name}")


def _text(content: Any, depth: int) -> tuple[Any, int]:
    _expect(content, str, "String")
    return content, text_size(content)


def _number(content: Any, depth: int) -> tuple[Any, int]:
    _expect(content, str, "String")
    canonical, size = measured_number(content)
    return (content if canonical == content else canonical), size


def _binary(content: Any, depth: int) -> tuple[Any, int]:
    _expect(content, str, "Blob")
    check_base64(content)
    return content, binary_size(content)


def check_base64(text: str) -> None:
    """Raises SerializationException unless `text` is padded, canonical base64."""
    if len(text) % 4:
        raise SerializationException(f"Base64 encoded length is expected a multiple of 4 bytes but found: {len(text)}")
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        raise SerializationException("Invalid Base64 character in the input") from None


def _boolean(content: Any, depth: int) -> tuple[Any, int]:
    _expect(content, bool, "Boolean")
    return content, 1


def _null(content: Any, depth: int) -> tuple[Any, int]:
    _expect(content, bool, "Boolean")
    if not content:
        raise RequestValidationException(INVALID + "Null attribute value types must have the value of true")
    return content, 1


def _string_set(content: Any, depth: int) -> tuple[Any, int]:
    _expect_members(content)
    if not content:
        raise RequestValidationException(INVALID + "An string set  may not be empty")
    if len(set(content)) != len(content):
        raise RequestValidationException(f"{INVALID}Input collection [{', '.join(content)}] contains duplicates.")
    return _sorted(content, str.encode), sum(map(text_size, content))


def _number_set(content: Any, depth: int) -> tuple[Any, int]:
    _expect_members(content)
    if not content:
        raise RequestValidationException(INVALID + "An number set  may not be empty")
    canonical = [canonical_number(text) for text in content]
    if len(set(canonical)) != len(canonical):
        raise RequestValidationException("Input collection contains duplicates")
    ordered = sorted(canonical, key=Decimal)
    return (content if ordered == content else ordered), sum(map(number_size, canonical))


def _binary_set(content: Any, depth: int) -> tuple[Any, int]:
    _expect_members(content)
    if not content:
        raise RequestValidationException(INVALID + "Binary sets should not be empty")
    for text in content:
        check_base64(text)
    if len(set(content)) != len(content):
        raise RequestValidationException(
            f"{INVALID}Input collection [{', '.join(content)}]of type BS contains duplicates."
        )
    return _sorted(content, b64decode), sum(map(binary_size, content))


def _expect_members(content: Any) -> None:
    _expect(content, list, "List")
    if len(content) > ITEM_BYTES // 2:  # distinct members have two bytes or more on average
        raise ItemTooLarge()
    for member in content:
        _expect(member, str, "String")


def _sorted(content: list[str], key: Callable[[str], bytes]) -> list[str]:
    ordered = sorted(content, key=key)
    return content if ordered == content else ordered


def _list(content: Any, depth: int) -> tuple[Any, int]:
    _expect(content, list, "List")
    if depth >= NESTING_LEVELS - 1:
        raise NestingTooDeep(_TOO_DEEP)
    if len(content) > ITEM_BYTES:
        raise ItemTooLarge()
    size = 3 + len(content)
    if len(content) >= _MANY and (texts := _all_numbers(content)) is not None:
        numbers, numbers_size = measured_numbers(texts)
        return (content if numbers is texts else [{"N": text} for text in numbers]), size + numbers_size
    members = []
    same = True
    for member in content:
        canonical, member_size = checked_value(member, depth + 1)
        members.append(canonical)
        size += member_size
        same = same and canonical is member
    return (content if same else members), size


def _all_numbers(content: list[Any]) -> list[str] | None:
    """The texts of the members of a list that are all numbers, such as a vector; None for any other."""
    try:
        texts = list(map(_number_of, content))
        return texts if sum(map(len, content)) == len(content) and set(map(type, texts)) == {str} else None
    except (TypeError, KeyError):
        return None


def _map(content: Any, depth: int) -> tuple[Any, int]:
    _expect(content, dict, "Map")
    if depth >= NESTING_LEVELS - 1:
        raise NestingTooDeep(_TOO_DEEP)
    size = 3 + len(content)
    changed: Item = {}
    if "" in content:
        check_attribute_name("")
    if len(content) > ITEM_BYTES:
        raise ItemTooLarge()
    for name, member in content.items():
        canonical, member_size = checked_value(member, depth + 1)
        size += text_size(name) + member_size
        if canonical is not member:
            changed[name] = canonical
    if size > ATTRIBUTE_NAME_BYTES:
        for name in content:
            check_attribute_name(name)
    return ({**content, **changed} if changed else content), size


_CHECKS: dict[str, Callable[[Any, int], tuple[Any, int]]] = {
    "S": _text,
    "N": _number,
    "B": _binary,
    "BOOL": _boolean,
    "NULL": _null,
    "SS": _string_set,
    "NS": _number_set,
    "BS": _binary_set,
    "L": _list,
    "M": _map,
}
