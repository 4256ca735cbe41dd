"""Storage keys: bytes whose order is DynamoDB's order of keys.

The key of a row is the hash of its partition key, then its sort key, then (in an index) the hash of the item's primary
key, which distinguishes the items with one index key:

    table   | hash(partition), 16 bytes | sort key |
    index   | hash(partition), 16 bytes | sort key | sort key ... | hash(primary key), 16 bytes |

Hashes keep keys short and spread partitions, so a Scan reads them in hash order, as DynamoDB does, and a segment of a
parallel Scan is a range of hashes. Each sort key has its own end, so the bytes after it do not affect the order:

    S, B   the bytes, with 00 written as 00 FF, ended by 00 01
    N      sign, exponent, digits in pairs, ended by 00; all bits flipped when negative
"""

from base64 import b64decode
from decimal import Decimal
from functools import lru_cache

try:
    from _blake2 import blake2b  # the one that hashlib gives, without the milliseconds in which hashlib loads OpenSSL
except ImportError:
    from hashlib import blake2b

from partita.dynamodb.numbers import significant_digits
from partita.dynamodb.values import AttributeValue

HASH_BYTES = 16
MAX_CACHED_TEXT = 256  # characters


def scalar_bytes(value: AttributeValue) -> bytes:
    """The bytes of a checked key value as DynamoDB measures them: UTF-8, raw binary, or the number's own order."""
    if "S" in value:
        text: str = value["S"]
        return text.encode()
    if "N" in value:
        return number_bytes(value["N"])
    return b64decode(value["B"])


def sort_bytes(value: AttributeValue) -> bytes:
    """Order-preserving bytes; none is a prefix of another."""
    if "N" in value:
        return number_bytes(value["N"])
    return escape(scalar_bytes(value)) + b"\0\1"


def escape(raw: bytes) -> bytes:
    """The bytes of text or binary without their end, as a `begins_with` range starts."""
    return raw.replace(b"\0", b"\0\xff") if b"\0" in raw else raw


def number_bytes(text: str) -> bytes:
    """Order-preserving bytes of a canonical number.

    >>> sorted(["10", "-10", "9", "0", "-9", "0.5"], key=number_bytes)
    ['-10', '-9', '0', '0.5', '9', '10']
    """
    if text == "0":
        return b"\x80"
    negative, digits, exponent = significant_digits(Decimal(text))
    if len(digits) % 2:
        digits += "0"
    pairs = bytes(int(digits[at : at + 2]) + 1 for at in range(0, len(digits), 2))
    magnitude = bytes([exponent + 129]) + pairs + b"\0"
    return b"\x7f" + bytes(255 - byte for byte in magnitude) if negative else b"\x81" + magnitude


def partition_hash(values: list[AttributeValue]) -> bytes:
    """The hash of a partition key of one attribute, or of up to four in a global index."""
    if len(values) == 1:
        text = values[0].get("S")
        if text is not None and len(text) <= MAX_CACHED_TEXT:
            return text_hash(text)
        return blake2b(scalar_bytes(values[0]), digest_size=HASH_BYTES).digest()
    return blake2b(b"".join(map(sort_bytes, values)), digest_size=HASH_BYTES).digest()


@lru_cache(maxsize=16_384)
def text_hash(text: str) -> bytes:
    """`partition_hash` of one short text, cached: programs use the same partitions again and again."""
    return blake2b(text.encode(), digest_size=HASH_BYTES).digest()


def row_hash(primary_key: bytes) -> bytes:
    """The hash of a primary key, for the end of index keys."""
    return blake2b(primary_key, digest_size=HASH_BYTES).digest()


def prefix_end(prefix: bytes) -> bytes | None:
    """The first key above all keys that begin with `prefix`; None if no key is above them.

    >>> prefix_end(b"ab"), prefix_end(b"a\\xff"), prefix_end(b"\\xff")
    (b'ac', b'b', None)
    """
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


def segment_bounds(segment: int, total: int) -> tuple[bytes, bytes | None]:
    """The range of hashes of one segment of a parallel Scan."""
    span = 1 << (8 * HASH_BYTES)
    low, high = span * segment // total, span * (segment + 1) // total
    return low.to_bytes(HASH_BYTES, "big"), None if segment + 1 == total else high.to_bytes(HASH_BYTES, "big")
