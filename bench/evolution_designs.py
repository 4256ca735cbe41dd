"""Two versions of a design for the bench of evolution, and the items of their data.

The second adds an index of orders by status.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from partita import Design, Entity, Index, Keys, Table, prove
from partita.dynamodb.backend import Backend
from partita.dynamodb.requests import BatchWriteItem

TABLE_NAME = "bench"
ORDERS = 19  # of each customer
NOTE = "the quick brown fox jumps over the lazy dog, again and again and again and again, " * 5

Version = tuple[Design, Any]
"""A design, and its entity of orders."""


def first() -> Version:
    """Customers and orders."""
    table = Table(TABLE_NAME, "pk", "sk")

    class Customer(Entity, table=table, key=("CUSTOMER#{customer}", "PROFILE")):
        customer: str

    class Order(Entity, table=table, key=("CUSTOMER#{customer}", "ORDER#{order}")):
        customer: str
        order: str
        number: int
        status: str
        note: str

    return prove("bench", table), Order


def second() -> Version:
    """With an index of the orders by status."""
    table = Table(TABLE_NAME, "pk", "sk", indexes=(Index("by_status", "gsi1pk", "gsi1sk"),))

    class Customer(Entity, table=table, key=("CUSTOMER#{customer}", "PROFILE")):
        customer: str

    class Order(Entity, table=table, key=("CUSTOMER#{customer}", "ORDER#{order}")):
        customer: str
        order: str
        number: int
        status: str
        note: str
        by_status = Keys("by_status", "STATUS#{status}", "{order}")

    return prove("bench", table), Order


def items(count: int, *, indexed: bool) -> Iterator[dict[str, Any]]:
    """Items as the first design stores them, or the second; about 600 bytes each."""
    for at in range(count):
        customer = f"{at // (ORDERS + 1):07}"
        own: dict[str, Any] = {"pk": {"S": f"CUSTOMER#{customer}"}, "customer": {"S": customer}}
        if at % (ORDERS + 1) == 0:
            yield own | {"sk": {"S": "PROFILE"}}
            continue
        order = f"{at * 7919 % 100_000_007:08}-{at:08}"
        status = f"S{at % 50}"
        own |= {"sk": {"S": f"ORDER#{order}"}, "order": {"S": order}, "number": {"N": str(at)}}
        own |= {"status": {"S": status}, "note": {"S": NOTE}}
        yield own | ({"gsi1pk": {"S": f"STATUS#{status}"}, "gsi1sk": {"S": order}} if indexed else {})


def batches(count: int, *, indexed: bool) -> Iterator[BatchWriteItem]:
    """The items, 25 in a request."""
    made = items(count, indexed=indexed)
    while several := list(islice(made, 25)):
        puts = [{"PutRequest": {"Item": each}} for each in several]
        yield msgspec.convert({"RequestItems": {TABLE_NAME: puts}}, BatchWriteItem)


def fill(backend: Backend, count: int, *, indexed: bool) -> None:
    """Writes all of the items."""
    for request in batches(count, indexed=indexed):
        backend.call(request)
