"""Capacity units as DynamoDB bills them.

Sources: Developer Guide, "DynamoDB read and write operations" and "DynamoDB item sizes and formats".
"""

from partita.dynamodb.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES


def read_units(size: int, consistent: bool | None) -> float:
    """One unit for each 4 KB begun, half of that for an eventually consistent read; a read of nothing costs one unit.

    >>> read_units(0, True), read_units(4097, True), read_units(4097, False)
    (1.0, 2.0, 1.0)
    """
    units = 1 if size <= READ_UNIT_BYTES else -(-size // READ_UNIT_BYTES)
    return float(units) if consistent else units * 0.5


def write_units(before: int, after: int) -> float:
    """One unit for each KB begun of the larger size, before or after the write; at least one.

    >>> write_units(0, 1024), write_units(3000, 10)
    (1.0, 3.0)
    """
    return float(max(1, -(-max(before, after) // WRITE_UNIT_BYTES)))
