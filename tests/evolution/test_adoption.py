"""Rows of other code: adopting them and applying the design to them give the same data."""

from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pytest

from partita import CountOf, Entity, F, Index, Item, Keys, Store, Table, Unique, connect, pattern, prove
from partita.dynamodb.requests import PutItem, Scan
from partita.evolution.apply import apply_design
from partita.evolution.migration_plan import plan_migration

shop = Table("shop", "PK", "SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))


class Customer(Entity, table=shop, key=("CUSTOMER#{customer_id}", "PROFILE")):
    customer_id: str
    email: Annotated[str, Unique()]
    open_orders: Annotated[int, CountOf(lambda: Order, when=F.status == "OPEN")] = 0


class Order(
    Entity,
    table=shop,
    key=("CUSTOMER#{customer_id}", "ORDER#{number:6}"),
    old_keys=[("CUSTOMER#{customer_id}", "ORDER#{number:plain}")],
):
    customer_id: str
    number: int
    status: str = "OPEN"

    by_status = Keys("GSI1", "STATUS#{status}", "{number:6}")


@pattern
def customer(customer_id: str) -> Item[Customer]: ...


design = prove("shop", shop)


def _filled(backend: Any) -> Store:
    """Rows as a team's own code writes them: plain numbers in keys, no index keys, no guards, a wrong counter."""
    db = Store(backend, design)
    db.create_tables()
    for who in ("ann", "bea"):
        key = {"PK": {"S": f"CUSTOMER#{who}"}}
        profile = {"SK": {"S": "PROFILE"}, "customer_id": {"S": who}, "email": {"S": f"{who}@x"}}
        backend.call(PutItem(table_name="shop", item=key | profile | {"open_orders": {"N": "7"}}))
        for number in range(1, 6):
            order = {"SK": {"S": f"ORDER#{number}"}, "customer_id": {"S": who}, "number": {"N": str(number)}}
            status = {"status": {"S": "OPEN" if number % 2 else "DONE"}}
            backend.call(PutItem(table_name="shop", item=key | order | status))
    backend.call(PutItem(table_name="shop", item={"PK": {"S": "OTHER"}, "SK": {"S": "OTHER"}}))
    return db


def _stored(db: Store) -> list[Any]:
    items = [msgspec.json.decode(raw) for raw in db.backend.call(Scan(table_name="shop")).items or ()]
    return sorted(items, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


def test_applying_a_design_to_rows_of_others_is_their_adoption() -> None:
    with connect("memory:") as one, connect("memory:") as other:
        adopted, applied = _filled(one), _filled(other)
        done = adopted.adopt()
        plan = plan_migration(applied)
        assert plan.unexplained == 1
        result = apply_design(applied, counting=["Customer.open_orders"])
        assert result.unexplained == ["OTHER OTHER"] == done.unknown
        assert _stored(applied) == _stored(adopted)
        assert applied.one(customer("ann")).open_orders == 3
        assert not plan_migration(applied).steps


@pytest.mark.parametrize("number", ["0.000000001", "-1E-130", "1E+125", "1.50"])
def test_item_under_a_number_in_another_form_is_not_moved(number: str) -> None:
    weights = Table("weights", "PK", "weight")

    class Weight(Entity, table=weights):
        PK: str
        weight: Decimal
        note: str = "-"

    weights_design = prove("weights", weights)
    with connect("memory:") as backend:
        db = Store(backend, weights_design)
        db.create_tables()
        backend.call(PutItem(table_name="weights", item={"PK": {"S": "a"}, "weight": {"N": number}}))
        assert [step.action for step in plan_migration(db).steps] == ["convert or fill in Weight.note"]
        assert db.adopt().rewritten == 1
        backend.call(PutItem(table_name="weights", item={"PK": {"S": "a"}, "weight": {"N": number}}))
        apply_design(db)
        assert list(db.scan(Weight)) == [Weight(PK="a", weight=Decimal(number))]
        assert not plan_migration(db).has_work
