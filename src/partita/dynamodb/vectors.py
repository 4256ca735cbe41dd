"""Vectors as DynamoDB stores them: a list of numbers in the item, 32-bit floats in a vector index.

The messages are those of the service, as the conformance suite of dynoxide recorded them in August 2026.
"""

import sys
from array import array
from collections.abc import Sequence
from decimal import Decimal
from operator import itemgetter

import msgspec

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.values import AttributeValue, type_of

FLOAT_BYTES = 4
_INVALID = "One or more parameter values were invalid. "
_number_of = itemgetter("N")
_decode_floats = msgspec.json.Decoder(list[float]).decode
_SWAPPED = sys.byteorder == "big"
_RANGE = "[-3.4028235E38, 3.4028235E38]"
_INFINITE = (b"\0\0\x80\x7f", b"\0\0\x80\xff")


def float32_bytes(numbers: Sequence[AttributeValue]) -> bytes | None:
    """The numbers as little-endian 32-bit floats; None where one is not a number, or too large for such a float.

    >>> float32_bytes([{"N": "1"}, {"N": "-0.5"}]).hex()
    '0000803f000000bf'
    >>> float32_bytes([{"N": "1E39"}]), float32_bytes([{"S": "1"}])
    (None, None)
    """
    try:
        packed = array("f", _floats(list(map(_number_of, numbers))))
    except KeyError:
        return None
    if _SWAPPED:
        packed.byteswap()
    found = packed.tobytes()
    if (_INFINITE[0] in found or _INFINITE[1] in found) and _has_infinite(found):
        return None
    return found


def _floats(texts: list[str]) -> list[float]:
    """The nearest 64-bit floats. As one JSON array they are read ten times as fast as one by one."""
    try:
        found = _decode_floats(f"[{','.join(texts)}]")
    except msgspec.DecodeError:  # a form of numbers that JSON does not have, such as +1
        found = []
    return found if len(found) == len(texts) else list(map(float, texts))


def _has_infinite(packed: bytes) -> bool:
    return any(packed[at : at + 4] in _INFINITE for at in range(0, len(packed), FLOAT_BYTES))


def vector_of(value: AttributeValue | None, dimensions: int) -> bytes | None:
    """The vector of a checked value; None where the value is not a vector of so many dimensions."""
    numbers = value.get("L") if value else None
    return float32_bytes(numbers) if numbers is not None and len(numbers) == dimensions else None


def vector_error(name: str, value: AttributeValue, dimensions: int, index: str) -> ValidationException:
    """DynamoDB's error for an attribute that is not a vector of an index."""
    numbers = value.get("L")
    if numbers is None:
        wrong = f"Invalid type for parameter {name}, Expected: 32-bit floating point number list"
    elif len(numbers) != dimensions:
        wrong = f"Invalid size for parameter {name}, Expected: {dimensions}, Actual: {len(numbers)}"
    else:
        wrong = next(_number_error(f"{name}[{at}]", each) for at, each in enumerate(numbers) if not _fits(each))
    return ValidationException(f"{_INVALID}{wrong} IndexName: {index}")


def _fits(number: AttributeValue) -> bool:
    return float32_bytes([number]) is not None


def _number_error(place: str, number: AttributeValue) -> str:
    if "N" not in number:
        return f"Invalid type for parameter {place}, Expected: 32-bit floating point number, Actual: {type_of(number)}."
    shown = Decimal(number["N"]).normalize()
    return f"Invalid value for parameter {place}, Value: {shown} is outside valid range {_RANGE}."
