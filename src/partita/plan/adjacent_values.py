"""The neighbours of a key's value: BETWEEN includes both of its ends, so an open end is the next value inside.

A sort key has at most 1024 bytes and a number 38 digits, so every value has a next one.
"""

from base64 import b64decode, b64encode
from decimal import Context, Decimal

from partita.dynamodb import limits
from partita.dynamodb.values import AttributeValue
from partita.errors import Fault
from partita.validation import FaultyValue

_NUMBERS = Context(prec=38)
_LEAST = Decimal("1E-130")  # the smallest number above 0
_LARGEST = {1: "\x7f", 2: "\u07ff", 3: "\uffff", 4: "\U0010ffff"}  # the largest character of so many bytes
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000


def adjacent_value(value: AttributeValue, *, above: bool) -> AttributeValue:
    """The next value of its type: text, binary or a number.

    >>> adjacent_value({"N": "5"}, above=False)
    {'N': '4.9999999999999999999999999999999999999'}
    >>> adjacent_value({"S": "a"}, above=True)
    {'S': 'a\\x00'}
    """
    if "N" in value:
        number = Decimal(value["N"])
        if not number:
            return {"N": str(_LEAST if above else -_LEAST)}
        return {"N": str(_NUMBERS.next_plus(number) if above else _NUMBERS.next_minus(number))}
    if "B" in value:
        raw = b64decode(value["B"])
        return {"B": b64encode(raw + b"\0" if above else _preceding_bytes(raw)).decode()}
    return {"S": value["S"] + "\0" if above else preceding_text(value["S"])}


def preceding_text(text: str, *, short: bool = False) -> str:
    """The last sort key before a text; `short` where no key continues a shorter text with the largest character.

    >>> preceding_text("0012", short=True)
    '0011\U0010ffff'
    """
    if not text:
        raise FaultyValue(Fault("other", got="nothing sorts before an empty text"))
    if text[-1] == "\0":
        return text[:-1]
    code = ord(text[-1])
    before = text[:-1] + chr(_BEFORE_SURROGATES if code == _AFTER_SURROGATES else code - 1)
    return before + (_LARGEST[4] if short else _fill(limits.SORT_KEY_BYTES - len(before.encode())))


def _fill(room: int) -> str:
    """The largest text of so many bytes."""
    return _LARGEST[4] * (room // 4) + _LARGEST.get(room % 4, "") if room > 0 else ""


def _preceding_bytes(raw: bytes) -> bytes:
    if not raw:
        raise FaultyValue(Fault("other", got="nothing sorts before an empty value"))
    if raw[-1] == 0:
        return raw[:-1]
    before = raw[:-1] + bytes([raw[-1] - 1])
    return before.ljust(limits.SORT_KEY_BYTES, b"\xff")
