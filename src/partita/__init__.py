"""Partita: write a DynamoDB design down once, in Python, and it runs.

What a team imports is here. The design language and the store are loaded when they are first asked for, so that a
program that only serves DynamoDB's protocol starts without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partita.connect import connect, connect_async

if TYPE_CHECKING:
    from partita.design import (
        KEPT,
        SHARDS,
        Condition,
        CountOf,
        CreatedAt,
        DesignError,
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
        Name,
        OpenEnum,
        Ordered,
        Owns,
        Pattern,
        ProofError,
        Query,
        Quiet,
        References,
        SumOf,
        Table,
        Transitions,
        Unique,
        UpdatedAt,
        ValueRefused,
        Version,
        View,
        Zipped,
        each,
        get,
        new_id,
        pattern,
        query,
        time_in_id,
        together,
    )
    from partita.plan import (
        Design,
        prove,
    )
    from partita.store import (
        AlreadyExists,
        AsyncStore,
        Call,
        Capacity,
        ConditionFailed,
        Contended,
        CursorRefused,
        LimitReached,
        NotFound,
        NotUnique,
        OutcomeUnknown,
        Page,
        Piece,
        ReferenceMissing,
        Store,
        StoredItemInvalid,
        StoreError,
        Transaction,
        TransitionRefused,
        VersionConflict,
    )
else:

    def __getattr__(name: str) -> Any:
        if name in __all__:
            for room in map(import_module, ("partita.design", "partita.plan", "partita.store")):
                if name in room.__all__:
                    return getattr(room, name)
        raise AttributeError(f"module 'partita' has no attribute {name!r}")


__version__ = "0.1.0"
__all__ = [
    "KEPT",
    "SHARDS",
    "AlreadyExists",
    "AsyncStore",
    "Call",
    "Capacity",
    "Condition",
    "ConditionFailed",
    "Contended",
    "CountOf",
    "CreatedAt",
    "CursorRefused",
    "Design",
    "DesignError",
    "Entity",
    "Expires",
    "F",
    "Get",
    "InKey",
    "Index",
    "Item",
    "Items",
    "Keys",
    "Limit",
    "LimitReached",
    "Name",
    "NotFound",
    "NotUnique",
    "OpenEnum",
    "Ordered",
    "OutcomeUnknown",
    "Owns",
    "Page",
    "Pattern",
    "Piece",
    "ProofError",
    "Query",
    "Quiet",
    "ReferenceMissing",
    "References",
    "Store",
    "StoreError",
    "StoredItemInvalid",
    "SumOf",
    "Table",
    "Transaction",
    "TransitionRefused",
    "Transitions",
    "Unique",
    "UpdatedAt",
    "ValueRefused",
    "Version",
    "VersionConflict",
    "View",
    "Zipped",
    "connect",
    "connect_async",
    "each",
    "get",
    "new_id",
    "pattern",
    "prove",
    "query",
    "time_in_id",
    "together",
]
