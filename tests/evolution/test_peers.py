"""Plan, apply and doctor on other implementations of DynamoDB."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from partita import Store, connect
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.requests import DeleteTable, UpdateItem
from partita.evolution.apply import apply_design
from partita.evolution.diagnosis import diagnose
from partita.evolution.migration_plan import plan_migration
from partita.remote.credentials import Credentials
from partita.store.design_records import table as record_table
from tests.evolution.shop import first, second
from tests.evolution.test_apply import built_from_nothing, filled, stored

pytestmark = pytest.mark.slow


@pytest.fixture(params=["dynamodb_local", "dynoxide"])
def backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A peer without the tables of this test."""
    with connect(request.getfixturevalue(request.param), credentials=Credentials("local", "local")) as opened:
        _clean(opened)
        yield opened
        _clean(opened)


def _clean(backend: Any) -> None:
    for name in ("shop", record_table.name):
        with suppress(DynamoDBError):
            backend.call(DeleteTable(table_name=name))


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
