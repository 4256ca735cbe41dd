"""A loaded design and its parts print on one line."""

from partita.design import Entity, Query, Table, View, get
from partita.design.models import model_of, view_of
from partita.plan import prove
from tests.design.shop import Customer, Order, Status, account, order, orders_to_ship, shop


def test_repr_of_a_design_counts_its_parts() -> None:
    assert repr(prove("shop", shop)) == "Design('shop': 1 table, 2 entities, 4 patterns)"
    assert repr(shop) == "Table('shop': 1 index, 2 entities, 4 patterns)"


def test_repr_of_a_model_names_its_table() -> None:
    assert repr(model_of(Order)) == "Model('Order' in table 'shop': 6 attributes, 1 index)"

    class Shown(View):
        name: str

    class Whole(Shown, Entity, table=Table("whole", pk="PK"), key="{thing_id}"):
        thing_id: str

    assert repr(view_of(Shown)) == "ViewModel('Shown' of 'Whole': 1 attribute)"


def test_repr_of_a_pattern_is_its_signature() -> None:
    assert repr(order) == "Pattern(order(customer_id, placed_at, order_id) -> Item[Order])"
    assert repr(account) == "Pattern(account(customer_id) -> Items[Customer | Order])"


def test_repr_of_a_read_names_its_kind_and_key() -> None:
    assert repr(order.read) == "Read('order': GetItem of Order)"
    assert repr(orders_to_ship.read) == "Read('orders_to_ship': Query of Order.GSI1)"


def test_repr_of_a_call_has_its_values() -> None:
    assert repr(get(Customer, "c1")) == "Get(Customer('c1'))"
    assert repr(orders_to_ship(Status.OPEN)) == f"Query(orders_to_ship({Status.OPEN!r}))"
    assert repr(Query(orders_to_ship.read)) == "Query(orders_to_ship(<status>))"
