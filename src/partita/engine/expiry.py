"""Time to live: the rows that keep items in the order of their expiry."""

import math
from decimal import Decimal

from partita.dynamodb.values import Item

FIVE_YEARS = 5 * 365 * 24 * 3600


def expiry_key(item: Item, attribute: str, storage_key: bytes) -> bytes | None:
    """The key of an item in the order of expiry: its second, then its storage key; None when it never expires.

    Only numbers are expiry times (Developer Guide, "Using time to live").
    """
    number = item.get(attribute, {}).get("N")
    if number is None:
        return None
    second = int(Decimal(number))
    if not 0 <= second < 1 << 63:
        return None
    return second.to_bytes(8, "big") + storage_key


def due_range(now: float) -> tuple[bytes, bytes]:
    """The range of expired items; as in DynamoDB, those expired more than five years ago are kept."""
    low = max(0, int(now) - FIVE_YEARS)
    return low.to_bytes(8, "big"), math.ceil(now).to_bytes(8, "big")


def second_of(expiry_key: bytes) -> int:
    """When the item of a row expires."""
    return int.from_bytes(expiry_key[:8], "big")
