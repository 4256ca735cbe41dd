"""The tree of Partita's errors: everything that Partita raises is a PartitaError.

PartitaError
├── ConfigurationError     a setting, address or argument that cannot work
│   └── MissingExtra       a package of an optional extra is not installed
├── DesignError            a declaration that cannot work, found when a design is imported or loaded
│   └── ProofError         an access pattern that cannot be proven
├── UnknownAttribute       a draft has no such attribute
├── InvalidValue           a value that the design does not allow; nothing was sent
│   └── ReservedKey        a key that begins as the keys of guards do
├── StoreError             a read or write that could not be done as asked
│   ├── TableNotFound      a table of the design does not exist
│   ├── DesignMismatch     the data does not satisfy the design, or the design is older than the data
│   ├── MigrationBlocked   `partita apply` cannot go on before people or programs have done something
│   ├── NotReady           an index, counter or entity that `partita apply` has not finished
│   ├── ReadOnlyStore      a write through a store that was opened to read only
│   ├── NotFound           no such item, or it has expired
│   ├── AlreadyExists      create found an item with the same key
│   ├── NotUnique          another item holds the value
│   ├── ReferenceMissing   the entity that is referred to does not exist
│   ├── StillReferenced    an item that still counts children cannot be deleted
│   ├── LimitReached       growth would exceed a declared limit
│   ├── InvalidTransition  the value may not follow the present one
│   ├── ConditionFailed    the caller's own condition does not hold
│   ├── VersionConflict    the item was edited since it was read
│   ├── InvalidTransaction its writes do not fit one transaction
│   ├── RetriesExhausted   too many conflicting writes; nothing was written
│   ├── RejectionUnexplained  the backend rejects a condition that holds; nothing was written
│   ├── OutcomeUnknown     the reply was lost, and sending the write again could apply it twice
│   ├── LeaseLost          another process has taken over a job
│   ├── JobRunning         a job that is to run by hand runs already
│   ├── RestorePointMissing  a table cannot be restored to the moment, or from the backup
│   ├── RestoreFailed      a restore has ended without its table
│   ├── TransferFailed     an export, an import, a bulk put or a move has failed
│   ├── RehearsalFailed    a restored table has other items than it should
│   ├── StoredItemInvalid  a stored item does not fit its entity
│   └── InvalidCursor      a cursor that does not belong to this query
├── StorageError           the database file cannot be read or written
│   ├── StorageBusy        another process kept the file locked for too long
│   ├── StorageClosed      the database was closed before the request
│   │   └── UsedAfterFork  it was opened before the process was forked
│   ├── CorruptRow         a row does not match its checksum
│   ├── FileReplaced       the file was deleted, replaced or truncated while open
│   └── SpaceMissing       a table of the file vanished under a reader
├── NoReply                an endpoint gave no answer, or none that can be read
├── ServiceRejected        a service over HTTP answered with an error
│   ├── EmbeddingRejected  an embedding service did
│   └── SearchRejected     OpenSearch did
├── EmbeddingModelMismatch vectors of different models were about to be compared
└── DynamoDBError          DynamoDB's own errors, word for word, one class for each code (dynamodb.exceptions)

A class has the facts as attributes, and renders its message from them. REST renders another message, with the names of
the request, from the same facts; no code parses a message.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from types import EllipsisType
from typing import Any, NamedTuple

__all__ = [
    "AlreadyExists",
    "ConditionFailed",
    "ConfigurationError",
    "CorruptRow",
    "DesignError",
    "DesignMismatch",
    "EmbeddingModelMismatch",
    "EmbeddingRejected",
    "FileReplaced",
    "InvalidCursor",
    "InvalidTransaction",
    "InvalidTransition",
    "InvalidValue",
    "JobRunning",
    "LeaseLost",
    "LimitReached",
    "MigrationBlocked",
    "MissingExtra",
    "NoReply",
    "NotFound",
    "NotReady",
    "NotUnique",
    "OutcomeUnknown",
    "PartitaError",
    "ProofError",
    "ReadOnlyStore",
    "ReferenceMissing",
    "RehearsalFailed",
    "RejectionUnexplained",
    "ReservedKey",
    "RestoreFailed",
    "RestorePointMissing",
    "RetriesExhausted",
    "SearchRejected",
    "ServiceRejected",
    "StillReferenced",
    "StorageBusy",
    "StorageClosed",
    "StorageError",
    "StoreError",
    "StoredItemInvalid",
    "TableNotFound",
    "TransferFailed",
    "UnknownAttribute",
    "UsedAfterFork",
    "VersionConflict",
]

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


class ConfigurationError(PartitaError):
    """A setting, address or argument that cannot work; the message says what to write instead."""


class MissingExtra(ConfigurationError, ModuleNotFoundError):
    """A package of an optional extra is not installed; the message has the command that installs it."""

    def __init__(self, what: str, extras: Sequence[str], module: str) -> None:
        super().__init__(f"{what} needs an extra; run pip install 'partita[{','.join(extras)}]' ({module} is missing)")
        self.extras = tuple(extras)
        self.name = module


# A design


class DesignError(PartitaError):
    """A declaration that cannot work; `where` names it, `instead` says what to write."""

    def __init__(self, where: str, reason: str, instead: str = "") -> None:
        super().__init__(where, reason, instead)
        self.where = where
        self.reason = reason
        self.instead = instead

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}" + (f"; {self.instead}" if self.instead else "")


class ProofError(DesignError):
    """An access pattern that is not exactly one read of one range holding nothing else."""


# A value


class UnknownAttribute(PartitaError, AttributeError):
    """A draft has no such attribute."""

    def __init__(self, entity: str, attribute: str, known: tuple[str, ...]) -> None:
        super().__init__(entity, attribute, known)
        self.entity = entity
        self.attribute = attribute
        self.known = known

    def __str__(self) -> str:
        return f"{self.entity} has no attribute {self.attribute!r}; its attributes are {', '.join(self.known)}"


class Fault(NamedTuple):
    """Why a value does not fit its type, as facts.

    | kind       | facts                                                                         |
    |------------|-------------------------------------------------------------------------------|
    | type       | `expected` types, `got` another                                               |
    | bound      | a number is not `operator` `limit`                                            |
    | length     | the length of an `expected` is not `operator` `limit`                         |
    | pattern    | text does not match `limit`                                                   |
    | rule       | text breaks a rule; `expected` says which: "must be one line"                 |
    | multiple   | a number is not a multiple of `limit`                                         |
    | time zone  | a time needs `expected`: "a" time zone, or "no" time zone                     |
    | missing    | a required field is absent                                                    |
    | unknown    | a field has a name that the type does not know                                |
    | choice     | `got` is not a value of the enum, the literal or the tag; `expected` lists them |
    | format     | text is not an `expected`                                                     |
    | range      | a number, time or duration is too large or too small for its type             |
    | null       | None is not allowed                                                           |
    | other      | `got` is the message                                                          |
    """

    kind: str
    expected: str = ""
    got: str = ""
    operator: str = ""
    limit: str = ""

    def __str__(self) -> str:
        return _FAULT_TEXTS[self.kind].format(self)


_FAULT_TEXTS = {
    "type": "expected `{0.expected}`, got `{0.got}`",
    "bound": "must be {0.operator} {0.limit}",
    "length": "its length must be {0.operator} {0.limit}",
    "pattern": "does not match {0.limit}",
    "rule": "{0.expected}",
    "multiple": "must be a multiple of {0.limit}",
    "time zone": "must have {0.expected} time zone",
    "missing": "is missing",
    "unknown": "is not known",
    "choice": "{0.got} is not one of its values",
    "format": "expected {0.expected}",
    "range": "is out of range",
    "null": "it may not be None",
    "other": "{0.got}",
}


class InvalidValue(PartitaError):
    """A value that the design does not allow; nothing was sent.

    `path` leads from the `entity` (or the pattern) to the value: `InvalidValue("Order", "is too large", "lines", 3)`.
    For a parameter of a pattern, `argument` is its name and `value` its value. `fault` has the facts where the
    value does not fit its type.
    """

    def __init__(
        self, entity: str, reason: str, *path: Step, argument: str = "", value: Any = None, fault: Fault | None = None
    ) -> None:
        super().__init__(entity, reason, *path)
        self.entity = entity
        self.reason = reason
        self.path = path
        self.argument = argument
        self.value = value
        self.fault = fault

    @property
    def where(self) -> str:
        """The entity and the place in it: `Order.lines[3]`; the pattern and its argument: `orders.customer`."""
        return place_text((self.entity, *(self.path or ((self.argument,) if self.argument else ()))))

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class ReservedKey(InvalidValue):
    """A key that begins as the keys of guards do. No entity can have it, so a read finds nothing under it."""


# A read or a write


class StoreError(PartitaError):
    """A read or write that could not be done as asked; nothing of it was written (but see OutcomeUnknown)."""


class TableNotFound(StoreError):
    """The read or write is on a table that does not exist."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def __str__(self) -> str:
        return f"table {self.table!r} does not exist; create the tables of the design with db.create_tables()"


