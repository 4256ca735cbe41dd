"""Which changes need a read follows from the attributes that they edit, and is decided once for each shape."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from partita import Entity, Index, Keys, Table
from partita.design.models import model_of
from partita.errors import InvalidValue
from partita.plan import prove
from partita.plan.changes import ItemChange, change_shape, needs_read, plan_blind_change
from partita.plan.edits import Add, Append, Assign, Edit, Exclude, Include
from tests.design.shop import Customer, Order, Status, shop

design = prove("shop", shop)
PLACED = datetime(2025, 1, 1, tzinfo=UTC)
KEY = {"customer_id": "c", "placed_at": PLACED, "order_id": "o"}


def of_order(**edits: Edit) -> ItemChange:
    return ItemChange(model_of(Order), KEY, edits, PLACED)


@pytest.mark.parametrize(
    ("edits", "reads"),
    [
        pytest.param({"note": Assign("fragile")}, False, id="nothing is derived from it"),
        pytest.param({"priority": Assign(5)}, True, id="its index key needs the status"),
        pytest.param({"priority": Add(1)}, True, id="a step of an index key"),
        pytest.param({"status": Assign(Status.SHIPPED)}, True, id="a counter depends on it"),
        pytest.param({"order_id": Assign("p")}, True, id="it is part of the key"),
    ],
)
def test_change_needs_a_read_where_something_unknown_depends_on_it(edits: dict[str, Edit], reads: bool) -> None:
    assert needs_read(design, of_order(**edits)) is reads


@pytest.mark.parametrize(
    ("form", "reads"), [("{name}", False), ("{name:escaped}", False), ("{name:fold}", True), ("{name:shard(4)}", True)]
)
def test_key_part_that_loses_something_does_not_tell_its_value(form: str, reads: bool) -> None:
    things = Table("things", pk="PK", sk="SK", indexes=(Index("GSI1", "GSI1PK", "GSI1SK"),))

    class Thing(Entity, table=things, key=(f"THING#{form}", "THING")):
        name: str
        state: str
        listed = Keys("GSI1", "STATE#{state}", "{name}")

    change = ItemChange(model_of(Thing), {"name": "Ann"}, {"state": Assign("new")}, PLACED)
    assert needs_read(prove("things", things), change) is reads


def test_unique_value_cannot_be_changed_without_a_read() -> None:
    assert needs_read(design, ItemChange(model_of(Customer), {"customer_id": "c"}, {"email": Assign("e")}, PLACED))


def test_blind_change_is_one_update() -> None:
    (update,) = plan_blind_change(design, of_order(note=Assign("fragile")))
    assert (update.kind, set(update.steps)) == ("update", {"note"})


def test_changes_of_one_shape_share_what_is_derived_from_it() -> None:
    change_shape.cache_clear()
    for note in ("a", "b", "c"):
        needs_read(design, of_order(note=Assign(note)))
    assert change_shape.cache_info().misses == 1


def test_automatic_field_cannot_be_edited() -> None:
    change = ItemChange(model_of(Customer), {"customer_id": "c"}, {"open_orders": Assign(5)}, PLACED)
    with pytest.raises(InvalidValue, match=r"^Customer.open_orders: it is set automatically and cannot be changed$"):
        needs_read(design, change)


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (Assign(None), 1, None),
        (Add(2), None, 2),
        (Add(Decimal("0.1")), Decimal("1.23456789012345678901234567890"), Decimal("1.33456789012345678901234567890")),
        (Append(["b"]), ["a"], ["a", "b"]),
        (Append(["a"]), None, ["a"]),
        (Include({"b"}), {"a"}, {"a", "b"}),
        (Exclude({"b"}), {"a", "b"}, {"a"}),
        (Exclude({"b"}), None, set()),
    ],
)
def test_edit_gives_the_value_after_it(edit: Edit, before: Any, after: Any) -> None:
    assert edit.after(before) == after
