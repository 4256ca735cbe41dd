"""Shop: customers, their orders, and the orders waiting to be shipped."""

import enum
from datetime import datetime
from typing import Annotated

from partita.design import (
    CountOf,
    Entity,
    F,
    Index,
    Item,
    Items,
    Keys,
    Ordered,
    Table,
    Unique,
    pattern,
)


class Status(str, enum.Enum):
    OPEN = "OPEN"
    SHIPPED = "SHIPPED"


shop = Table("shop", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Customer(Entity, table=shop, key=("CUSTOMER#{customer_id}", "PROFILE")):
    customer_id: str
    email: Annotated[str, Unique(case_insensitive=True)]
    open_orders: Annotated[int, CountOf(lambda: Order, when=F.status == Status.OPEN)] = 0


class Order(Entity, table=shop, key=("CUSTOMER#{customer_id}", "ORDER#{placed_at}#{order_id}")):
    customer_id: str
    order_id: str
    placed_at: datetime
    status: Status = Status.OPEN
    priority: Annotated[int, Ordered(-999, 999)] = 0
    note: str | None = None

    to_ship = Keys("GSI1", "STATUS#{status}", "{priority:desc}#{placed_at}", when=F.status == Status.OPEN)


@pattern
def customer(customer_id: str) -> Item[Customer]: ...
@pattern
def order(customer_id: str, placed_at: datetime, order_id: str) -> Item[Order]: ...
@pattern(Order.to_ship.largest_first("priority"))
def orders_to_ship(status: Status) -> Items[Order]: ...
@pattern
def account(customer_id: str) -> Items[Customer | Order]: ...
