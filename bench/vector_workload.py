"""The vectors, items and requests with which vector indexes are measured: the same for all, made from a fixed seed."""

import random
from collections.abc import Iterator
from typing import Any

DIMENSIONS = 256
RESULTS = 10
CATEGORIES = 4
TABLE_NAME = "vectors"
SEARCH, WRITE = "SearchVectors", "BatchWriteItem"
OPERATIONS = (SEARCH, WRITE)
SEARCHES = 100
WRITTEN = 4_000
BATCH = 25

WireItem = dict[str, Any]

TABLE: dict[str, Any] = {
    "TableName": TABLE_NAME,
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "category", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "VectorIndexes": [
        {
            "IndexName": "by_meaning",
            "VectorAttribute": {"AttributeName": "embedding"},
            "SearchSchema": [{"AttributeName": "category", "SearchSchemaElementType": "INLINE_FILTER"}],
            "Projection": {"ProjectionType": "ALL"},
            "Dimensions": DIMENSIONS,
            "DistanceFunction": "COSINE",
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def _numbers(count: int) -> list[WireItem]:
    """Small numbers, with the digits of a 32-bit float."""
    chance = random.Random("numbers")
    return [{"N": f"{chance.gauss(0, 0.06):.8g}"} for _ in range(count)]


_POOL = _numbers(20_000)


def vector(seed: str) -> list[WireItem]:
    """A vector of numbers of the pool, which is faster than new ones and as random."""
    return random.Random(seed).choices(_POOL, k=DIMENSIONS)


def item(number: int) -> WireItem:
    """Item `number`: a vector and a few attributes beside it."""
    return {
        "pk": {"S": f"PART#{number:08}"},
        "category": {"S": f"category-{number % CATEGORIES}"},
        "name": {"S": f"part number {number} of many"},
        "embedding": {"L": vector(f"item {number}")},
    }


def batches(first: int, items: int) -> Iterator[dict[str, Any]]:
    """BatchWriteItem bodies that put so many items."""
    for begin in range(first, first + items, BATCH):
        puts = [{"PutRequest": {"Item": item(number)}} for number in range(begin, begin + BATCH)]
        yield {"RequestItems": {TABLE_NAME: puts}}


def bodies(operation: str) -> list[dict[str, Any]]:
    """The requests of one measurement; writes put items beside those that searches find."""
    if operation == WRITE:
        return list(batches(1_000_000, WRITTEN))
    return [
        {
            "TableName": TABLE_NAME,
            "IndexName": "by_meaning",
            "SearchVector": vector(f"search {number}"),
            "TopK": RESULTS,
        }
        for number in range(SEARCHES)
    ]
