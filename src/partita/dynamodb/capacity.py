"""Capacity units as DynamoDB bills them.

Sources: Developer Guide, "DynamoDB read and write operations" and "DynamoDB item sizes and formats". Vector indexes are
charged by bytes that AWS does not define: the figures here are an estimate (docs/decisions/0025).
"""

from partita.dynamodb.limits import READ_UNIT_BYTES, VECTOR_REQUEST_BYTES, WRITE_UNIT_BYTES


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


_SEARCH_BYTES_PER_DIMENSION = 17.6  # as measured on the service with 1,024 and 2,048 dimensions


def vector_write_bytes(before: int, after: int) -> float:
    """The bytes of the larger entry of a vector index, before or after the write; at least 1,024.

    >>> vector_write_bytes(0, 4125), vector_write_bytes(20, 0)
    (4125.0, 1024.0)
    """
    return float(max(VECTOR_REQUEST_BYTES, before, after))


def vector_search_bytes(dimensions: int, returned: int) -> float:
    """An estimate of the bytes of a search: some for each dimension, and those of the returned entries; at least 1,024.

    >>> vector_search_bytes(4, 0), vector_search_bytes(1024, 45)
    (1024.0, 18067.4)
    """
    return float(max(VECTOR_REQUEST_BYTES, _SEARCH_BYTES_PER_DIMENSION * dimensions + returned))
