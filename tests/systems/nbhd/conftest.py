"""nbhd.city on an embedded engine, with three users."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from partita import SentRequest, Store, connect
from partita.dynamodb.requests import DeleteItem, PutItem, Scan
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita_systems.nbhd import design as d
from partita_systems.nbhd import ports
from partita_systems.nbhd.api import api
from partita_systems.nbhd.service import Nbhd
from partita_systems.objects import ObjectStore
from tests.rest.client import Client
from tests.store.clocks import Clock

ALICE, BORA, CHLOE = "did:plc:alice", "did:plc:bora", "did:plc:chloe"

Disk = dict[str, dict[str, dict[str, object]]]


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
    """Built sites, logs and archives, in a folder of the test."""
    monkeypatch.setenv("NBHD_OBJECTS", str(tmp_path / "objects"))
    ports.objects.cache_clear()
    yield ports.objects()
    ports.objects.cache_clear()


@pytest.fixture
def nbhd(db: Store) -> Nbhd:
    service = Nbhd(db)
    service.register(ALICE, "alice@bsky.social", "Alice")
    service.register(BORA, "bora.bsky.social", "보라")
    service.register(CHLOE, "chloe.bsky.social", "Chloé")
    return service


@pytest.fixture
def downtown(nbhd: Nbhd) -> d.Neighborhood:
    return nbhd.create_neighborhood(ALICE, "Downtown Collective", description="A neighborhood for downtown residents")


@pytest.fixture
def blog(nbhd: Nbhd) -> d.Site:
    return nbhd.create_site(ALICE, "My Blog", "blog", "alice", {"author": "Alice", "posts": []})


def disk(db: Store) -> Disk:
    """Every stored item, by its key."""
    items = [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name="nbhd-city")).items or ()]
    return {f"{item['PK']['S']} {item['SK']['S']}": item for item in items}


def restore(db: Store, items: Disk) -> None:
    """Make the table contain exactly these items."""
    for key in disk(db).keys() - items.keys():
        partition, sort = key.split(" ", 1)
        db.backend.call(DeleteItem(table_name="nbhd-city", key={"PK": {"S": partition}, "SK": {"S": sort}}))
    for item in items.values():
        db.backend.call(PutItem(table_name="nbhd-city", item=item))


@pytest.fixture
def anonymous(db: Store) -> Iterator[Client]:
    """An HTTP client without a token."""
    issuer = LocalIssuer()
    with asyncio.Runner() as runner:
        app = RestApplication([api], db, verifier=issuer.verifier())
        yield Client(app, "/api/nbhd", issuer, runner.get_loop())


class Interrupted(Exception):
    """Stands for a process that was stopped."""


class Interrupting:
    """Counts requests and calls `act` after the `at`th."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        self.left = at
        self.act = act

    def __call__(self, _: SentRequest) -> None:
        self.left -= 1
        if self.left == 0:
            self.act()


def stop() -> None:
    raise Interrupted


def interrupted(db: Store, at: int, act: Callable[[], object]) -> Nbhd:
    """The service on the same table, with `act` called after its `at`th request."""
    return Nbhd(Store(db.backend, d.design, clock=db.now, sleep=lambda _: None, on_call=[Interrupting(at, act)]))
