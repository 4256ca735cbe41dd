"""Time to live: which items have expired, found in the order of their expiry."""

import math
from decimal import Decimal

from partita.dynamodb.values import Item

FIVE_YEARS = 5 * 365 * 24 * 3600


def expiry_key(item: Item, attribute: str, position: bytes) -> bytes | None:
    """The item's place in the order of expiry: the second, then its primary key; None when it never expires.

    Only a number can expire (Developer Guide, "Using time to live"); anything else is left alone.
    """
    number = item.get(attribute, {}).get("N")
    if number is None:
        return None
    second = int(Decimal(number))
    if not 0 <= second < 1 << 63:
        return None
    return second.to_bytes(8, "big") + position


def due_range(now: float) -> tuple[bytes, bytes]:
    """The part of the order that is due: expired, and not longer than five years ago, as DynamoDB has it."""
    low = max(0, int(now) - FIVE_YEARS)
    return low.to_bytes(8, "big"), math.ceil(now).to_bytes(8, "big")
