"""What a request contains: JSON, which is either a value or a NotJson, and parameters that are not allowed."""

from typing import Any

import msgspec

from partita.design.json_codec import open_decimal
from partita.errors import InvalidValue


class NotJson(ValueError):
    """A text is not JSON of the type that is wanted, or is nested too deeply."""


class InvalidInput(InvalidValue):
    """A parameter of a page that the studio does not allow; its sentence is for the one who sees the page."""

    def __init__(self, reason: str, *path: str) -> None:
        super().__init__("studio", reason, *path)

    def __str__(self) -> str:
        return f"{self.reason[:1].upper()}{self.reason[1:]}."


def json_input(text: str | bytes, kind: Any = Any) -> Any:
    """The value of a text; numbers keep all of their digits.

    >>> json_input('{"a": 0.1234567890123456789}', dict[str, Any])
    {'a': Decimal('0.1234567890123456789')}
    """
    try:
        return msgspec.json.Decoder(kind, float_hook=open_decimal).decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NotJson(str(error)) from None
