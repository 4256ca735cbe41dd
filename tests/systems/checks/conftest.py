"""Checks on an embedded engine, with a manual clock."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from partita import Store, connect
from partita.dynamodb.requests import PutItem, Scan
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita_systems.checks import design as d
from partita_systems.checks.api import api
from partita_systems.checks.service import Checks
from tests.rest.client import Client
from tests.store import clocks

UP = d.Outcome(status="UP", response_time=250, keyword_found=True)
DOWN = d.Outcome(status="DOWN", reason="timeout")


class Clock(clocks.Clock):
    """Starts after the times in the document's examples."""

    def __init__(self) -> None:
        self.now = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, clock=clock, sleep=lambda _: None)
        store.create_tables()
        yield store


@pytest.fixture
def checks(db: Store) -> Checks:
    return Checks(db)


@pytest.fixture
def anonymous(db: Store) -> Iterator[Client]:
    issuer = LocalIssuer()
    app = RestApplication([api], db, verifier=issuer.verifier())
    with asyncio.Runner() as runner:
        yield Client(app, "/api/checks", issuer, runner.get_loop())


@pytest.fixture
def ana(anonymous: Client) -> Client:
    ana = anonymous.by("ana")
    assert ana.post("/users", {"email": "ana@example.com"}).status == 201
    return ana


@pytest.fixture
def admin(anonymous: Client) -> Client:
    return anonymous.by("root", "admin")


@pytest.fixture
def runner(anonymous: Client) -> Client:
    return anonymous.by("machine-1", "runner")


def add(checks: Checks, user_id: str, delay_ms: int = 60_000) -> d.Check:
    return checks.add(user_id, "https://example.com", d.CheckType.AVAILABILITY, delay_ms, {"keyword": "Example"})


def disk(db: Store, table: str) -> list[dict[str, dict[str, Any]]]:
    """Every stored item."""
    return [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name=table)).items or ()]


def put(db: Store, table: str, **attributes: Any) -> None:
    """Store an item as the team's own code does; DynamoDB's types follow from Python's."""
    db.backend.call(PutItem(table_name=table, item={name: _value(each) for name, each in attributes.items()}))


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, int | float):
        return {"N": str(value)}
    return {"M": {name: _value(each) for name, each in value.items()}}
