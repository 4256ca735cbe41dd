"""Partita: a DynamoDB design, declared once in Python, proven and run.

All public names are here. A name of the design language or the store is imported when it is first used, so that a
program that only serves DynamoDB's protocol starts without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partita import errors
from partita.connect import connect, connect_async

if TYPE_CHECKING:
    from partita.consumers.administration import ConsumerAdministration
    from partita.consumers.consumer import Consumer
    from partita.consumers.entity_changes import Change, Created, Deleted, Updated
    from partita.consumers.handler_transaction import HandlerTransaction
    from partita.consumers.settling import settle
    from partita.consumers.worker import Worker
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
        Internal,
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
        CorruptRow,
        DesignError,
        FileReplaced,
        InvalidCursor,
        InvalidTransaction,
        InvalidTransition,
        InvalidValue,
        JobRunning,
        LeaseLost,
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
        ReservedKey,
        RetriesExhausted,
        StillReferenced,
        StorageBusy,
        StorageClosed,
        StorageError,
        StoredItemInvalid,
        StoreError,
        TableNotFound,
        UnknownAttribute,
        UsedAfterFork,
        VersionConflict,
    )
    from partita.jobs.job import Jobs
    from partita.jobs.job_records import JobOutcome, JobTick
    from partita.jobs.job_run import JobRun
    from partita.jobs.job_runner import JobRunner, JobStatus
    from partita.plan.design import Design
    from partita.plan.proof.prove import prove
    from partita.store.adoption import Adoption
    from partita.store.async_store import AsyncStore
    from partita.store.observation import CapacityMeter, SentRequest
    from partita.store.reading import Page
    from partita.store.seeding import SeedStep
    from partita.store.store import Store
    from partita.store.transactions import Transaction
    from partita.system import System
    from partita.validation import convert, describe_pattern
else:
    _MODULES = {
        "Adoption": "store.adoption",
        "AsyncStore": "store.async_store",
        "CapacityMeter": "store.observation",
        "Change": "consumers.entity_changes",
        "Consumer": "consumers.consumer",
        "ConsumerAdministration": "consumers.administration",
        "Created": "consumers.entity_changes",
        "Deleted": "consumers.entity_changes",
        "Design": "plan.design",
        "DynamoDBError": "dynamodb.exceptions",
        "HandlerTransaction": "consumers.handler_transaction",
        "JobOutcome": "jobs.job_records",
        "JobRun": "jobs.job_run",
        "JobRunner": "jobs.job_runner",
        "JobStatus": "jobs.job_runner",
        "JobTick": "jobs.job_records",
        "Jobs": "jobs.job",
        "Page": "store.reading",
        "SeedStep": "store.seeding",
        "SentRequest": "store.observation",
        "Store": "store.store",
        "System": "system",
        "Transaction": "store.transactions",
        "Updated": "consumers.entity_changes",
        "Worker": "consumers.worker",
        "convert": "validation",
        "describe_pattern": "validation",
        "prove": "plan.proof.prove",
        "settle": "consumers.settling",
    }

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'partita' has no attribute {name!r}")
        module = _MODULES.get(name)
        if module is None:
            module = "errors" if hasattr(errors, name) else "design"
        found = globals()[name] = getattr(import_module(f"partita.{module}"), name)
        return found


__version__ = "0.1.0"
__all__ = [
    "ALL_SHARDS",
    "AUTO",
    "Adoption",
    "AlreadyExists",
    "AsyncStore",
    "CapacityMeter",
    "Change",
    "Compressed",
    "Condition",
    "ConditionFailed",
    "ConfigurationError",
    "Consumer",
    "ConsumerAdministration",
    "CorruptRow",
    "CountOf",
    "Created",
    "CreatedAt",
    "Deleted",
    "Design",
    "DesignError",
    "DynamoDBError",
    "Entity",
    "Expires",
    "F",
    "FileReplaced",
    "Get",
    "HandlerTransaction",
    "InKey",
    "Index",
    "Internal",
    "InvalidCursor",
    "InvalidTransaction",
    "InvalidTransition",
    "InvalidValue",
    "Item",
    "Items",
    "JobOutcome",
    "JobRun",
    "JobRunner",
    "JobRunning",
    "JobStatus",
    "JobTick",
    "Jobs",
    "Keys",
    "LeaseLost",
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
    "ReservedKey",
    "RetriesExhausted",
    "SeedStep",
    "SentRequest",
    "StillReferenced",
    "StorageBusy",
    "StorageClosed",
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
    "Updated",
    "UpdatedAt",
    "UsedAfterFork",
    "Version",
    "VersionConflict",
    "View",
    "Worker",
    "collection",
    "connect",
    "connect_async",
    "convert",
    "describe_pattern",
    "fan_out",
    "get",
    "new_id",
    "pattern",
    "prove",
    "query",
    "settle",
    "time_in_id",
]
