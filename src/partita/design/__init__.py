"""The design language: tables, indexes, entities, key templates, access patterns, invariants. Frozen, no I/O."""

from partita.design.conditions import Condition, F
from partita.design.entities import Entity, View
from partita.design.ids import new_id, time_in_id
from partita.design.key_templates import Ordered
from partita.design.keys import Keys
from partita.design.markers import (
    AUTO,
    Compressed,
    CountOf,
    CreatedAt,
    Dimensions,
    Expires,
    InKey,
    Internal,
    Limit,
    Owns,
    References,
    StoredAs,
    SumOf,
    Transitions,
    Unique,
    Untracked,
    UpdatedAt,
    Version,
    Was,
)
from partita.design.open_enum import OpenEnum
from partita.design.patterns import Pattern, pattern
from partita.design.reads import (
    ALL_SHARDS,
    Get,
    Item,
    Items,
    Nearest,
    Query,
    VectorSearch,
    collection,
    fan_out,
    get,
    query,
)
from partita.design.tables import Index, Table, VectorIndex
from partita.design.vector_values import Vector

__all__ = [
    "ALL_SHARDS",
    "AUTO",
    "Compressed",
    "Condition",
    "CountOf",
    "CreatedAt",
    "Dimensions",
    "Entity",
    "Expires",
    "F",
    "Get",
    "InKey",
    "Index",
    "Internal",
    "Item",
    "Items",
    "Keys",
    "Limit",
    "Nearest",
    "OpenEnum",
    "Ordered",
    "Owns",
    "Pattern",
    "Query",
    "References",
    "StoredAs",
    "SumOf",
    "Table",
    "Transitions",
    "Unique",
    "Untracked",
    "UpdatedAt",
    "Vector",
    "VectorIndex",
    "VectorSearch",
    "Version",
    "View",
    "Was",
    "collection",
    "fan_out",
    "get",
    "new_id",
    "pattern",
    "query",
    "time_in_id",
]
