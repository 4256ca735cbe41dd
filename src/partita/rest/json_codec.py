"""JSON as it is sent and taken: a decimal is a number, with all of its digits.

Where the design leaves a type open, a number stays what it is on its way through: it is never a float, which has fewer
digits than DynamoDB, and never text.
"""

from decimal import Decimal
from typing import Any

import msgspec

from partita.design.untyped_values import open_number

encoded = msgspec.json.Encoder(decimal_format="number").encode
in_one_order = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode  # a map has no order


def open_decimal(text: str) -> Any:
    """What a decoder makes of a number with a point or an exponent, where no type says what it is."""
    return open_number(Decimal(text))
