"""Edits of one attribute: a new value, or a step from the stored one.

`after(before)` is the attribute's value once the edit is applied, for a planner that has read the item.
"""

from decimal import Decimal
from typing import Any

import msgspec

from partita.design.key_parts import EXACT
from partita.design.migrations import Migration


class Assign(msgspec.Struct, frozen=True):
    """The attribute becomes `value`; None removes it."""

    value: Any

    def after(self, before: Any) -> Any:
        return self.value


class Add(msgspec.Struct, frozen=True):
    """`value` is added to a number; an absent one counts as zero."""

    value: Any

    def after(self, before: Any) -> Any:
        exact = isinstance(before, Decimal) or isinstance(self.value, Decimal)
        return EXACT.add(before or 0, self.value) if exact else (before or 0) + self.value


class Append(msgspec.Struct, frozen=True):
    """The elements of `value` are appended to a list."""

    value: Any

    def after(self, before: Any) -> Any:
        return [*(before or ()), *self.value]


class Include(msgspec.Struct, frozen=True):
    """The elements of `value` are added to a set."""

    value: Any

    def after(self, before: Any) -> Any:
        return set(before or ()) | self.value


class Exclude(msgspec.Struct, frozen=True):
    """The elements of `value` are removed from a set."""

    value: Any

    def after(self, before: Any) -> Any:
        return set(before or ()) - self.value


class SetMember(msgspec.Struct, frozen=True):
    """A member of a map becomes what `value`, an attribute from before its migration, means; None removes it."""

    value: Any
    migration: Migration

    def after(self, before: Any) -> Any:
        return self.migration.new_value(self.value, before)


Edit = Assign | Add | Append | Include | Exclude | SetMember
