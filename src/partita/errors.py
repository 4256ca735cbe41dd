"""The tree of Partita's errors: whatever Partita raises is a PartitaError.

PartitaError
├── ConfigurationError     a setting, address or argument that cannot work
│   └── MissingExtra       a package of an optional extra is not installed
├── DesignError            a declaration that cannot work, found when a design is imported or loaded
│   └── ProofError         an access pattern that cannot be proven
├── InvalidValue           a value that the design does not allow; nothing was sent
├── StoreError             a read or write that could not be done as asked
│   ├── NotFound           no such item, or it has expired
│   ├── AlreadyExists      create found an item with the same key
│   ├── NotUnique          another item holds the value
│   ├── ReferenceMissing   the entity that is referred to does not exist
│   ├── LimitReached       growth would pass a declared limit
│   ├── InvalidTransition  the value may not follow the present one
│   ├── ConditionFailed    the caller's own condition does not hold
│   ├── VersionConflict    the item was edited since it was read
│   ├── RetriesExhausted   too many conflicting writes; nothing was written
│   ├── RejectionUnexplained  the backend rejects a condition that holds; nothing was written
│   ├── OutcomeUnknown     the reply was lost, and sending the write again could apply it twice
│   ├── StoredItemInvalid  a stored item does not fit its entity
│   └── InvalidCursor      a cursor that does not belong to this query
├── StorageError           the database file cannot be read or written
│   ├── StorageBusy        another process kept the file locked for too long
│   └── SpaceMissing       a table of the file vanished under a reader
├── NoReply                an endpoint gave no answer, or none that can be read
└── DynamoDBError          DynamoDB's own errors, word for word, one class for each code (dynamodb.exceptions)
"""

from collections.abc import Sequence
from typing import Any

__all__ = [
    "AlreadyExists",
    "ConditionFailed",
    "ConfigurationError",
    "DesignError",
    "InvalidCursor",
    "InvalidTransition",
    "InvalidValue",
    "LimitReached",
    "MissingExtra",
    "NoReply",
    "NotFound",
    "NotUnique",
    "OutcomeUnknown",
    "PartitaError",
    "ProofError",
    "ReferenceMissing",
    "RejectionUnexplained",
    "RetriesExhausted",
    "StorageBusy",
    "StorageError",
    "StoreError",
    "StoredItemInvalid",
    "VersionConflict",
]


class PartitaError(Exception):
    """Everything that Partita raises on purpose."""


class ConfigurationError(PartitaError):
    """A setting, address or argument that cannot work; the sentence says what to write instead."""


class MissingExtra(ConfigurationError, ModuleNotFoundError):
    """A package of an optional extra is not installed; the sentence has the command that installs it."""

    def __init__(self, what: str, extras: Sequence[str], module: str) -> None:
        super().__init__(f"{what} needs an extra; run pip install 'partita[{','.join(extras)}]' ({module} is missing)")
        self.extras = tuple(extras)
        self.name = module


class StorageError(PartitaError):
    """The database file cannot be read or written; nothing of the failed transaction is kept."""


class StorageBusy(StorageError):
    """Another process held the file's write lock for longer than the time-out."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(f"{path}: another process kept the write lock for more than {seconds:g} seconds")


class SpaceMissing(StorageError):
    """A read met a space that does not exist (any more): the caller's catalogue is older than the file."""

    def __init__(self, space: str) -> None:
        super().__init__(f"there is no space named {space!r}")


class NoReply(PartitaError, ConnectionError):
    """An endpoint gave no answer, or none that can be read.

    `perhaps_executed` is true where the request had already left: it may have been done although nobody said so.
    """

    def __init__(self, endpoint: str, reason: str, *, perhaps_executed: bool) -> None:
        outcome = "the request may have been executed" if perhaps_executed else "the request was not executed"
        super().__init__(f"{endpoint}: {reason}; {outcome}")
        self.endpoint = endpoint
        self.reason = reason
        self.perhaps_executed = perhaps_executed


class DesignError(PartitaError):
    """A declaration that cannot work; `where` names it, `instead` is the way out."""

    def __init__(self, where: str, wrong: str, instead: str = "") -> None:
        super().__init__(f"{where}: {wrong}" + (f"; {instead}" if instead else ""))
        self.where = where
        self.wrong = wrong
        self.instead = instead


class ProofError(DesignError):
    """An access pattern that is not exactly one read of one range holding nothing else."""


class InvalidValue(PartitaError):
    """A value that the design does not allow; nothing was sent.

    Where it was an `argument` of a pattern, that is named and the `value` is here.
    """

    def __init__(self, where: str, wrong: str, argument: str = "", value: Any = None) -> None:
        super().__init__(f"{where}: {wrong}")
        self.where = where
        self.wrong = wrong
        self.argument = argument
        self.value = value


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


class RejectionUnexplained(StoreError):
    def __init__(self, entity: str) -> None:
        super().__init__(
            f"{entity}: the backend rejects a condition that holds for the item it returns; nothing was written. "
            "Either the backend or Partita evaluates the condition wrongly; please report it"
        )
        self.entity = entity


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
