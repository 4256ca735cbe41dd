"""Runs plans: pages, batches, retries, transactions; items to entities and back; sync and async over the same flows."""

from partita.store.adoption import Adoption
from partita.store.async_store import AsyncStore
from partita.store.reading import Page
from partita.store.retries import CapacityMeter, SentRequest
from partita.store.seeding import SeedStep
from partita.store.store import Store
from partita.store.transactions import Transaction

__all__ = [
    "Adoption",
    "AsyncStore",
    "CapacityMeter",
    "Page",
    "SeedStep",
    "SentRequest",
    "Store",
    "Transaction",
]
