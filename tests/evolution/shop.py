"""Versions of a small shop: what a team changes in its design from one release to the next."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from partita import CountOf, Design, Entity, F, Index, Item, Items, Keys, SumOf, Table, Unique, pattern, prove


class Shop:
    """One version of the design, with its entities and patterns."""

    def __init__(self, design: Design, customer: Any, order: Any, **patterns: Callable[..., Any]) -> None:
        self.design = design
        self.customer = customer
        self.order = order
        self.patterns = patterns

    def __getattr__(self, name: str) -> Any:
        return self.patterns[name]


def first() -> Shop:
    """Customers and their orders."""
    table = Table("shop", "PK", "SK")

    class Customer(Entity, table=table, key=("CUSTOMER#{customer_id}", "PROFILE")):
        customer_id: str
        email: str = ""

    class Order(Entity, table=table, key=("CUSTOMER#{customer_id}", "ORDER#{order_id}")):
        customer_id: str
        order_id: str
        status: str = "OPEN"
        price: Annotated[int, msgspec.Meta(ge=0)] = 1

    @pattern
    def customer(customer_id: str) -> Item[Customer]: ...
    @pattern
    def order(customer_id: str, order_id: str) -> Item[Order]: ...

    return Shop(prove("shop", table), Customer, Order, one_customer=customer, one_order=order)


def second(*, unique: bool = False) -> Shop:
    """With an index of orders by status, a count of the open ones and the sum of all; or with unique e-mails too."""
    table = Table("shop", "PK", "SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))

    class Order(Entity, table=table, key=("CUSTOMER#{customer_id}", "ORDER#{order_id}")):
        customer_id: str
        order_id: str
        status: str = "OPEN"
        price: Annotated[int, msgspec.Meta(ge=0)] = 1
        by_status = Keys("GSI1", "STATUS#{status}", "{order_id}")

    class Customer(Entity, table=table, key=("CUSTOMER#{customer_id}", "PROFILE")):
        customer_id: str
        email: Annotated[str, Unique()] if unique else str = ""  # type: ignore[valid-type]
        open_orders: Annotated[int, CountOf(Order, when=F.status == "OPEN")] = 0
        spent: Annotated[int, SumOf(Order, "price")] = 0

    @pattern
    def customer(customer_id: str) -> Item[Customer]: ...
    @pattern
    def order(customer_id: str, order_id: str) -> Item[Order]: ...
    @pattern(Order.by_status)
    def orders_by_status(status: str) -> Items[Order]: ...

    return Shop(
        prove("shop", table), Customer, Order, one_customer=customer, one_order=order, by_status=orders_by_status
    )
