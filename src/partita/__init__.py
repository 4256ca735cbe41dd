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
    from partita.consumers.faults import ConsumerFaults
    from partita.consumers.handler_transaction import HandlerTransaction
    from partita.consumers.monitor import ConsumerMonitor
    from partita.consumers.settling import settle
    from partita.consumers.worker import Worker
    from partita.design import (
        ALL_SHARDS,
        AUTO,
        Compressed,
        Condition,
        CountOf,
        CreatedAt,
        Dimensions,
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
        Nearest,
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
        Vector,
        VectorIndex,
        VectorSearch,
        Version,
        View,
        Was,
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
        DesignMismatch,
        DesignRecordInvalid,
        EmbeddingModelMismatch,
        EmbeddingRejected,
        FileReplaced,
        InvalidCursor,
        InvalidTransaction,
        InvalidTransition,
        InvalidValue,
        JobRunning,
        LeaseLost,
        LimitReached,
        MigrationBlocked,
        MissingExtra,
        NoReply,
        NotFound,
        NotReady,
        NotUnique,
        OlderFileInUse,
        OutcomeUnknown,
        PartitaError,
        ProofError,
        ReadOnlyStore,
        ReferenceMissing,
        RehearsalFailed,
        RejectionUnexplained,
        ReservedKey,
        RestoreFailed,
        RestorePointMissing,
        RetriesExhausted,
        SearchRejected,
        ServiceRejected,
        StillReferenced,
        StorageBusy,
        StorageClosed,
        StorageError,
        StoredItemInvalid,
        StoreError,
        TableNotFound,
        TransferFailed,
        UnknownAttribute,
        UsedAfterFork,
        VersionConflict,
    )
    from partita.evolution.apply import apply_design
    from partita.evolution.diagnosis import diagnose
    from partita.evolution.migration_plan import plan_migration
    from partita.jobs.job import Jobs
    from partita.jobs.job_records import JobOutcome, JobTick
    from partita.jobs.job_run import JobRun
    from partita.jobs.job_runner import JobRunner, JobStatus
    from partita.plan.design import Design
    from partita.plan.proof.prove import prove
    from partita.search.declared_embeddings import Embeddings
    from partita.search.finding import TextMatch, TextPage
    from partita.search.highlights import Highlight
    from partita.search.opensearch import OpenSearch
    from partita.search.text_fields import TextFields
    from partita.search.text_index import TextFile, TextIndex
    from partita.store.adoption import Adoption
    from partita.store.async_store import AsyncStore
    from partita.store.observation import CapacityMeter, SentRequest
    from partita.store.reading import Page
    from partita.store.searching import SearchResult
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
        "ConsumerFaults": "consumers.faults",
        "ConsumerMonitor": "consumers.monitor",
        "Created": "consumers.entity_changes",
        "Deleted": "consumers.entity_changes",
        "Design": "plan.design",
        "DynamoDBError": "dynamodb.exceptions",
        "Embeddings": "search.declared_embeddings",
        "HandlerTransaction": "consumers.handler_transaction",
        "Highlight": "search.highlights",
        "JobOutcome": "jobs.job_records",
        "JobRun": "jobs.job_run",
        "JobRunner": "jobs.job_runner",
        "JobStatus": "jobs.job_runner",
        "JobTick": "jobs.job_records",
        "Jobs": "jobs.job",
        "OpenSearch": "search.opensearch",
        "Page": "store.reading",
        "SearchResult": "store.searching",
        "SeedStep": "store.seeding",
        "SentRequest": "store.observation",
        "Store": "store.store",
        "System": "system",
        "TextFields": "search.text_fields",
        "TextFile": "search.text_index",
        "TextIndex": "search.text_index",
        "TextMatch": "search.finding",
        "TextPage": "search.finding",
        "Transaction": "store.transactions",
        "Updated": "consumers.entity_changes",
        "Worker": "consumers.worker",
        "apply_design": "evolution.apply",
        "convert": "validation",
        "describe_pattern": "validation",
        "diagnose": "evolution.diagnosis",
        "plan_migration": "evolution.migration_plan",
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
    "ConsumerFaults",
    "ConsumerMonitor",
    "CorruptRow",
    "CountOf",
    "Created",
    "CreatedAt",
    "Deleted",
    "Design",
    "DesignError",
    "DesignMismatch",
    "DesignRecordInvalid",
    "Dimensions",
    "DynamoDBError",
    "EmbeddingModelMismatch",
    "EmbeddingRejected",
    "Embeddings",
    "Entity",
    "Expires",
    "F",
    "FileReplaced",
    "Get",
    "HandlerTransaction",
    "Highlight",
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
    "MigrationBlocked",
    "MissingExtra",
    "Nearest",
    "NoReply",
    "NotFound",
    "NotReady",
    "NotUnique",
    "OlderFileInUse",
    "OpenEnum",
    "OpenSearch",
    "Ordered",
    "OutcomeUnknown",
    "Owns",
    "Page",
    "PartitaError",
    "Pattern",
    "ProofError",
    "Query",
    "ReadOnlyStore",
    "ReferenceMissing",
    "References",
    "RehearsalFailed",
    "RejectionUnexplained",
    "ReservedKey",
    "RestoreFailed",
    "RestorePointMissing",
    "RetriesExhausted",
    "SearchRejected",
    "SearchResult",
    "SeedStep",
    "SentRequest",
    "ServiceRejected",
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
    "TextFields",
    "TextFile",
    "TextIndex",
    "TextMatch",
    "TextPage",
    "Transaction",
    "TransferFailed",
    "Transitions",
    "Unique",
    "UnknownAttribute",
    "Untracked",
    "Updated",
    "UpdatedAt",
    "UsedAfterFork",
    "Vector",
    "VectorIndex",
    "VectorSearch",
    "Version",
    "VersionConflict",
    "View",
    "Was",
    "Worker",
    "apply_design",
    "collection",
    "connect",
    "connect_async",
    "convert",
    "describe_pattern",
    "diagnose",
    "fan_out",
    "get",
    "new_id",
    "pattern",
    "plan_migration",
    "prove",
    "query",
    "settle",
    "time_in_id",
]
