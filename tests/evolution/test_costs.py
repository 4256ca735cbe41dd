"""A plan predicts the units that its application uses."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from partita import Store, apply_design, connect, plan_migration
from partita.dynamodb.backend import Backend
from partita.dynamodb.operations import ITEM_WRITES
from partita.dynamodb.requests import BatchGetItem, GetItem, Request, Scan, TransactGetItems
from partita.evolution.pages import ITEMS_PER_SECOND
from partita.store import design_watch
from tests.evolution.shop import first, second
from tests.evolution.test_apply import filled
from tests.evolution.test_random_changes import FEATURES, SEQUENCES, Version, next_stages


class MeteredBackend:
    """Adds up the write and read units that the engine bills for a table."""

    def __init__(self, backend: Backend, table: str = "shop") -> None:
        self._backend = backend
        self._table = table
        self.units = 0.0
        self.read_units = 0.0

    def call(self, request: Request[Any]) -> Any:
        is_write = type(request) in ITEM_WRITES
        if not is_write and type(request) not in (Scan, GetItem, BatchGetItem, TransactGetItems):
            return self._backend.call(request)
        asked: Any = request
        asked.return_consumed_capacity = "TOTAL"
        reply = self._backend.call(request)
        used = reply.consumed_capacity
        for each in used if isinstance(used, list) else [used]:
            if each is not None and each.table_name == self._table and is_write:
                self.units += each.capacity_units
            elif each is not None and each.table_name == self._table:
                self.read_units += each.capacity_units
        return reply


@pytest.mark.parametrize("unique", [False, True])
def test_predicted_write_units_are_within_ten_percent(unique: bool) -> None:
    old, new = first(), second(unique=unique)
    with connect("memory:") as backend:
        filled(Store(backend, old.design), old, 10, 12)
        plan = plan_migration(Store(backend, new.design))
        metered = MeteredBackend(backend)
        apply_design(Store(metered, new.design))
        assert plan.write_units == pytest.approx(metered.units, rel=0.1)


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_predicted_units_of_any_change_are_within_ten_percent(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of what is dropped, or added again with values that may be right; of a last page that is full or not."""
    monkeypatch.setattr(design_watch, "CHECK_EVERY", timedelta(0))
    random = Random(seed)
    stages, features = (0, 0), frozenset({"count"})
    with connect("memory:") as backend:
        version = Version(features)
        db = Store(backend, version.design)
        db.create_tables()
        for customer in ("a", "b", "c", "d", "e"):
            db.create(version.customer(customer=customer, email=customer))
            for order in range(random.choice([0, 3, 20])):
                created = version.new_order(customer, f"o{order}", random.randrange(5), random.randrange(1, 6))
                created.tag = random.choice([None, "x", "x" * 600])
                db.create(created)
        for _ in range(8):
            features ^= frozenset(random.sample(FEATURES, random.randrange(1, 4)))
            stages = next_stages(stages, random)
            version = Version(features, stages)
            plan = plan_migration(Store(backend, version.design), exact=True)
            metered = MeteredBackend(backend)
            apply_design(Store(metered, version.design, sleep=lambda _: None), items_per_second=ITEMS_PER_SECOND)
            assert plan.write_units == pytest.approx(metered.units, rel=0.1), (version, plan.steps)
            if plan.steps:
                assert plan.read_units == pytest.approx(metered.read_units, rel=0.1), (version, plan.steps)


def test_owners_without_children_and_with_several_counters_cost_what_is_predicted() -> None:
    """Tallies are removed in one write, from the owners that had children."""
    old, new = first(), second()
    with connect("memory:") as backend:
        db = filled(Store(backend, old.design), old, 40, 0)
        for number in range(10):
            db.create(old.order(customer_id=f"c{number}", order_id="o"))
        plan = plan_migration(Store(backend, new.design), exact=True)
        metered = MeteredBackend(backend)
        apply_design(Store(metered, new.design))
        assert plan.write_units == pytest.approx(metered.units, rel=0.1)
