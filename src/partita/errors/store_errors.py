"""Errors of reads and writes."""

from enum import Enum
from typing import Any

from partita.errors.base_error import Key, PartitaError, item_name, value_text


class StoreError(PartitaError):
    """A read or write that could not be done as asked; nothing of it was written (but see OutcomeUnknown)."""


class TableNotFound(StoreError):
    """The read or write is on a table that does not exist."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def __str__(self) -> str:
        return f"table {self.table!r} does not exist; create the tables of the design with db.create_tables()"


class NotFound(StoreError):
    """No item has this key, or it has expired."""

    def __init__(self, entity: str, key: Key) -> None:
        super().__init__(entity, key)
        self.entity = entity
        self.key = key

    def __str__(self) -> str:
        return f"{item_name(self.entity, self.key)} does not exist"


class AlreadyExists(StoreError):
    def __init__(self, entity: str, key: Key) -> None:
        super().__init__(entity, key)
        self.entity = entity
        self.key = key

    def __str__(self) -> str:
        return f"{item_name(self.entity, self.key)} already exists"


class NotUnique(StoreError):
    """Another item holds the `values` (by field) of the entity's `unique`."""

    def __init__(self, entity: str, unique: str, values: Key) -> None:
        super().__init__(entity, unique, values)
        self.entity = entity
        self.unique = unique
        self.values = values

    @property
    def value(self) -> str:
        return ", ".join(map(value_text, self.values.values()))

    def __str__(self) -> str:
        return f"{self.entity}.{self.unique}: {self.value!r} is taken"


class ReferenceMissing(StoreError):
    """The `target` with this key does not exist; `field` is the attribute that refers to it, where one does."""

    def __init__(self, entity: str, target: str, key: Key, field: str = "") -> None:
        super().__init__(entity, target, key, field)
        self.entity = entity
        self.target = target
        self.key = key
        self.field = field

    def __str__(self) -> str:
        return f"{self.entity} refers to {item_name(self.target, self.key)}, which does not exist"


class StillReferenced(StoreError):
    """The item counts `child` items in its `field`, so it cannot be deleted while there are some."""

    def __init__(self, entity: str, key: Key, child: str, field: str) -> None:
        super().__init__(entity, key, child, field)
        self.entity = entity
        self.key = key
        self.child = child
        self.field = field

    def __str__(self) -> str:
        name = item_name(self.entity, self.key)
        return f"{name} still counts {self.child} items in {self.field!r}; delete them first, or declare Owns"


class LimitReached(StoreError):
    """The `field` would no longer be `operator` the `bound`: another field, or a number."""

    def __init__(self, entity: str, key: Key, field: str, operator: str, bound: Any) -> None:
        super().__init__(entity, key, field, operator, bound)
        self.entity = entity
        self.key = key
        self.field = field
        self.operator = operator
        self.bound = bound

    @property
    def limit(self) -> str:
        return f"{self.field} {self.operator} {self.bound}"

    def __str__(self) -> str:
        return f"{item_name(self.entity, self.key)}: the write would exceed the limit {self.limit}"


class InvalidTransition(StoreError):
    """The field may not become `after`; `before` is its present value, unless the entity is `new`."""

    def __init__(self, entity: str, field: str, after: Any, before: Any = None, new: bool = False) -> None:
        super().__init__(entity, field, after, before, new)
        self.entity = entity
        self.field = field
        self.after = after
        self.before = before
        self.new = new

    @property
    def reason(self) -> str:
        if self.new:
            return f"cannot start as {_value_text(self.after)}"
        return f"cannot change from {_value_text(self.before)} to {_value_text(self.after)}"

    def __str__(self) -> str:
        return f"{self.entity}.{self.field}: {self.reason}"


def _value_text(value: Any) -> str:
    return repr(value.value if isinstance(value, Enum) else value)


class ConditionFailed(StoreError):
    """The condition that the caller gave does not hold."""

    def __init__(self, entity: str, key: Key) -> None:
        super().__init__(entity, key)
        self.entity = entity
        self.key = key

    def __str__(self) -> str:
        return f"{item_name(self.entity, self.key)}: the condition does not hold"


class VersionConflict(StoreError):
    """The item is no longer at the `version` that the caller has read."""

    def __init__(self, entity: str, key: Key, version: int) -> None:
        super().__init__(entity, key, version)
        self.entity = entity
        self.key = key
        self.version = version

    def __str__(self) -> str:
        return f"{item_name(self.entity, self.key)} is no longer at version {self.version}; read it again"


class InvalidTransaction(StoreError):
    """The writes do not fit one transaction; `entity` names where, if it is about one."""

    def __init__(self, reason: str, entity: str = "") -> None:
        super().__init__(reason, entity)
        self.reason = reason
        self.entity = entity

    def __str__(self) -> str:
        return f"{self.entity}: {self.reason}" if self.entity else self.reason


class RetriesExhausted(StoreError):
    def __init__(self, entity: str, attempts: int) -> None:
        super().__init__(entity, attempts)
        self.entity = entity
        self.attempts = attempts

    def __str__(self) -> str:
        return f"{self.entity}: gave up after {self.attempts} conflicting writes; nothing was written"


class RejectionUnexplained(StoreError):
    """The backend rejects a condition that holds for the item that it returns."""

    def __init__(self, entity: str) -> None:
        super().__init__(entity)
        self.entity = entity

    def __str__(self) -> str:
        return (
            f"{self.entity}: the backend rejects a condition that holds for the item it returns; nothing was written. "
            "Either the backend or Partita evaluates the condition wrongly; please report it"
        )


class OutcomeUnknown(StoreError):
    """The reply was lost, and the write may or may not have been applied: sending it again could apply it twice."""

    def __init__(self, entity: str) -> None:
        super().__init__(entity)
        self.entity = entity

    def __str__(self) -> str:
        return f"{self.entity}: the reply was lost, so the write may have been applied; read before writing again"


class StoredItemInvalid(StoreError):
    """An item does not fit its entity; `stored_key` is its key in the table, `key` as far as that can be read."""

    def __init__(self, entity: str, stored_key: Key, reason: str, key: Key | None = None) -> None:
        super().__init__(entity, stored_key, reason)
        self.entity = entity
        self.stored_key = stored_key
        self.reason = reason
        self.key: Key = key or {}

    def __str__(self) -> str:
        key = " ".join(map(str, self.stored_key.values()))
        return f"{self.entity} {key} cannot be read as it is stored: {self.reason}"


class InvalidCursor(StoreError):
    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(pattern, reason)
        self.pattern = pattern
        self.reason = reason

    def __str__(self) -> str:
        return f"invalid cursor for {self.pattern}: {self.reason}"
