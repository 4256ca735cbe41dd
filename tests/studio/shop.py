"""A small shop with every construct that the studio shows: invariants, several key forms, sets, binary and numbers."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from partita import (
    CountOf,
    Entity,
    Index,
    Item,
    Items,
    Keys,
    OpenEnum,
    Owns,
    Store,
    Table,
    Unique,
    Version,
    pattern,
    prove,
    query,
)

table = Table("shop", "PK", "SK", (Index("GSI1", "GSI1PK", "GSI1SK"),), naming="camel", stream="NEW_AND_OLD_IMAGES")


class Status(StrEnum):
    OPEN = "OPEN"
    SHIPPED = "SHIPPED"
    RETURNED = "RETURNED"


class Channel(OpenEnum):
    WEB = "WEB"
    PHONE = "PHONE"


class Address(msgspec.Struct, rename="camel"):
    street: str
    zip_code: str | None = None


class Customer(Entity, table=table, key=("CUSTOMER#{customer_id}", "PROFILE")):
    """Someone who buys."""

    customer_id: str
    email: Annotated[str, Unique()]
    name: str = ""
    address: Address | None = None
    order_count: Annotated[int, CountOf(lambda: Order)] = 0
    version: Annotated[int, Version()] = 0
    orders = Owns(lambda: Order)


class Order(Entity, table=table, key=("CUSTOMER#{customer_id}", "ORDER#{placed_at}#{order_id}")):
    """What a customer has bought."""

    customer_id: str
    placed_at: datetime
    order_id: str
    status: Status = Status.OPEN
    channel: Channel = Channel.WEB
    total: Decimal = Decimal(0)
    tags: frozenset[str] = frozenset()
    label: bytes | None = None
    paid: bool = False
    note: str | None = None
    lines: list[dict[str, Any]] = msgspec.field(default_factory=list)
    by_status = Keys("GSI1", "STATUS#{status}", "{placed_at}")


@pattern
def customer(customer_id: str) -> Item[Customer]:
    """A customer by id."""


@pattern
def order(customer_id: str, placed_at: datetime, order_id: str) -> Item[Order]:
    """An order."""


@pattern
def orders_of(customer_id: str) -> Items[Order]:
    """The orders of a customer, newest first."""
    return query(Order, customer_id).newest_first()


@pattern
def orders_with(status: Status) -> Items[Order]:
    """The orders with a status."""
    return query(Order.by_status, status)


design = prove("shop", table)

NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)
DIGITS = Decimal(12345678901234567890123456789012345678)


def fill(db: Store, orders: int = 3) -> None:
    """One customer with orders, of which the first has values that are hard to show."""
    db.create_tables()
    db.create(Customer(customer_id="c1", email="ana@example.com", name="Ana", address=Address("Main Street 1")))
    for number in range(orders):
        first = number == 0
        db.create(
            Order(
                customer_id="c1",
                placed_at=NOON + timedelta(minutes=number),
                order_id=f"o{number}",
                status=Status.OPEN if number % 2 == 0 else Status.SHIPPED,
                total=DIGITS if first else Decimal(number),
                tags=frozenset({"a", "b"}) if first else frozenset(),
                label=b"\x00\xff" if first else None,
                note="<script>alert(1)</script>" if first else None,
            )
        )