class DesignMismatch(StoreError):
    """The data does not satisfy the design: some of its answers would be wrong.

    `differences` are sentences. `is_older`: the data was applied to a newer design, and the program has an earlier one.
    """

    def __init__(self, design: str, differences: Sequence[str], *, is_older: bool = False) -> None:
        super().__init__(design, tuple(differences))
        self.design = design
        self.differences = tuple(differences)
        self.is_older = is_older

    def __str__(self) -> str:
        listed = "".join(f"\n  {each}" for each in self.differences[:20])
        more = f"\n  and {len(self.differences) - 20} more" if len(self.differences) > 20 else ""
        if self.is_older:
            return (
                f"design {self.design!r} is older than the data, and would not keep it right; deploy the program with "
                f"the newer design. They differ in:{listed}{more}"
            )
        return (
            f"the data does not satisfy design {self.design!r}; run `partita plan MODULE --on ADDRESS` to see what is "
            f"to be done and `partita apply` to do it. They differ in:{listed}{more}"
        )


class MigrationBlocked(StoreError):
    """Something stands in the way of applying a design; what was done so far stays, and the next run goes on."""

    def __init__(self, design: str, reasons: Sequence[str]) -> None:
        super().__init__(design, tuple(reasons))
        self.design = design
        self.reasons = tuple(reasons)

    def __str__(self) -> str:
        listed = "".join(f"\n  {each}" for each in self.reasons[:50])
        more = f"\n  and {len(self.reasons) - 50} more" if len(self.reasons) > 50 else ""
        return f"design {self.design!r} is not applied yet; run `partita apply` again afterwards:{listed}{more}"


