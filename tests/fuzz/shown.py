"""Entities as comparable text."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def values_of(entity: Any) -> Mapping[str, Any]:
    return {name: getattr(entity, name) for name in entity.__struct_fields__}


def shown(name: str, values: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={_normal(value)!r}' for key, value in sorted(values.items()))})"


def _normal(value: Any) -> Any:
    """1.0 and 1 are one number, and so are -0.0 and 0.0."""
    return value.normalize() + 0 if isinstance(value, Decimal) else value + 0.0 if isinstance(value, float) else value


def error_text(error: Exception | None) -> str:
    return "it was done" if error is None else f"{type(error).__name__}: {error}"
