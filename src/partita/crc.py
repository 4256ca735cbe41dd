"""CRC-32, as in gzip and in DynamoDB's x-amz-crc32: by ISA-L (extra `data`) where it is installed, or else by zlib.

Both return the same numbers. ISA-L takes a fifth of the time for an item, a tenth for a page of them.

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