class NotReady(StoreError):
    """Something that `partita apply` is still preparing: it would give wrong answers now."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name} is not ready: {self.reason}; it can be used when `partita apply` has finished"


class ReadOnlyStore(StoreError):
    """A write through a store that was opened with `read_only=True`; nothing was sent."""

    def __init__(self, operation: str) -> None:
        super().__init__(operation)
        self.operation = operation

    def __str__(self) -> str:
        return f"{self.operation}: the store was opened with read_only=True; nothing was sent"


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


class LeaseLost(StoreError):
    """Another process has taken over the job, since this one did not renew its lease; nothing was written."""

    def __init__(self, job: str) -> None:
        super().__init__(job)
        self.job = job

    def __str__(self) -> str:
        return f"job {self.job!r}: another process has taken over its lease; this run cannot write any more"


class RestorePointMissing(StoreError):
    """A table cannot be restored as asked; `nearest` has the moments that it can be restored to."""

    def __init__(self, table: str, problem: str, nearest: Sequence[str]) -> None:
        super().__init__(table, problem, nearest)
        self.table = table
        self.problem = problem
        self.nearest = list(nearest)

    def __str__(self) -> str:
        return f"{self.table}: {self.problem}; there is {' and '.join(self.nearest) or 'nothing to restore it from'}"


class RestoreFailed(StoreError):
    """The table of a restore is gone."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.table = table

    def __str__(self) -> str:
        return f"{self.table}: the restore has failed, and its table is gone"


