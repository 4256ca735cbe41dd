"""Plan, apply and doctor on other implementations of DynamoDB."""

from collections.abc import Iterator
from typing import Any

import pytest

from partita import Store, connect
from partita.dynamodb.requests import UpdateItem
from partita.evolution.apply import apply_design
from partita.evolution.diagnosis import diagnose
from partita.evolution.migration_plan import plan_migration
from partita.remote.credentials import Credentials
from tests.evolution.shop import first, second
from tests.evolution.test_apply import built_from_nothing, filled, stored
from tests.peers.fixtures import endpoint_of

pytestmark = pytest.mark.slow


@pytest.fixture(params=["dynamodb-local", "dynoxide"])
def backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A peer of its own: in one that has served many tests, DynamoDB Local may never finish a new index."""
    for endpoint in endpoint_of(request.param):
        with connect(endpoint, credentials=Credentials("local", "local")) as opened:
            yield opened


def test_index_and_counter_are_planned_applied_and_examined(backend: Any) -> None:
    old, new = first(), second(unique=True)
    filled(Store(backend, old.design), old, 3, 4)
    plan = plan_migration(Store(backend, new.design))
    assert {each.items for each in plan.steps} == {3, 12}
    apply_design(Store(backend, new.design))
    db = Store(backend, new.design)
    assert stored(db) == built_from_nothing(db, new)
    assert not plan_migration(db).has_work
    assert len(list(db(new.by_status("OPEN")))) == 12
    key = {"PK": {"S": "CUSTOMER#c1"}, "SK": {"S": "ORDER#1-01"}}
    backend.call(UpdateItem(table_name="shop", key=key, update_expression="REMOVE GSI1PK"))
    assert list(diagnose(db, repair=True).findings) == ["stale index keys"]
    assert diagnose(db).findings == {}
