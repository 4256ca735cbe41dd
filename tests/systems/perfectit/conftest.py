"""PerfectIt on an embedded engine, with a manual clock."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from partita import SentRequest, Store, connect
from partita.dynamodb.requests import Scan
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita_systems.perfectit import design as d
from partita_systems.perfectit.api import api
from partita_systems.perfectit.cards import Content
from partita_systems.perfectit.service import PerfectIt
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.perfectit.document_rows import put_documented

OIL = Content(
    title="Perfect Wood Finish",
    description="Three thin coats.",
    image_urls=["https://img.example.com/finish.jpg"],
    instructions=["Sand with 240 grit.", "Wipe on the oil.", "Wait a day, and again."],
    materials={"linseed oil": "250 ml"},
    tools=["cotton cloth"],
    category="woodworking",
    tags=["furniture", "finishing"],
    difficulty=d.Difficulty.INTERMEDIATE,
    estimated_time=120,
    estimated_cost=50,
)


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
def perfectit(db: Store) -> PerfectIt:
    service = PerfectIt(db)
    service.add_category("woodworking", "Woodworking")
    return service


@pytest.fixture
def team(db: Store) -> PerfectIt:
    """PerfectIt on items of the team's own code."""
    put_documented(db)
    return PerfectIt(db)


@pytest.fixture
def ann(perfectit: PerfectIt) -> str:
    return perfectit.register("ann", "Ann").user_id


@pytest.fixture
def card(perfectit: PerfectIt, ann: str) -> str:
    """The id of a card that Ann has published."""
    return published(perfectit, ann)


@pytest.fixture
def sent() -> list[SentRequest]:
    """The requests that HTTP calls send to the table."""
    return []


@pytest.fixture
def anonymous(db: Store, clock: Clock, sent: list[SentRequest]) -> Iterator[Client]:
    """An HTTP client without a token."""
    issuer = LocalIssuer()
    recorded = Store(db.backend, d.design, clock=clock, sleep=lambda _: None, on_call=[sent.append])
    with asyncio.Runner() as runner:
        app = RestApplication([api], recorded, verifier=issuer.verifier())
        yield Client(app, "/api/perfectit", issuer, runner.get_loop())


def published(perfectit: PerfectIt, author_id: str, **content: Any) -> str:
    """The id of a new published card."""
    created = perfectit.cards.draft(author_id, msgspec.structs.replace(OIL, **content))
    perfectit.cards.publish(created.card_id)
    return created.card_id


def people(perfectit: PerfectIt, count: int) -> list[str]:
    return [perfectit.register(f"someone-{number}", f"Someone {number}").user_id for number in range(count)]


def disk(db: Store) -> list[dict[str, Any]]:
    """Every stored item, as attribute names and plain values."""
    items = db.backend.call(Scan(table_name="perfectit-main")).items or ()
    return [{name: next(iter(value.values())) for name, value in msgspec.json.decode(raw).items()} for raw in items]


def on_disk(db: Store, pk: str, sk: str) -> dict[str, Any] | None:
    return next((item for item in disk(db) if (item["PK"], item["SK"]) == (pk, sk)), None)
