"""Rows in blocks of bytes: of backups, and of what is sorted outside of memory."""

import struct
from collections.abc import Iterable, Iterator
from itertools import islice

from partita.storage.contract import Row

_ENTRY = struct.Struct(">HII")  # the length of a storage key, the size of the item, the length of its value


def pack_rows(rows: Iterable[tuple[bytes, Row]]) -> bytes:
    """The rows one after the other, with their keys.

    >>> list(unpack_rows(pack_rows([(b"k", Row(3, b"{}"))])))
    [(b'k', Row(weight=3, value=b'{}'))]
    """
    return b"".join(_ENTRY.pack(len(key), row.weight, len(row.value)) + key + row.value for key, row in rows)


def first_rows(rows: Iterator[tuple[bytes, Row]], count: int, size: int) -> Iterator[tuple[bytes, Row]]:
    """The next rows: at most `count`, and no more once their values have `size` bytes."""
    taken = 0
    for key, row in islice(rows, count):
        yield key, row
        taken += len(row.value)
        if taken >= size:
            return


def unpack_rows(content: bytes) -> Iterator[tuple[bytes, Row]]:
    """The rows of a block, in their order."""
    at = 0
    while at < len(content):
        key_length, size, length = _ENTRY.unpack_from(content, at)
        start = at + _ENTRY.size
        at = start + key_length + length
        yield content[start : start + key_length], Row(size, content[start + key_length : at])
