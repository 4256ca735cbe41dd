"""The checksum of a row, stored beside it and verified whenever it is read.

Disks, memory and cables flip bits, and SQLite notices only those that break the structure of a page. The lower half
covers the value and its weight. The upper half covers the key: a changed key may be that of another row. It may also
hide rows from a search or end a range, so that a read checks the keys of the rows beside those that it finds, too.
Sums of checksums can be compared modulo `CHECKSUMS`.
"""

from partita.crc import crc32, short_crc32

VALUE_BITS = 0xFFFFFFFF
KEY_SHIFT = 32
CHECKSUMS = 1 << 64


def row_checksum(key: bytes, weight: int, value: bytes) -> int:
    """The checksum of a row, as a signed integer of 64 bits.

    >>> row_checksum(b"k", 1, b"v") == row_checksum(b"k", 1, b"w")
    False
    """
    checksum = short_crc32(key) << KEY_SHIFT | crc32(value, weight)
    return checksum if checksum < CHECKSUMS // 2 else checksum - CHECKSUMS
