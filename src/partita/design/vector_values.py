"""Vectors in a design: lists of numbers that a vector index compares, with the precision of its 32-bit floats.

    embedding: Annotated[Vector, Dimensions(256)]

A number is stored with the fewest digits that give the same 32-bit float. So 0.1 stays 0.1, an item has half the size
that it would have with Python's digits, and a vector is the same in the item, in the index and in the entity.
"""

from array import array
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from partita.design.codecs import ListCodec, ScalarCodec
from partita.dynamodb.values import AttributeValue

Vector = list[float]
"""The type of a vector; the marker `Dimensions` says how many numbers it has."""

_LARGEST = 3.4028234663852886e38


def vector_of(values: Any, dimensions: int) -> Vector:
    """The numbers as a vector index has them; a ValueError where they are no vector of so many dimensions.

    >>> vector_of([0.1, 1 / 3, 2], 3)
    [0.1, 0.33333334, 2.0]
    >>> vector_of([0.1, float("nan")], 2)
    Traceback (most recent call last):
    ValueError: the vector has nan at 1; use finite numbers
    """
    numbers = _numbers(values)
    if len(numbers) != dimensions:
        counted = f"has {len(numbers)} numbers" if numbers else "is empty"
        raise ValueError(f"the vector {counted}; use one of {dimensions} dimensions")
    for at, number in enumerate(numbers):
        if not -_LARGEST <= number <= _LARGEST:
            shown = "use finite numbers" if number in _INFINITE or number != number else "use 32-bit floats"
            raise ValueError(f"the vector has {number!r} at {at}; {shown}")
    return _shortest(numbers)


_INFINITE = (float("inf"), float("-inf"))


def _numbers(values: Any) -> list[float]:
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise ValueError(f"a vector is a list of numbers, not {type(values).__name__}")
    listed = list(values)
    for at, each in enumerate(listed):
        if isinstance(each, bool | str | bytes) or not hasattr(each, "__float__"):
            raise ValueError(f"the vector has {each!r} at {at}; use numbers")
    return [float(each) for each in listed]


def _shortest(numbers: list[float]) -> list[float]:
    """The numbers with the fewest digits that are the same 32-bit floats; a zero has no sign."""
    single = array("f", numbers)
    found = [float(f"{number:.7g}") + 0.0 for number in single]
    for at, (number, again) in enumerate(zip(single, array("f", found), strict=True)):
        if number != again:
            found[at] = _with_more_digits(number)
    return found


def _with_more_digits(number: float) -> float:
    shorter = float(f"{number:.8g}")
    return shorter if array("f", [shorter])[0] == number else float(f"{number:.9g}")


class VectorCodec(ListCodec):
    """A vector as a list of numbers."""

    def __init__(self, element: ScalarCodec, dimensions: int) -> None:
        super().__init__(element, list)
        self.dimensions = dimensions
        self.normalizes = True

    def normalized(self, value: Any, given: Any) -> Any:
        return vector_of(value, self.dimensions)

    def encode(self, value: Any) -> AttributeValue | None:
        return {"L": [{"N": _text(number)} for number in vector_of(value, self.dimensions)]}


def _text(number: float) -> str:
    """The number as DynamoDB writes it, without an exponent."""
    text = repr(number)
    return format(Decimal(text), "f") if "e" in text else text.removesuffix(".0")
