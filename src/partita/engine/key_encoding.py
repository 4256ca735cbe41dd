"""Key order as bytes: every key of DynamoDB becomes bytes whose bytewise order is DynamoDB's order.

A row's key in storage is the hash of its partition key, then its sort key, then (in an index) the hash of the item's
primary key, which keeps apart the items that share an index key:

    table   | hash(partition), 16 bytes | sort key |
    index   | hash(partition), 16 bytes | sort key | sort key ... | hash(primary key), 16 bytes |

Hashing keeps keys short and spreads partitions, so a Scan walks them in hash order, as DynamoDB does, and a segment of
a parallel Scan is a slice of the hash's range. Each sort key ends itself, so what follows cannot disturb the order:

    S, B   the bytes, with 00 written as 00 FF, ended by 00 01
    N      sign, exponent, digits in pairs, ended by 00; all bits flipped when negative
"""

from base64 import b64decode
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b

from partita.dynamodb.numbers import significant_digits
from partita.dynamodb.values import AttributeValue

HASH_BYTES = 16
SHORT_TEXT = 256  # characters; longer ones are not remembered


def scalar_bytes(value: AttributeValue) -> bytes:
    """The bytes of a checked key value as DynamoDB measures them: UTF-8, raw binary, or the number's own order."""
    if "S" in value:
        text: str = value["S"]
        return text.encode()
    if "N" in value:
        return number_bytes(value["N"])
    return b64decode(value["B"])


def sort_bytes(value: AttributeValue) -> bytes:
    """Order-preserving bytes that no other value's bytes begin with."""
    if "N" in value:
        return number_bytes(value["N"])
    return escaped(scalar_bytes(value)) + b"\0\1"


def escaped(raw: bytes) -> bytes:
    """Text or binary without its end: what a `begins_with` range starts with."""
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
    """Sixteen bytes for the values of a partition key (one; up to four in a global index)."""
    if len(values) == 1:
        text = values[0].get("S")
        if text is not None and len(text) <= SHORT_TEXT:
            return text_hash(text)
        return blake2b(scalar_bytes(values[0]), digest_size=HASH_BYTES).digest()
    return blake2b(b"".join(map(sort_bytes, values)), digest_size=HASH_BYTES).digest()


@lru_cache(maxsize=16_384)
def text_hash(text: str) -> bytes:
    """`partition_hash` of one short text; programs come back to the partitions where they have been."""
    return blake2b(text.encode(), digest_size=HASH_BYTES).digest()


def row_hash(primary_key: bytes) -> bytes:
    """Sixteen bytes that stand for an item's primary key at the end of its index keys."""
    return blake2b(primary_key, digest_size=HASH_BYTES).digest()


def after_prefix(prefix: bytes) -> bytes | None:
    """The first key that is above everything beginning with `prefix`; None when nothing can be.

    >>> after_prefix(b"ab"), after_prefix(b"a\\xff"), after_prefix(b"\\xff")
    (b'ac', b'b', None)
    """
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


def segment_bounds(segment: int, total: int) -> tuple[bytes, bytes | None]:
    """The slice of hashes that one of `total` parallel Scans reads."""
    span = 1 << (8 * HASH_BYTES)
    low, high = span * segment // total, span * (segment + 1) // total
    return low.to_bytes(HASH_BYTES, "big"), None if segment + 1 == total else high.to_bytes(HASH_BYTES, "big")
