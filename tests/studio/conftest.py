"""A studio of the shop in memory, writable and read-only."""

from collections.abc import Iterator

import pytest

from partita import Store, connect
from partita.engine.engine import Engine
from partita.store.read_only import ReadOnlyBackend
from partita.studio.studio_app import StudioApplication
from partita.studio.visits import StudioDesign
from partita.studio.write_policy import DataPlace
from tests.studio.browser_client import TOKEN, StudioClient
from tests.studio.shop import design, fill


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory:") as backend:
        yield backend


@pytest.fixture
def db(engine: Engine) -> Store:
    """The shop with a customer and three orders."""
    found = Store(engine, design)
    fill(found)
    return found


@pytest.fixture
def studio(engine: Engine, db: Store) -> StudioApplication:
    place = DataPlace("memory:", writable=True)
    return StudioApplication({"shop": StudioDesign("shop", design, engine)}, place, TOKEN)


@pytest.fixture
def client(studio: StudioApplication) -> StudioClient:
    return StudioClient(studio)


@pytest.fixture
def reader(engine: Engine, db: Store) -> StudioClient:
    """Of a studio that may not write."""
    opened = StudioDesign("shop", design, ReadOnlyBackend(engine))
    return StudioClient(StudioApplication({"shop": opened}, DataPlace("shop.db"), TOKEN))
