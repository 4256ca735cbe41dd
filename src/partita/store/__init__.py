"""Runs plans: pages, batches, retries, transactions; items to entities and back; sync and async over the same flows."""

from partita.plan.errors import (
    AlreadyExists,
    ConditionFailed,
    Contended,
    CursorRefused,
    LimitReached,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    ReferenceMissing,
    StoredItemInvalid,
    StoreError,
    TransitionRefused,
    VersionConflict,
)
from partita.store.adoption import Adoption
from partita.store.async_store import AsyncStore
from partita.store.reading import Page
from partita.store.retries import Call, Capacity
from partita.store.seeding import Piece
from partita.store.store import Store
from partita.store.transactions import Transaction

__all__ = [
    "Adoption",
    "AlreadyExists",
    "AsyncStore",
    "Call",
    "Capacity",
    "ConditionFailed",
    "Contended",
    "CursorRefused",
    "LimitReached",
    "NotFound",
    "NotUnique",
    "OutcomeUnknown",
    "Page",
    "Piece",
    "ReferenceMissing",
    "Store",
    "StoreError",
    "StoredItemInvalid",
    "Transaction",
    "TransitionRefused",
    "VersionConflict",
]
