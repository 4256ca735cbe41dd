"""The neighbours of a key's value: BETWEEN includes both of its ends, so an open end is the next value inside.

A sort key has at most 1024 bytes and a number 38 digits, so every value has a next one, but for the first and last.
"""

from base64 import b64decode, b64encode
from decimal import Context, Decimal

from partita.dynamodb import limits
from partita.dynamodb.values import AttributeValue

_LEAST = Decimal((0, (1,), limits.NUMBER_MIN_EXPONENT))  # the smallest number above 0
_NUMBERS = Context(limits.NUMBER_DIGITS, Emin=limits.NUMBER_MIN_EXPONENT, Emax=limits.NUMBER_MAX_EXPONENT)
_LARGEST = {1: "\x7f", 2: "\u07ff", 3: "\uffff", 4: "\U0010ffff"}  # the largest character of so many bytes
_BEFORE_SURROGATES, _AFTER_SURROGATES = 0xD7FF, 0xE000


class EmptyRange(Exception):
    """A bound leaves nothing of the values that are possible: the answer is empty, without a request."""


def adjacent_value(value: AttributeValue, *, above: bool) -> AttributeValue:
    """The next value of its type: text, binary or a number; EmptyRange where there is none.

    >>> adjacent_value({"N": "5"}, above=False)
    {'N': '4.9999999999999999999999999999999999999'}
    >>> adjacent_value({"S": "a"}, above=True)
    {'S': 'a\\x00'}
    """
    if "N" in value:
        return {"N": str(_adjacent_number(Decimal(value["N"]), above))}
    if "B" in value:
        raw = b64decode(value["B"])
        return {"B": b64encode(_following_bytes(raw) if above else _preceding_bytes(raw)).decode()}
    return {"S": _following_text(value["S"]) if above else preceding_text(value["S"])}


def _adjacent_number(number: Decimal, above: bool) -> Decimal:
    """There is no number between 0 and the smallest one."""
    if not number:
        return _LEAST if above else -_LEAST
    found = _NUMBERS.next_plus(number) if above else _NUMBERS.next_minus(number)
    if not found.is_finite():
        raise EmptyRange
    return found if found.copy_abs() >= _LEAST else Decimal(0)


def preceding_text(text: str, *, short: bool = False) -> str:
    """The last sort key before a text; `short` where no key continues a shorter text with the largest character.

    >>> preceding_text("0012", short=True)
    '0011\U0010ffff'
    """
    if text in ("", "\0"):  # a key has at least one character
        raise EmptyRange
    if text[-1] == "\0":
        return text[:-1]
    code = ord(text[-1])
    before = text[:-1] + chr(_BEFORE_SURROGATES if code == _AFTER_SURROGATES else code - 1)
    return before + (_LARGEST[4] if short else _fill(limits.SORT_KEY_BYTES - len(before.encode())))


def text_behind(text: str) -> str | None:
    """The first text behind all that begin with this one; None where there is none.

    >>> text_behind("a#"), text_behind("a\\U0010ffff")
    ('a$', 'b')
    """
    kept = text.rstrip(_LARGEST[4])
    if not kept:
        return None
    code = ord(kept[-1])
    return kept[:-1] + chr(_AFTER_SURROGATES if code == _BEFORE_SURROGATES else code + 1)


def _following_text(text: str) -> str:
    """The first sort key after a text; a text of the full length is not continued."""
    size = len(text.encode())
    if size < limits.SORT_KEY_BYTES:
        return text + "\0"
    for end in range(len(text), 0, -1):
        found = text_behind(text[:end])
        if found is not None and len(found.encode()) <= size:
            return found
    raise EmptyRange


def _fill(room: int) -> str:
    """The largest text of so many bytes."""
    return _LARGEST[4] * (room // 4) + _LARGEST.get(room % 4, "") if room > 0 else ""


def _preceding_bytes(raw: bytes) -> bytes:
    if raw in (b"", b"\0"):
        raise EmptyRange
    if raw[-1] == 0:
        return raw[:-1]
    before = raw[:-1] + bytes([raw[-1] - 1])
    return before.ljust(limits.SORT_KEY_BYTES, b"\xff")


def _following_bytes(raw: bytes) -> bytes:
    if len(raw) < limits.SORT_KEY_BYTES:
        return raw + b"\0"
    kept = raw.rstrip(b"\xff")
    if not kept:
        raise EmptyRange
    return kept[:-1] + bytes([kept[-1] + 1])
