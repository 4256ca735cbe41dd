"""A plan predicts the write units that its application uses."""

from typing import Any

import pytest

from partita import Store, apply_design, connect, plan_migration
from partita.dynamodb.backend import Backend
from partita.dynamodb.operations import ITEM_WRITES
from partita.dynamodb.requests import Request
from tests.evolution.shop import first, second
from tests.evolution.test_apply import filled


class MeteredBackend:
    """Adds up the write units that the engine bills for a table."""

    def __init__(self, backend: Backend, table: str = "shop") -> None:
        self._backend = backend
        self._table = table
        self.units = 0.0

    def call(self, request: Request[Any]) -> Any:
        if type(request) not in ITEM_WRITES:
            return self._backend.call(request)
        asked: Any = request
        asked.return_consumed_capacity = "TOTAL"
        reply = self._backend.call(request)
        used = reply.consumed_capacity
        for each in used if isinstance(used, list) else [used]:
            if each is not None and each.table_name == self._table:
                self.units += each.capacity_units
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
