"""JSON that a request contains: any text is either a value or a NotJson."""

from typing import Any

import msgspec

from partita.design.json_codec import open_decimal


class NotJson(ValueError):
    """A text is not JSON of the type that is wanted, or is nested too deeply."""


def json_input(text: str | bytes, kind: Any = Any) -> Any:
    """The value of a text; numbers keep all of their digits.

    >>> json_input('{"a": 0.1234567890123456789}', dict[str, Any])
    {'a': Decimal('0.1234567890123456789')}
    """
    try:
        return msgspec.json.Decoder(kind, float_hook=open_decimal).decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NotJson(str(error)) from None
