"""Types of values, limits and settings that the entities share."""

import os
from datetime import timedelta
from typing import Annotated

import msgspec

from partita import ALL_SHARDS, Vector
from partita import Dimensions as VectorDimensions
from partita_systems import fields

KEEP_MATCHES = timedelta(days=7)
KEEP_NOTIFICATIONS = timedelta(days=30)
CACHE_SHARDS = int(os.environ.get("EECAR_CACHE_SHARDS", "1"))
CACHE, EVERY_CACHE = (
    ("CACHE", ()) if CACHE_SHARDS == 1 else (f"CACHE#{{query_hash:shard({CACHE_SHARDS})}}", (ALL_SHARDS,))
)
NEW = ""

BEST = 100  # results of a search by meaning in one category, the most that DynamoDB returns
SCANNED = 20_000  # items that a search may compare on a backend without vector indexes
DIMENSION = int(os.environ.get("EECAR_EMBEDDING_DIMENSION", "256"))
Embedding = Annotated[Vector, VectorDimensions(DIMENSION)]

MAX_PARTS = 90  # of a proposal: accepting it checks each of them, in one transaction of at most 100 actions

Party = Annotated[fields.Line, msgspec.Meta(max_length=64)]
Line = Annotated[fields.Line, msgspec.Meta(max_length=200)]
Text = Annotated[fields.FreeText, msgspec.Meta(max_length=20_000)]
Images = Annotated[list[fields.HttpUrl], msgspec.Meta(max_length=40)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
# Whole won. Other code may have stored a fraction, which is read as it is.
Won = Annotated[float, msgspec.Meta(ge=0, le=10**12, multiple_of=1)]
Quantity = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Measure = Annotated[float, msgspec.Meta(ge=0)]
Score = Annotated[float, msgspec.Meta(ge=0, le=1)]


def whole(amount: float) -> float:
    """The amount as an int, unless it has a fraction."""
    return int(amount) if amount % 1 == 0 else amount
