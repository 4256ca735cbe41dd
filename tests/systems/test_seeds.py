"""Demo data can be loaded while the engine deletes expired items, although its events lie in the past."""

from typing import Any

import pytest

from partita import Store
from partita.dynamodb.requests import Request
from partita.engine.engine import Engine
from partita.storage.memory import MemoryStorage
from partita.store.seeding import load
from partita_systems import SYSTEMS


class Expiring(Engine):
    """An engine that deletes every expired item before each request."""

    def call(self, request: Request[Any]) -> Any:
        while self.maintenance.step():
            pass
        return super().call(request)


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_step_needs_an_item_that_may_have_been_deleted(name: str) -> None:
    system = SYSTEMS[name]
    with Expiring(MemoryStorage(), maintain=False) as engine:
        db = Store(engine, system.design)
        db.create_tables()
        load(db, name, system.seed.steps(1, 1))
