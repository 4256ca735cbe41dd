"""What all errors have in common, and the names of items and places in their messages."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import EllipsisType
from typing import Any

Key = Mapping[str, Any]
"""The values of an entity's key, by field: `{"customer_id": "c1"}`."""

Step = str | int | EllipsisType
"""A step into a value: a field, the index of an element, or `...` for some value of a map."""


class PartitaError(Exception):
    """Everything that Partita raises on purpose; can be copied and pickled."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[PartitaError], args: tuple[Any, ...], facts: dict[str, Any]) -> PartitaError:
    """A copy of an error: its constructor may take other arguments than `args`, so the facts are set one by one."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


def value_text(value: Any) -> str:
    """A value of a key as people write it.

    >>> value_text(datetime.fromisoformat("2025-01-31T12:00:00Z"))
    '2025-01-31T12:00:00Z'
    """
    if isinstance(value, Enum):
        return value_text(value.value)
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def item_name(entity: str, key: Key) -> str:
    """An item as people call it.

    >>> item_name("Line", {"note_id": "n1", "number": 7})
    'Line n1, 7'

    A key may end before its last part.

    >>> item_name("Member", {"team": "red", "member": None})
    'Member red'
    """
    texts = [value_text(value) for value in key.values() if value is not None]
    return f"{entity} {', '.join(texts)}" if texts else entity


def place_text(path: tuple[Step, ...]) -> str:
    """A place inside a value.

    >>> place_text(("images", 1, "sizes", ..., "width"))
    'images[1].sizes[...].width'
    """
    steps = [f".{step}" if isinstance(step, str) else "[...]" if step is ... else f"[{step}]" for step in path]
    return "".join(steps).removeprefix(".")
