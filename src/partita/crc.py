"""CRC-32, as in gzip and in DynamoDB's x-amz-crc32: by ISA-L (extra `data`) where it is installed, or else by zlib.

Both return the same numbers. ISA-L is faster for items and pages of them, zlib for the few bytes of a key
(`short_crc32`).

>>> crc32(b"an item")
2110595843
>>> crc32(b" item", crc32(b"an")) == crc32(b"an item")
True
"""

import zlib
from collections.abc import Callable
from importlib import import_module


def _crc32() -> Callable[..., int]:
    try:
        found: Callable[..., int] = import_module("isal.isal_zlib").crc32
    except ImportError:
        return zlib.crc32
    return found


crc32 = _crc32()
short_crc32 = zlib.crc32
