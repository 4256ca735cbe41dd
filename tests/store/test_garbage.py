"""What a rejected request leaves behind is freed at once: while the garbage collector works, all threads stand still.

An error with a traceback is a cycle wherever one of the frames can reach the error.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated

import pytest

from partita import (
    CountOf,
    Entity,
    F,
    Item,
    Items,
    Store,
    Table,
    Unique,
    connect,
    pattern,
    prove,
)
from partita.errors import PartitaError

shop = Table("shop", "PK", "SK")


class Customer(Entity, table=shop, key=("CUSTOMER#{customer_id}", "CUSTOMER")):
    customer_id: str
    email: Annotated[str, Unique()]
    orders: Annotated[int, CountOf(lambda: Order)] = 0


class Order(Entity, table=shop, key=("CUSTOMER#{customer_id}", "ORDER#{order_id}")):
    customer_id: str
    order_id: str
    note: str = ""


@pattern
def customer(customer_id: str) -> Item[Customer]: ...


@pattern
def order(customer_id: str, order_id: str) -> Item[Order]: ...


@pattern
def everything_of(customer_id: str) -> Items[Customer | Order]: ...


design = prove("shop", shop)


@pytest.fixture(scope="module")
def db() -> Iterator[Store]:
    with connect("memory:", design, maintain=False) as db:
        db.create_tables()
        db.create(Customer(customer_id="c", email="c@example.com"))
        db.create(Order(customer_id="c", order_id="1"))
        yield db


def create_what_exists(db: Store) -> None:
    db.create(Customer(customer_id="c", email="other@example.com"))


def create_what_is_not_unique(db: Store) -> None:
    db.create(Customer(customer_id="d", email="c@example.com"))


def create_without_a_parent(db: Store) -> None:
    db.create(Order(customer_id="nobody", order_id="1"))


def change_what_is_missing(db: Store) -> None:
    with db.change(order("c", "9")) as draft:
        draft.note = "x"


def delete_what_is_still_counted(db: Store) -> None:
    db.delete(customer("c"))


def fail_a_condition(db: Store) -> None:
    db.delete(order("c", "1"), when=F.note == "x")


def fail_a_transaction(db: Store) -> None:
    with db.transaction() as t:
        t.create(Order(customer_id="c", order_id="2"))
        t.create(Order(customer_id="c", order_id="1"))


def read_several_entities(db: Store) -> None:
    assert list(db(everything_of("c")))


@pytest.mark.parametrize(
    "request_of",
    [
        create_what_exists,
        create_what_is_not_unique,
        create_without_a_parent,
        change_what_is_missing,
        delete_what_is_still_counted,
        fail_a_condition,
        fail_a_transaction,
        read_several_entities,
    ],
    ids=lambda function: function.__name__,
)
def test_request_leaves_nothing_to_the_garbage_collector(db: Store, request_of: Callable[[Store], None]) -> None:
    for _ in range(2):  # what is compiled once is no matter
        with suppress(PartitaError):
            request_of(db)
    gc.collect()
    gc.disable()
    try:
        with suppress(PartitaError):
            request_of(db)
        assert gc.collect() == 0
    finally:
        gc.enable()
