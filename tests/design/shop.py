"""Shop: customers, their orders, and the orders waiting to be shipped."""

import enum
from datetime import datetime
from typing import Annotated

from partita.design import CountOf, Entity, F, Get, Index, Keys, Ordered, Query, Table, Unique, get, pattern, together


class Status(str, enum.Enum):
    OPEN = "OPEN"
    SHIPPED = "SHIPPED"


shop = Table("shop", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Customer(Entity, table=shop, key=("CUSTOMER#{customer_id}", "PROFILE")):
    customer_id: str
    email: Annotated[str, Unique(fold=True)]
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
def customer(customer_id: str) -> Get[Customer]:
    return get(Customer, customer_id)


@pattern
def order(customer_id: str, placed_at: datetime, order_id: str) -> Get[Order]:
    return get(Order, customer_id, placed_at, order_id)


@pattern
def orders_to_ship(status: Status) -> Query[Order]:
    return Order.to_ship.query(status).largest_first("priority")


@pattern
def account(customer_id: str) -> Query[Customer | Order]:
    return together(Customer, Order)(customer_id)
