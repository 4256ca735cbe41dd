"""EECAR on an embedded engine, with a manual clock and example entities."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from partita import Store, connect
from partita.dynamodb.requests import PutItem, Scan
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita_systems.eecar import design as d
from partita_systems.eecar import ports
from partita_systems.eecar.api import api
from partita_systems.eecar.categories import Category
from partita_systems.eecar.service import Eecar
from partita_systems.objects import ObjectStore
from tests.rest.client import Client
from tests.store.clocks import Clock

SELLER, MAKER, BUYER = "c_hanbit", "c_saebyeok", "c_dasol"
Disk = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, clock=clock, sleep=lambda _: None)
        store.create_tables()
        yield store


@pytest.fixture(autouse=True)
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """The archive of vectors, in a folder of the test."""
    monkeypatch.setenv("EECAR_OBJECTS", str(tmp_path / "objects"))
    ports.objects.cache_clear()
    yield ports.objects()
    ports.objects.cache_clear()


@pytest.fixture
def eecar(db: Store) -> Eecar:
    return Eecar(db)


@pytest.fixture
def battery(eecar: Eecar) -> d.Part:
    return eecar.parts.offer(a_part())


@pytest.fixture
def anonymous(db: Store) -> Iterator[Client]:
    issuer = LocalIssuer()
    with asyncio.Runner() as runner:
        app = RestApplication([api], db, verifier=issuer.verifier())
        yield Client(app, "/api/eecar", issuer, runner.get_loop())


@pytest.fixture
def machine(anonymous: Client) -> Client:
    return anonymous.by("matcher", "machine")


@pytest.fixture
def seller(anonymous: Client) -> Client:
    return anonymous.by(SELLER)


@pytest.fixture
def buyer(anonymous: Client) -> Client:
    return anonymous.by(BUYER)


@pytest.fixture
def maker(anonymous: Client) -> Client:
    return anonymous.by(MAKER)


def a_part(**other: Any) -> d.Part:
    given: dict[str, Any] = {
        "name": "아이오닉 5 배터리 팩",
        "category": Category.BATTERY,
        "manufacturer": "현대",
        "model": "아이오닉 5",
        "year": 2022,
        "condition": d.PartCondition.USED,
        "price": 4_500_000,
        "quantity": 3,
        "seller_id": SELLER,
    }
    return d.Part(**(given | other))


def a_spec(**other: Any) -> d.Spec:
    given: dict[str, Any] = {
        "material_composition": d.Materials(primary="리튬", secondary=["니켈", "코발트"]),
        "dimensions": d.Dimensions(length=1000, width=500.5, height=200),
        "weight": 45.5,
        "electrical_props": d.ElectricalProps(voltage=650, capacity=72.6),
        "thermal_props": {"maxTemperature": 60},
    }
    return d.Spec(**(given | other))


def a_usage(**other: Any) -> d.Usage:
    given: dict[str, Any] = {"industry": "재생에너지", "application": "에너지 저장", "success_case": True}
    return d.Usage(**(given | other))


def a_need(**other: Any) -> d.Need:
    given: dict[str, Any] = {
        "company_id": MAKER,
        "company_name": "새벽 에너지",
        "industry": "ESS",
        "required_specs": d.RequiredSpecs(category=Category.BATTERY, min_quantity=10),
        "target_application": "가정용 에너지 저장",
    }
    return d.Need(**(given | other))


def a_match(clock: Clock, query_hash: str = "h1", **other: Any) -> d.Match:
    given: dict[str, Any] = {
        "query_hash": query_hash,
        "query": "ESS용 중고 배터리",
        "query_embedding": "queries/h1.bin",
        "matched_parts": [d.MatchedPart(part_id="p_1", score=0.92, reason="용량이 맞습니다")],
        "model_used": "template",
        "created_at": clock(),
    }
    return d.Match(**(given | other))


def a_watch(**other: Any) -> d.Watch:
    given: dict[str, Any] = {
        "buyer_id": BUYER,
        "email": "dasol@example.com",
        "criteria": d.Criteria(category=Category.BATTERY, max_price=5_000_000),
    }
    return d.Watch(**(given | other))


def a_proposal(part: d.Part, **other: Any) -> d.Proposal:
    given: dict[str, Any] = {
        "from_company_id": BUYER,
        "to_company_id": SELLER,
        "part_ids": [part.part_id],
        "proposal_type": "buy",
        "message": "두 개 구매하고 싶습니다",
        "quantity": 2,
        "price_offer": 8_000_000,
    }
    return d.Proposal(**(given | other))


def a_notification(clock: Clock, **other: Any) -> d.Notification:
    given: dict[str, Any] = {
        "recipient_id": BUYER,
        "type": d.NotificationType.COMPLIANCE_VIOLATION,
        "title": "규정 위반",
        "message": "운송 규정을 확인하세요",
        "sent_at": clock(),
    }
    return d.Notification(**(given | other))


def put_item(db: Store, item: dict[str, Any]) -> None:
    """Store an item as other code writes it."""
    db.backend.call(PutItem(table_name=d.table.name, item=item))


def part_item(part_id: str, category: str, **other: Any) -> dict[str, Any]:
    """A part as other code stores it, under the word that it has for the category."""
    texts = {"name": "배터리 팩", "category": category, "manufacturer": "기아", "model": "EV6", "condition": "중고"}
    texts |= {"sellerId": SELLER, "createdAt": "2025-01-01T00:00:00Z", "updatedAt": "2025-01-01T00:00:00Z"}
    keys = {"PK": f"PART#{part_id}", "SK": "METADATA", "GSI1PK": f"CATEGORY#{category}"}
    keys["GSI1SK"] = "CREATED_AT#2025-01-01T00:00:00Z"
    numbers = {"year": "2022", "price": "100", "quantity": "3"}
    item = {name: {"S": text} for name, text in (texts | keys).items()}
    return item | {name: {"N": text} for name, text in numbers.items()} | other


def disk(db: Store) -> Disk:
    """Every item as it is stored, by its key; only a test may scan."""
    items = [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name=d.table.name)).items or ()]
    return {f"{item['PK']['S']} {item['SK']['S']}": item for item in items}
