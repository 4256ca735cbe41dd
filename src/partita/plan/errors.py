"""What may go wrong with one read or write, each error naming the entity and the promise that stood in the way.

StoreError
├── NotFound               no such item (or it has expired)
├── AlreadyExists          create met an item with the same key
├── NotUnique              another item holds the value
├── ReferenceMissing       the entity that is referred to does not exist
├── LimitReached           growth would pass a declared limit
├── InvalidTransition      the value may not follow the present one
├── ConditionFailed        the caller's own condition does not hold
├── VersionConflict        somebody edited the item since it was read
├── RetriesExhausted              other writers kept winning; nothing was written
├── OutcomeUnknown         the reply was lost and asking again could write twice
├── StoredItemInvalid      an item on disk does not fit its entity
└── InvalidCursor          a cursor that is not of this query
"""

from typing import Any

from partita.errors import PartitaError


class StoreError(PartitaError):
    """A read or write that could not be done as asked; nothing of it was written."""


class NotFound(StoreError):
    def __init__(self, entity: str, key: str) -> None:
        super().__init__(f"{entity} {key} does not exist")
        self.entity = entity


class AlreadyExists(StoreError):
    def __init__(self, entity: str, key: str) -> None:
        super().__init__(f"{entity} {key} exists already")
        self.entity = entity


class NotUnique(StoreError):
    def __init__(self, entity: str, unique: str, value: str) -> None:
        super().__init__(f"{entity}.{unique}: {value!r} is taken")
        self.entity = entity
        self.unique = unique


class ReferenceMissing(StoreError):
    def __init__(self, entity: str, missing: str, key: str, field: str = "") -> None:
        """`field` is the attribute that refers to it."""
        super().__init__(f"{entity} refers to {missing} {key}, which does not exist")
        self.entity = entity
        self.missing = missing
        self.field = field


class LimitReached(StoreError):
    def __init__(self, entity: str, key: str, limit: str) -> None:
        super().__init__(f"{entity} {key}: {limit} would no longer hold")
        self.entity = entity
        self.limit = limit


class InvalidTransition(StoreError):
    def __init__(self, entity: str, field: str, to: Any) -> None:
        super().__init__(f"{entity}.{field} cannot become {getattr(to, 'value', to)!r} from what it is")
        self.entity = entity
        self.field = field


class ConditionFailed(StoreError):
    def __init__(self, entity: str, key: str) -> None:
        super().__init__(f"{entity} {key}: the condition does not hold")
        self.entity = entity


class VersionConflict(StoreError):
    def __init__(self, entity: str, key: str, version: int) -> None:
        super().__init__(f"{entity} {key} is no longer at version {version}; read it again")
        self.entity = entity


class RetriesExhausted(StoreError):
    def __init__(self, entity: str, attempts: int) -> None:
        super().__init__(f"{entity}: other writers won {attempts} times; nothing was written")


class OutcomeUnknown(StoreError):
    def __init__(self, entity: str) -> None:
        super().__init__(f"{entity}: the reply was lost, and sending it again could apply it twice; read it again")


class StoredItemInvalid(StoreError):
    def __init__(self, entity: str, key: str, reason: str) -> None:
        super().__init__(f"{entity} {key} on disk: {reason}")
        self.entity = entity


class InvalidCursor(StoreError):
    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"the cursor is not one of {pattern}: {reason}")


class Raced(StoreError):
    """Never leaves the store: what was read has changed, read again."""


class NothingToTake(Raced):
    """Never leaves the store: what would be taken is not there, so the write is made without taking it."""

    def __init__(self, identity: tuple[str, ...]) -> None:
        super().__init__("what would be taken is not there")
        self.identity = identity
