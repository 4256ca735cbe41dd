"""Edits: what a change does to one attribute, a new value or a step from the stored one.

`after(before)` is the attribute's value once the edit is applied, for a planner that has read the item.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from partita.design.key_parts import EXACT


@dataclass(frozen=True)
class Assign:
    """The attribute becomes `value`; None removes it."""

    value: Any

    def after(self, before: Any) -> Any:
        return self.value


@dataclass(frozen=True)
class Add:
    """`value` is added to a number; an absent one counts as zero."""

    value: Any

    def after(self, before: Any) -> Any:
        exact = isinstance(before, Decimal) or isinstance(self.value, Decimal)
        return EXACT.add(before or 0, self.value) if exact else (before or 0) + self.value


@dataclass(frozen=True)
class Append:
    """The elements of `value` are appended to a list."""

    value: Any

    def after(self, before: Any) -> Any:
        return [*(before or ()), *self.value]


@dataclass(frozen=True)
class Include:
    """The elements of `value` are added to a set."""

    value: Any

    def after(self, before: Any) -> Any:
        return set(before or ()) | self.value


@dataclass(frozen=True)
class Exclude:
    """The elements of `value` are removed from a set."""

    value: Any

    def after(self, before: Any) -> Any:
        return set(before or ()) - self.value


Edit = Assign | Add | Append | Include | Exclude
