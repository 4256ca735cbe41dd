"""nbhd.city on an embedded engine, with three people in it."""

from collections.abc import Iterator

import msgspec
import pytest

from partita import Store, connect
from partita.systems.nbhd import design as d
from partita.systems.nbhd.service import Nbhd
from partita.wire.requests import Scan
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


@pytest.fixture
def nbhd(db: Store) -> Nbhd:
    service = Nbhd(db)
    service.register(ALICE, "alice@bsky.social", "Alice")
    service.register(BORA, "bora.bsky.social", "보라")
    service.register(CHLOE, "chloe.bsky.social", "Chloé")
    return service


@pytest.fixture
def downtown(nbhd: Nbhd) -> d.Neighborhood:
    return nbhd.found(ALICE, "Downtown Collective", description="A neighborhood for downtown residents")


@pytest.fixture
def blog(nbhd: Nbhd) -> d.Site:
    return nbhd.create_site(ALICE, "My Blog", "blog", "alice", {"author": "Alice", "posts": []})


def disk(db: Store) -> Disk:
    """Every item as it is stored, by its key; only a test may scan."""
    items = [msgspec.json.decode(item) for item in db.backend.call(Scan(table_name="nbhd-city")).items or ()]
    return {f"{item['PK']['S']} {item['SK']['S']}": item for item in items}
