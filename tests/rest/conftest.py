"""REST on an embedded engine: a small system for each test, and the five systems, shared and seeded."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from partita import Store, connect, settle
from partita.cli.open_systems import open_systems
from partita.cli.seed import seed_system
from partita.dynamodb.backend import Backend
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita_systems import SYSTEMS
from tests.rest import library_api, notes_api
from tests.rest.client import Client

SCALE = 0.2
CURSOR_KEYS = [b"a key of the tests"]


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, notes_api.design)
        store.create_tables()
        yield store


class UnversionedBackend:
    """An engine that looks like a remote database."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def call(self, request: Any) -> Any:
        return self._backend.call(request)


@pytest.fixture(params=["on the loop", "in threads"])
def backend(request: pytest.FixtureRequest, db: Store) -> Backend:
    """Reads of an embedded engine run on the event loop and are cached; those of others run in threads."""
    return db.backend if request.param == "on the loop" else UnversionedBackend(db.backend)


@pytest.fixture
def anonymous(backend: Backend) -> Iterator[Client]:
    """An anonymous client of the notes API."""
    issuer = LocalIssuer()
    app = RestApplication(
        [notes_api.api], backend, verifier=issuer.verifier(), cursor_keys=CURSOR_KEYS, create_tables=True
    )
    with asyncio.Runner() as runner:
        yield Client(app, "/api/notes", issuer, runner.get_loop())


@pytest.fixture
def ana(anonymous: Client) -> Client:
    return anonymous.by("ana")


@pytest.fixture
def bob(anonymous: Client) -> Client:
    return anonymous.by("bob")


@pytest.fixture
def shelf_db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, library_api.design)
        store.create_tables()
        yield store


@pytest.fixture
def keeper(shelf_db: Store) -> Iterator[Client]:
    """A signed-in client of the library API."""
    issuer = LocalIssuer()
    app = RestApplication([library_api.api], shelf_db, verifier=issuer.verifier())
    with asyncio.Runner() as runner:
        yield Client(app, "/api/shelves", issuer, runner.get_loop())


@pytest.fixture(scope="session")
def five() -> Iterator[Client]:
    """All five systems, seeded; a test creates the entities that it changes."""
    issuer = LocalIssuer()
    with connect("memory:", maintain=False) as backend, asyncio.Runner() as runner:
        systems = open_systems(backend, SYSTEMS.values())
        for system in systems:
            seed_system(system, SCALE, 1, lambda *_: None)
            settle(system.db, *system.system.consumers)
        apis = [each.system.api for each in systems]
        app = RestApplication(apis, backend, verifier=issuer.verifier())
        yield Client(app, "/api", issuer, runner.get_loop())
