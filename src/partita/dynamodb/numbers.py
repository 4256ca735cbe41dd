"""DynamoDB's numbers: exact decimals of up to 38 digits, in one canonical text form."""

import re
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.limits import NUMBER_DIGITS, NUMBER_MAX_EXPONENT, NUMBER_MIN_EXPONENT

_CACHED_LENGTH = 20  # characters
_POWER_DIGITS = 18  # of an exponent; no request has a numeral with as many digits that could make up for it
_HALVES = [(length + 1) >> 1 for length in range(256)]  # no canonical number below 1 is as long

# Text that is canonical already, with few enough digits on either side of the point.
_FORM = r"(?:0|-?[1-9][0-9]{0,37}|-?[1-9][0-9]{0,18}\.[0-9]{0,18}[1-9]|-?0\.[0-9]{0,36}[1-9])"
_CANONICAL = re.compile(rf"{_FORM}\Z").match
_ALL_CANONICAL = re.compile(rf"(?:{_FORM},)++\Z").match
# Possessive: without it the time of a long numeral with a wrong last character grows with the square of its length.
_NUMERAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?\Z").match


def canonical_number(text: str) -> str:
    """The number as DynamoDB writes it.

    >>> canonical_number("007.50"), canonical_number("-1.5E2"), canonical_number("-0")
    ('7.5', '-150', '0')
    """
    if _CANONICAL(text):
        return text
    return plain_text(parsed_number(text))


def parsed_number(text: str) -> Decimal:
    """The number, checked against DynamoDB's range and precision."""
    if not text:
        raise ValidationException("The parameter cannot be converted to a numeric value")
    if not _NUMERAL(text):
        raise ValidationException(f"The parameter cannot be converted to a numeric value: {text}")
    negative, digits, exponent = _written_digits(text)
    if not digits:
        return Decimal(0)
    _check(exponent - 1, len(digits))
    return Decimal(f"{'-' if negative else ''}{digits}e{exponent - len(digits)}")


def checked_number(number: Decimal) -> Decimal:
    """The number itself; raises ValidationException if DynamoDB cannot store it."""
    if not number:
        return Decimal(0)
    _check(number.adjusted(), len(significant_digits(number)[1]))
    return number


def _check(adjusted: int, digits: int) -> None:
    if adjusted > NUMBER_MAX_EXPONENT:
        raise ValidationException(
            "Number overflow. Attempting to store a number with magnitude larger than supported range"
        )
    if adjusted < NUMBER_MIN_EXPONENT:
        raise ValidationException(
            "Number underflow. Attempting to store a number with magnitude smaller than supported range"
        )
    if digits > NUMBER_DIGITS:
        raise ValidationException("Attempting to store more than 38 significant digits in a Number")


def _written_digits(numeral: str) -> tuple[bool, str, int]:
    """As `significant_digits`, of a text, which may have millions of digits: a Decimal of them would be slow."""
    mantissa, _, power = numeral.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    from_first = (whole + fraction).lstrip("0")
    exponent = len(from_first) - len(fraction) + _bounded_power(power)
    return mantissa.startswith("-"), from_first.rstrip("0"), exponent


def _bounded_power(text: str) -> int:
    """The exponent of a numeral; one of very many digits becomes smaller, but no less out of range."""
    power = int(text.lstrip("+-").lstrip("0")[:_POWER_DIGITS] or 0)
    return -power if text.startswith("-") else power


def significant_digits(number: Decimal) -> tuple[bool, str, int]:
    """(is negative, digits without outer zeros, exponent): the value is 0.DIGITS times ten to the exponent.

    >>> significant_digits(Decimal("-120.5"))
    (True, '1205', 3)
    """
    sign, digits, _ = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    return bool(sign), text.rstrip("0"), number.adjusted() + 1


def plain_text(number: Decimal) -> str:
    """Digits without an exponent, as DynamoDB returns them."""
    if not number:
        return "0"
    negative, digits, exponent = significant_digits(number)
    if exponent <= 0:
        text = "0." + "0" * -exponent + digits
    elif exponent >= len(digits):
        text = digits + "0" * (exponent - len(digits))
    else:
        text = digits[:exponent] + "." + digits[exponent:]
    return "-" + text if negative else text


def measured_number(text: str) -> tuple[str, int]:
    """The canonical form and its size; cached for short numbers, which most are and which recur."""
    return _cached_measure(text) if len(text) <= _CACHED_LENGTH else _measure(text)


def _measure(text: str) -> tuple[str, int]:
    canonical = canonical_number(text)
    return canonical, number_size(canonical)


_cached_measure = lru_cache(maxsize=8192)(_measure)


def measured_numbers(texts: list[str]) -> tuple[list[str], int]:
    """The canonical forms of many numbers and the sum of their sizes, faster than one by one.

    The list itself where all of them are canonical already.

    >>> measured_numbers(["0", "123", "-12.5", "1000", "0.0005"])[1], measured_numbers(["1.0", "-0"])
    (12, (['1', '0'], 3))
    """
    joined = ",".join(texts) + ","
    if "e" in joined or "E" in joined:  # a few small numbers among many
        with suppress(ValidationException):  # raised below, after that of an earlier number
            texts = [canonical_number(text) if "e" in text or "E" in text else text for text in texts]
            joined = ",".join(texts) + ","
    if joined.count(",") != len(texts) or not _ALL_CANONICAL(joined):
        texts = [canonical_number(text) for text in texts]
        joined = ",".join(texts) + ","
    unsigned = joined.replace("-", "")
    return texts, _sizes(unsigned, unsigned.split(",")[:-1]) + joined.count("-")


def _sizes(joined: str, texts: list[str]) -> int:
    """The sum of the sizes of canonical numbers without their signs, which are also given joined by commas.

    Numbers below 1, as the members of most vectors are, have one byte and one for each pair of digits after the point,
    without the pairs of zeros that come first: these are counted for all numbers together.
    """
    every = f",{joined}"
    if every.count(",0.") != len(texts):
        return sum(map(number_size, texts))
    size = sum(map(_HALVES.__getitem__, map(len, texts)))
    zeros = ",0.00"
    while found := every.count(zeros):
        size -= found
        zeros += "00"
    return size


def number_size(text: str) -> int:
    """Billed bytes of a canonical number: one, plus one for each pair of digits, plus one for a minus sign.

    Pairs are counted from the decimal point, and outer pairs of zeros are not stored.

    >>> number_size("0"), number_size("123"), number_size("-12.5"), number_size("1000"), number_size("12000")
    (1, 3, 4, 2, 3)
    """
    if text == "0":
        return 1
    negative = text.startswith("-")
    whole, _, fraction = text.lstrip("-").partition(".")
    pairs = (len(whole) + 1) // 2 + (len(fraction) + 1) // 2
    if not fraction:
        pairs -= (len(whole) - len(whole.rstrip("0"))) // 2
    elif whole == "0":
        pairs -= 1 + (len(fraction) - len(fraction.lstrip("0"))) // 2
    return 1 + pairs + negative
