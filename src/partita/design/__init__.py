"""What a team means: tables, indexes, entities, key templates, access patterns, invariants. Frozen, no I/O."""

from partita.design.conditions import Condition, F
from partita.design.entities import Entity, View
from partita.design.errors import DesignError, ProofError, ValueRefused
from partita.design.ids import new_id, time_in_id
from partita.design.key_templates import Ordered
from partita.design.keys import Keys
from partita.design.markers import (
    KEPT,
    CountOf,
    CreatedAt,
    Expires,
    InKey,
    Limit,
    Name,
    Owns,
    Quiet,
    References,
    SumOf,
    Transitions,
    Unique,
    UpdatedAt,
    Version,
    Zipped,
)
from partita.design.open_enum import OpenEnum
from partita.design.patterns import Pattern, pattern
from partita.design.reads import SHARDS, Get, Item, Items, Query, each, get, query, together
from partita.design.tables import Index, Table

__all__ = [
    "KEPT",
    "SHARDS",
    "Condition",
    "CountOf",
    "CreatedAt",
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
    "Name",
    "OpenEnum",
    "Ordered",
    "Owns",
    "Pattern",
    "ProofError",
    "Query",
    "Quiet",
    "References",
    "SumOf",
    "Table",
    "Transitions",
    "Unique",
    "UpdatedAt",
    "ValueRefused",
    "Version",
    "View",
    "Zipped",
    "each",
    "get",
    "new_id",
    "pattern",
    "query",
    "time_in_id",
    "together",
]
