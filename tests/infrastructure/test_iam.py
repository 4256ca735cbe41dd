"""The least permissions of patterns and writes: enough for them, and for nothing else."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest

from partita import (
    CountOf,
    DesignError,
    Entity,
    Index,
    Item,
    Items,
    Keys,
    Owns,
    References,
    Store,
    Table,
    Unique,
    connect,
    get,
    pattern,
    prove,
    query,
)
from partita.infrastructure.iam import policy_of
from partita.system import System
from partita_systems import SYSTEMS
from tests.infrastructure.policy_backend import Denied, PolicyBackend

shop = Table("shop", "PK", "SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Customer(Entity, table=shop, key=("CUSTOMER#{customer_id}", "PROFILE")):
    customer_id: str
    email: Annotated[str, Unique()]
    orders: Annotated[int, CountOf(lambda: Order)] = 0

    notes = Owns(lambda: Note)


class Note(Entity, table=shop, key=("NOTES#{customer_id}", "NOTE#{note_id}")):
    customer_id: str
    note_id: str


class Order(Entity, table=shop, key=("ORDER#{order_id}", "ORDER"), old_keys=[("OLD#{order_id}", "ORDER")]):
    order_id: str
    customer_id: Annotated[str, References(Customer)]
    status: str = "OPEN"

    by_status = Keys("GSI1", "STATUS#{status}", "{order_id}")


@pattern
def customer(customer_id: str) -> Item[Customer]: ...


@pattern(query(Note))
def notes(customer_id: str) -> Items[Note]: ...


@pattern
def order(order_id: str) -> Item[Order]: ...


@pattern(Order.by_status.query("OPEN"))
def open_orders() -> Items[Order]: ...


@pattern(Order.by_status)
def orders(status: str) -> Items[Order]: ...


design = prove("shop", shop)


@pytest.fixture
def backend() -> Iterator[Any]:
    with connect("memory:", design) as db:
        db.create_tables()
        db.create(Customer(customer_id="c1", email="c1@x"))
        db.create(Order(order_id="o1", customer_id="c1"))
        db.create(Note(customer_id="c1", note_id="n1"))
        yield db.backend


def limited(backend: Any, *, patterns: list[str] | None = None, writes: list[str] | None = None) -> Store:
    policy = policy_of(design, patterns or [], writes or [], region="eu-west-1", account="1")
    return Store(PolicyBackend(backend, policy, {"shop": "PK"}), design)


def change(db: Store, call: Any, **values: Any) -> None:
    with db.change(call) as draft:
        for name, value in values.items():
            setattr(draft, name, value)


READS: dict[str, Callable[[Store], Any]] = {
    "customer": lambda db: db.one(customer("c1")),
    "notes": lambda db: list(db(notes("c1"))),
    "order": lambda db: db.one(order("o1")),
    "open_orders": lambda db: list(db(open_orders())),
    "orders": lambda db: list(db(orders("DONE"))),
}
WRITES: dict[str, Callable[[Store], Any]] = {
    "Customer.create": lambda db: db.create(Customer(customer_id="c2", email="c2@x")),
    "Customer.put": lambda db: db.put(Customer(customer_id="c1", email="new@x")),
    "Customer.change": lambda db: change(db, customer("c1"), email="new@x"),
    "Note.create": lambda db: db.create(Note(customer_id="c1", note_id="n2")),
    "Note.put": lambda db: db.put_many([Note(customer_id="c1", note_id="n2")]),
    "Note.delete": lambda db: db.delete_many([get(Note, "c1", "n1")]),
    "Order.create": lambda db: db.create(Order(order_id="o2", customer_id="c1")),
    "Order.put": lambda db: db.put(Order(order_id="o1", customer_id="c1", status="DONE")),
    "Order.change": lambda db: change(db, order("o1"), status="DONE"),
    "Order.delete": lambda db: db.delete(order("o1")),
}


@pytest.mark.parametrize("name", READS)
def test_pattern_is_allowed_by_its_own_policy_alone(backend: Any, name: str) -> None:
    READS[name](limited(backend, patterns=[name]))
    # Patterns of an entity with old keys also look items up under these.
    allowing = {"open_orders": {"orders"}, "order": {"orders", "open_orders"}}
    others = [each for each in READS if each != name and each not in allowing.get(name, ())]
    with pytest.raises(Denied):
        READS[name](limited(backend, patterns=others))


@pytest.mark.parametrize("name", WRITES)
def test_write_is_allowed_by_its_own_policy(backend: Any, name: str) -> None:
    with pytest.raises(Denied):
        WRITES[name](limited(backend, patterns=list(READS)))
    WRITES[name](limited(backend, writes=[name]))


@pytest.mark.parametrize("name", WRITES)
def test_write_of_one_entity_does_not_allow_those_of_another(backend: Any, name: str) -> None:
    related = {"Customer": {"Order", "Customer"}, "Note": {"Note", "Customer"}, "Order": {"Order"}}
    others = [each for each in ("Customer", "Note", "Order") if each not in related[name.partition(".")[0]]]
    if others:
        with pytest.raises(Denied):
            WRITES[name](limited(backend, writes=others))


def test_owner_is_deleted_with_what_it_owns(backend: Any) -> None:
    db = limited(backend, writes=["Customer.delete", "Order.delete"])
    db.delete(order("o1"))
    db.delete(customer("c1"))
    assert list(Store(backend, design)(notes("c1"))) == []


def test_leading_keys_are_those_that_a_pattern_fixes() -> None:
    (statement,) = policy_of(design, ["open_orders"], [])["Statement"][1:]
    assert statement["Resource"].endswith("table/shop/index/GSI1")
    assert statement["Condition"]["ForAllValues:StringLike"] == {"dynamodb:LeadingKeys": ["STATUS#OPEN"]}
    (statement,) = policy_of(design, ["notes"], [])["Statement"]
    assert statement["Action"] == ["dynamodb:Query"]
    assert statement["Condition"]["ForAllValues:StringLike"] == {"dynamodb:LeadingKeys": ["NOTES#*"]}


@pytest.mark.parametrize(("patterns", "writes"), [(["no"], []), ([], ["No"]), ([], ["Order.no"])])
def test_unknown_name_is_an_error(patterns: list[str], writes: list[str]) -> None:
    with pytest.raises(DesignError, match="has no"):
        policy_of(design, patterns, writes)


@pytest.mark.parametrize("name", SYSTEMS)
def test_policy_of_a_system_allows_its_demo_data(name: str) -> None:
    system: System = SYSTEMS[name]
    keys = {table.name: table.pk for table in system.design.tables}
    policy = policy_of(system.design, region="eu-west-1", account="1")
    with connect("memory:") as backend:
        Store(backend, system.design).create_tables()
        allowed = PolicyBackend(backend, policy, keys)
        db = Store(allowed, system.design)
        for step in system.seed.steps(0.02, 7):
            if callable(step):
                step(db)
            else:
                db.put_many(step)
        assert allowed.used
