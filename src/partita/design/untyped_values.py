"""Untyped values (`Any`) and numbers: to DynamoDB JSON and back."""

import base64
import enum
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any
from unicodedata import normalize
from uuid import UUID

import msgspec

from partita.design.timestamps import time_text
from partita.dynamodb import limits
from partita.dynamodb.values import AttributeValue

_EASY = 10**limits.NUMBER_DIGITS  # smaller integers need no check of their digits
_EXACT = Context(prec=80)  # more than DynamoDB's 38 digits, so nothing is rounded
_NATIVE = (bytes, datetime, date, Decimal, UUID)


def number_text(value: Any) -> str:
    """The text of a number for DynamoDB; a ValueError where DynamoDB cannot store it.

    It has no exponent, as in what DynamoDB returns: a key that was read is compared with one that is made.

    >>> number_text(Decimal("1.50")), number_text(Decimal("1E-9"))
    ('1.50', '0.000000001')
    """
    if type(value) is int and -_EASY < value < _EASY:
        return str(value)
    if not isinstance(value, int | float | Decimal):
        raise ValueError(f"{value!r} is not a number")
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise ValueError(f"{value} is not a number that DynamoDB stores")
    digits = number.as_tuple().digits
    if len(digits) > limits.NUMBER_DIGITS and len("".join(map(str, digits)).strip("0")) > limits.NUMBER_DIGITS:
        raise ValueError(f"{value} has more than the {limits.NUMBER_DIGITS} digits that DynamoDB stores")
    if number and not limits.NUMBER_MIN_EXPONENT <= number.adjusted() <= limits.NUMBER_MAX_EXPONENT:
        raise ValueError(f"{value} is larger or smaller than the numbers that DynamoDB stores")
    text = str(number)
    return f"{number:f}" if "E" in text else text


def normalized_decimal(value: Decimal) -> Decimal:
    """A number as it will be read back: DynamoDB drops trailing zeros.

    >>> normalized_decimal(Decimal("1.50")), normalized_decimal(Decimal("1E+3"))
    (Decimal('1.5'), Decimal('1000'))
    """
    number_text(value)  # raises before a huge exponent is expanded to digits
    number = value.normalize(_EXACT)
    return Decimal(int(number)) if number == number.to_integral_value() else number


def open_number(value: float | Decimal) -> int | Decimal:
    """A number in an untyped value, as it will be read back.

    >>> open_number(1.5), open_number(Decimal("1E+3"))
    (Decimal('1.5'), 1000)
    """
    if isinstance(value, int):
        return value
    number = normalized_decimal(Decimal(repr(value)) if isinstance(value, float) else value)
    return int(number) if number == number.to_integral_value() else number


def unicode_text(value: Any) -> str:
    """The text; a ValueError where it is not text, or not valid Unicode.

    >>> unicode_text("é")
    'é'
    """
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("it contains a lone surrogate and is not valid Unicode") from None
    return str.__str__(value)


def nfc_text(value: Any) -> str:
    """The text in Unicode's composed form, in which it is part of a key: the same text has one key.

    >>> len("e\u0301"), len(nfc_text("e\u0301"))
    (2, 1)
    """
    if type(value) is str and value.isascii():
        return value
    return normalize("NFC", unicode_text(value))


def map_name(name: Any) -> str:
    """The name of a map's member; a ValueError where it is empty."""
    if name == "":
        raise ValueError("the name of a map's member cannot be empty")
    return unicode_text(name)


def any_value(value: Any, depth: int = 0) -> AttributeValue:
    """A Python value of any type in DynamoDB JSON."""
    if isinstance(value, enum.Enum):
        return any_value(value.value, depth)
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": unicode_text(value)}
    if isinstance(value, int | float | Decimal):
        text = number_text(value)
        return {"N": text if isinstance(value, int) else str(open_number(value))}
    if isinstance(value, bytes):
        return {"B": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"S": time_text(value)}
    if isinstance(value, date):
        return {"S": value.isoformat()}
    if isinstance(value, UUID):
        return {"S": str(value)}
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value, builtin_types=_NATIVE)
    if isinstance(value, set | frozenset) and value:
        return _any_set(value)
    if isinstance(value, Mapping | list | tuple):
        return _any_members(value, depth)
    raise ValueError(f"{value!r} cannot be stored in DynamoDB")


def _any_set(value: Set[Any]) -> AttributeValue:
    tags = {next(iter(any_value(each))) for each in value}
    if len(tags) > 1 or not tags <= {"S", "N", "B"}:
        raise ValueError("a set must contain only texts, only numbers or only bytes")
    (tag,) = tags
    return {tag + "S": sorted(any_value(each)[tag] for each in value)}


def _any_members(value: Mapping[Any, Any] | Sequence[Any], depth: int) -> AttributeValue:
    if depth >= limits.NESTING_LEVELS - 1:
        raise ValueError(f"it is nested deeper than the {limits.NESTING_LEVELS} levels that DynamoDB allows")
    if isinstance(value, Mapping):
        return {"M": {map_name(name): any_value(each, depth + 1) for name, each in value.items()}}
    return {"L": [any_value(each, depth + 1) for each in value]}


def plain(value: AttributeValue) -> Any:
    """The Python value of an untyped attribute value."""
    ((tag, held),) = value.items()
    if tag == "N":
        return _plain_number(held)
    if tag == "L":
        return [plain(each) for each in held]
    if tag == "M":
        return {name: plain(each) for name, each in held.items()}
    if tag == "B":
        return base64.b64decode(held)
    if tag in ("SS", "NS", "BS"):
        return {plain({tag[0]: each}) for each in held}
    return None if tag == "NULL" else held


def _plain_number(text: str) -> int | Decimal:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number