class TransferFailed(StoreError):
    """An export, an import, a bulk put or a move has failed; `code` is DynamoDB's, where it has one."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class RehearsalFailed(StoreError):
    """A restored table has other items than it should."""

    def __init__(self, table: str, restored: str, problem: str) -> None:
        super().__init__(table, restored, problem)
        self.table = table
        self.restored = restored
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.table}: restored {self.restored}, {self.problem}"


class JobRunning(StoreError):
    """The job has a run that has not ended, in this process or another one."""

    def __init__(self, job: str, scheduled_at: datetime) -> None:
        super().__init__(job, scheduled_at)
        self.job = job
        self.scheduled_at = scheduled_at

    def __str__(self) -> str:
        when = value_text(self.scheduled_at)
        return f"job {self.job!r}: its run of {when} has not ended; run it by hand afterwards"


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


# Below the store


class StorageError(PartitaError):
    """The database file cannot be read or written; nothing of the failed transaction is kept."""


class StorageBusy(StorageError):
    """Another process held the file's write lock for longer than the time-out."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(path, seconds)
        self.path = path
        self.seconds = seconds

    def __str__(self) -> str:
        return f"{self.path}: another process kept the write lock for more than {self.seconds:g} seconds"


class StorageClosed(StorageError):
    """The database was closed before the request; nothing of it was done."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} is closed; open it again with connect()"


class UsedAfterFork(StorageClosed):
    """The database was opened before the process was forked; nothing of the request was done."""

    def __str__(self) -> str:
        return (
            f"{self.path} was opened before this process was forked; open it after the fork, or start the process with "
            "'spawn'"
        )


class SpaceMissing(StorageError):
    """A read met a space that does not exist (any more): the caller's catalogue is older than the file."""

    def __init__(self, space: str) -> None:
        super().__init__(space)
        self.space = space

    def __str__(self) -> str:
        return f"there is no space named {self.space!r}"


class CorruptRow(StorageError):
    """A row that does not match its checksum: the file was damaged, or changed by another program."""

    def __init__(self, path: str, space: str, key: bytes) -> None:
        super().__init__(path, space, key)
        self.path = path
        self.space = space
        self.key = key

    def __str__(self) -> str:
        row = f"the row {self.key.hex()} of {self.space}"
        return f"{self.path}: {row} is damaged: it does not match its checksum; run `partita verify {self.path}`"


class FileReplaced(StorageError):
    """The database file, or its log, was deleted, replaced or truncated while it was open; writes would be lost."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: the file was deleted, replaced or truncated while it was open; close it and open it again"


class NoReply(PartitaError, ConnectionError):
    """An endpoint gave no answer, or none that can be read.

    `perhaps_executed` is true where the request had already left: it may have been executed without an answer.
    """

    def __init__(self, endpoint: str, reason: str, *, perhaps_executed: bool) -> None:
        super().__init__(f"{endpoint}: {reason}")  # OSError takes several arguments for its errno and file names
        self.endpoint = endpoint
        self.reason = reason
        self.perhaps_executed = perhaps_executed

    def __str__(self) -> str:
        outcome = "the request may have been executed" if self.perhaps_executed else "the request was not executed"
        return f"{self.endpoint}: {self.reason}; {outcome}"


# Services: embeddings, OpenSearch


class ServiceRejected(PartitaError):
    """A service answered with an error; `retry_after` is the wait in seconds that it asks for."""

    def __init__(self, service: str, status: int, reason: str, retry_after: float | None = None) -> None:
        super().__init__(service, status, reason, retry_after)
        self.service = service
        self.status = status
        self.reason = reason
        self.retry_after = retry_after

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status in {408, 424, 429} or self.status >= 500

    def __str__(self) -> str:
        return f"{self.service}: status {self.status}: {self.reason}"


class EmbeddingRejected(ServiceRejected):
    """An embedding service answered with an error."""


class SearchRejected(ServiceRejected):
    """OpenSearch answered with an error."""


class EmbeddingModelMismatch(PartitaError):
    """Vectors of different models say nothing about each other; changing the model is a migration."""

    def __init__(self, model: str, expected: str) -> None:
        super().__init__(model, expected)
        self.model = model
        self.expected = expected

    def __str__(self) -> str:
        return f"a vector of {self.model!r} cannot be compared with those of {self.expected!r}; embed its text again"
