"""Plain JSON of entities and structs, as requests and replies have it: a decimal is a number, with all of its digits.

Where the design leaves a type open, a number is never read as a float, which has fewer digits than DynamoDB, and never
as text.
"""

from decimal import Decimal
from typing import Any

import msgspec

from partita.design.untyped_values import open_number

encoded = msgspec.json.Encoder(decimal_format="number").encode
encoded_sorted = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode  # a map has no order


def open_decimal(text: str) -> Any:
    """The value of a number with a point or an exponent, where no type is declared."""
    return open_number(Decimal(text))
