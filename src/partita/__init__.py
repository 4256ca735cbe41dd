"""Partita: write a DynamoDB design down once, in Python, and it runs.

What a team imports is here. The design language and the store are loaded when they are first asked for, so that a
program that only serves DynamoDB's protocol starts without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partita.connect import connect, connect_async

if TYPE_CHECKING:
    from partita.design import (
        ALL_SHARDS,
        AUTO,
        Compressed,
        Condition,
        CountOf,
        CreatedAt,
        Entity,
        Expires,
        F,
        Get,
        Index,
        InKey,
        Item,
        Items,
        Keys,
        Limit,
        OpenEnum,
        Ordered,
        Owns,
        Pattern,
        Query,
        References,
        StoredAs,
        SumOf,
        Table,
        Transitions,
        Unique,
        Untracked,
        UpdatedAt,
        Version,
        View,
        collection,
        fan_out,
        get,
        new_id,
        pattern,
        query,
        time_in_id,
    )
    from partita.dynamodb.exceptions import DynamoDBError
    from partita.errors import (
        AlreadyExists,
        ConditionFailed,
        ConfigurationError,
        DesignError,
        InvalidCursor,
        InvalidTransaction,
        InvalidTransition,
        InvalidValue,
        LimitReached,
        MissingExtra,
        NoReply,
        NotFound,
        NotUnique,
        OutcomeUnknown,
        PartitaError,
        ProofError,
        ReferenceMissing,
        RejectionUnexplained,
        RetriesExhausted,
        StorageBusy,
        StorageError,
        StoredItemInvalid,
        StoreError,
        TableNotFound,
        UnknownAttribute,
        VersionConflict,
    )
    from partita.plan import (
        Design,
        prove,
    )
    from partita.store import (
        Adoption,
        AsyncStore,
        CapacityMeter,
        Page,
        SeedStep,
        SentRequest,
        Store,
        Transaction,
    )
    from partita.system import System
    from partita.validation import convert
else:
    _ROOMS = ("partita.errors", "partita.validation", "partita.design", "partita.plan", "partita.store")

    def __getattr__(name: str) -> Any:
        if name in __all__:
            if name == "DynamoDBError":
                return import_module("partita.dynamodb.exceptions").DynamoDBError
            rooms = ("errors", "validation", "system", "design", "plan", "store")
            for room in (import_module(f"partita.{each}") for each in rooms):
                if name in room.__all__:
                    return getattr(room, name)
        raise AttributeError(f"module 'partita' has no attribute {name!r}")


__version__ = "0.1.0"
__all__ = [
    "ALL_SHARDS",
    "AUTO",
    "Adoption",
    "AlreadyExists",
    "AsyncStore",
    "CapacityMeter",
    "Compressed",
    "Condition",
    "ConditionFailed",
    "ConfigurationError",
    "CountOf",
    "CreatedAt",
    "Design",
    "DesignError",
    "DynamoDBError",
    "Entity",
    "Expires",
    "F",
    "Get",
    "InKey",
    "Index",
    "InvalidCursor",
    "InvalidTransaction",
    "InvalidTransition",
    "InvalidValue",
    "Item",
    "Items",
    "Keys",
    "Limit",
    "LimitReached",
    "MissingExtra",
    "NoReply",
    "NotFound",
    "NotUnique",
    "OpenEnum",
    "Ordered",
    "OutcomeUnknown",
    "Owns",
    "Page",
    "PartitaError",
    "Pattern",
    "ProofError",
    "Query",
    "ReferenceMissing",
    "References",
    "RejectionUnexplained",
    "RetriesExhausted",
    "SeedStep",
    "SentRequest",
    "StorageBusy",
    "StorageError",
    "Store",
    "StoreError",
    "StoredAs",
    "StoredItemInvalid",
    "SumOf",
    "System",
    "Table",
    "TableNotFound",
    "Transaction",
    "Transitions",
    "Unique",
    "UnknownAttribute",
    "Untracked",
    "UpdatedAt",
    "Version",
    "VersionConflict",
    "View",
    "collection",
    "connect",
    "connect_async",
    "convert",
    "fan_out",
    "get",
    "new_id",
    "pattern",
    "prove",
    "query",
    "time_in_id",
]
