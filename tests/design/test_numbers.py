"""Numbers that DynamoDB can store are written unchanged; others are rejected before a request is sent."""

from decimal import Decimal

import pytest

from partita.design.key_parts import NumberPart
from partita.design.untyped_values import number_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-7, "-7"),
        (0.1, "0.1"),
        (Decimal("1.50"), "1.50"),
        (10**38 - 1, "9" * 38),
        (Decimal("-9.9999999999999999999999999999999999999E+125"), "-" + "9" * 38 + "0" * 88),
        (Decimal("1E-130"), "0." + "0" * 129 + "1"),
        (10**60, "1" + "0" * 60),
    ],
)
def test_a_number_that_dynamodb_stores_is_written_exactly(value: int | float | Decimal, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**38 + 1, Decimal("0." + "1" * 39), 1e300, Decimal("1E-131"), 10**126]
)
def test_number_that_dynamodb_cannot_store_is_rejected(value: int | float | Decimal) -> None:
    with pytest.raises(ValueError, match="DynamoDB stores"):
        number_text(value)


@pytest.mark.parametrize("value", ["NaN", "sNaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("high", [None, 9])
def test_number_that_is_not_finite_is_rejected_in_a_key_with_its_name(value: str, high: int | None) -> None:
    part = NumberPart(digits=2, places=2, signed=True, kind=Decimal, high=high)
    with pytest.raises(ValueError, match=f"^{value} is not a finite number$"):
        part.write(Decimal(value))
