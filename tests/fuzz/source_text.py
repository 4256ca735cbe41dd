"""Values as Python source: what a failure prints."""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID


def literal(value: Any) -> str:
    """A value as source text."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, datetime):
        return f"datetime.fromisoformat({value.isoformat()!r})"
    if isinstance(value, date):
        return f"date.fromisoformat({value.isoformat()!r})"
    if isinstance(value, UUID):
        return f"UUID({str(value)!r})"
    if isinstance(value, Decimal):
        return f"Decimal({str(value)!r})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


class Printed:
    """Printed by Hypothesis as its source."""

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(repr(self))
