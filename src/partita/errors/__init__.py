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
│   │   └── DesignRecordInvalid  what is recorded about the design of data
│   └── InvalidCursor      a cursor that does not belong to this query
├── StorageError           the database file cannot be read or written
│   ├── StorageBusy        another process kept the file locked for too long
│   │   └── OlderFileInUse  it has an older format, and cannot be upgraded meanwhile
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

from partita.errors.base_error import Key as Key
from partita.errors.base_error import PartitaError
from partita.errors.base_error import Step as Step
from partita.errors.base_error import item_name as item_name
from partita.errors.base_error import place_text as place_text
from partita.errors.base_error import value_text as value_text
from partita.errors.design_errors import (
    ConfigurationError,
    DesignError,
    InvalidValue,
    MissingExtra,
    ProofError,
    ReservedKey,
    UnknownAttribute,
)
from partita.errors.design_errors import Fault as Fault
from partita.errors.operation_errors import (
    DesignMismatch,
    DesignRecordInvalid,
    JobRunning,
    LeaseLost,
    MigrationBlocked,
    NotReady,
    ReadOnlyStore,
    RehearsalFailed,
    RestoreFailed,
    RestorePointMissing,
    TransferFailed,
)
from partita.errors.service_errors import (
    EmbeddingModelMismatch,
    EmbeddingRejected,
    NoReply,
    SearchRejected,
    ServiceRejected,
)
from partita.errors.storage_errors import (
    CorruptRow,
    FileReplaced,
    OlderFileInUse,
    StorageBusy,
    StorageClosed,
    StorageError,
    UsedAfterFork,
)
from partita.errors.storage_errors import SpaceMissing as SpaceMissing
from partita.errors.store_errors import (
    AlreadyExists,
    ConditionFailed,
    InvalidCursor,
    InvalidTransaction,
    InvalidTransition,
    LimitReached,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    ReferenceMissing,
    RejectionUnexplained,
    RetriesExhausted,
    StillReferenced,
    StoredItemInvalid,
    StoreError,
    TableNotFound,
    VersionConflict,
)

__all__ = [
    "AlreadyExists",
    "ConditionFailed",
    "ConfigurationError",
    "CorruptRow",
    "DesignError",
    "DesignMismatch",
    "DesignRecordInvalid",
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
    "OlderFileInUse",
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

for _name in __all__:
    globals()[_name].__module__ = __name__  # tracebacks print the name that is imported
