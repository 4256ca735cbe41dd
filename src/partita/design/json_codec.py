"""Plain JSON of entities and structs, as requests and replies have it: a decimal is a number, with all of its digits.

Where the design leaves a type open, a number is never read as a float, which has fewer digits than DynamoDB, and never
as text.
"""

from decimal import Decimal
from typing import Any

import msgspec

from partita.design.markers import AUTO
from partita.design.untyped_values import open_number


def _other_value(value: Any) -> None:
    """AUTO is null; msgspec encodes all other values of entities itself."""
    if value is not AUTO:
        raise TypeError(f"{value!r} cannot be encoded as JSON")


encoded = msgspec.json.Encoder(decimal_format="number", enc_hook=_other_value).encode
encoded_sorted = msgspec.json.Encoder(  # the members of a map have no order
    decimal_format="number", order="deterministic", enc_hook=_other_value
).encode


def open_decimal(text: str) -> Any:
    """The value of a number with a point or an exponent, where no type is declared."""
    return open_number(Decimal(text))
