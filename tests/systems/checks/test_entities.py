"""Every entity can be created, read, changed and deleted by its key."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from partita import AlreadyExists, Get, Store
from partita_systems.checks import design as d
from tests.systems.checks.conftest import DOWN, UP, Clock, disk

AT = datetime(2025, 1, 1, tzinfo=UTC)
Key = Callable[[Any], Get[Any]]

ENTITIES: dict[type[Any], tuple[Any, Key, dict[str, Any]]] = {
    d.User: (
        d.User(user_id="u1", email="u1@example.com"),
        lambda e: d.user(e.user_id),
        {"email": "other@example.com", "tier": d.Tier.PRO, "check_limit": 9},
    ),
    d.Check: (
        d.Check(
            check_id="c1",
            user_id="u0",
            url="https://example.com/",
            check_type=d.CheckType.AVAILABILITY,
            delay_ms=60_000,
            due_at=AT,
        ),
        lambda e: d.check(e.check_id),
        {"url": "https://example.org/", "delay_ms": 90_000, "status": d.CheckStatus.PAUSED},
    ),
    d.Result: (
        d.Result(check_id="c0", at=AT, outcome=UP),
        lambda e: d.result(e.check_id, e.at),
        {"outcome": DOWN},
    ),
    d.Alert: (
        d.Alert(check_id="c0", at=AT, kind=d.AlertKind.FAILED, url="https://example.com/", recipient="u0@example.com"),
        lambda e: d.alert(e.check_id, e.at),
        {"reason": "HTTP status 500"},
    ),
}


@pytest.fixture
def parents(db: Store) -> None:
    """The items that the other entities refer to."""
    db.create(d.User(user_id="u0", email="u0@example.com"))


def test_every_entity_is_tested() -> None:
    assert {model.cls for model in d.design.models} == ENTITIES.keys()


@pytest.mark.usefixtures("parents")
@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: entity.__name__)
def test_an_entity_is_created_read_changed_and_deleted(db: Store, clock: Clock, entity: type[Any]) -> None:
    given, key, changes = ENTITIES[entity]
    before = disk(db, "USER"), disk(db, "CHECK")
    created = db.create(given)
    assert db.one(key(created)) == created
    with pytest.raises(AlreadyExists):
        db.create(given)
    clock.passes(hours=1)
    with db.change(key(created)) as draft:
        for name, value in changes.items():
            setattr(draft, name, value)
    changed = db.one(key(created))
    assert {name: getattr(changed, name) for name in changes} == changes
    assert getattr(changed, "updated_at", clock()) == clock()
    db.delete(key(created))
    assert db(key(created)) is None
    assert (disk(db, "USER"), disk(db, "CHECK")) == before
