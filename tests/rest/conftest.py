"""The REST room on an embedded engine: the tiny system fresh for each test, the five shared and seeded."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from partita import Store, connect
from partita.cli.open_systems import open_systems
from partita.cli.seed import seed_system
from partita.rest.application import RestApplication
from partita.rest.auth.dev_issuer import LocalIssuer
from partita.rest.mounted_api import MountedApi
from partita_systems import SYSTEMS
from tests.rest import library_api, notes_api
from tests.rest.client import Client

SECRET = b"for cursors"
SCALE = 0.2


@pytest.fixture
def db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, notes_api.design, secret=SECRET)
        store.create_tables()
        yield store


@pytest.fixture(params=["on the loop", "in threads"])
def version(request: pytest.FixtureRequest, db: Store) -> Any:
    """Reads of an embedded engine run on the event loop and are remembered; those of others run in threads."""
    return db.backend.version if request.param == "on the loop" else None  # type: ignore[attr-defined]


@pytest.fixture
def nobody(db: Store, version: Any) -> Iterator[Client]:
    """Nobody in particular, who asks the tiny system."""
    issuer = LocalIssuer()
    app = RestApplication([MountedApi(notes_api.api, db, version)], issuer.verifier())
    with asyncio.Runner() as runner:
        yield Client(app, "/api/notes", issuer, runner.get_loop())


@pytest.fixture
def ana(nobody: Client) -> Client:
    return nobody.by("ana")


@pytest.fixture
def bob(nobody: Client) -> Client:
    return nobody.by("bob")


@pytest.fixture
def shelf_db() -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, library_api.design, secret=SECRET)
        store.create_tables()
        yield store


@pytest.fixture
def keeper(shelf_db: Store) -> Iterator[Client]:
    """Somebody who keeps shelves."""
    issuer = LocalIssuer()
    app = RestApplication([MountedApi(library_api.api, shelf_db)], issuer.verifier())
    with asyncio.Runner() as runner:
        yield Client(app, "/api/shelves", issuer, runner.get_loop())


@pytest.fixture(scope="session")
def five() -> Iterator[Client]:
    """All five systems, seeded; a test that writes makes what it writes to."""
    issuer = LocalIssuer()
    with connect("memory:", maintain=False) as backend, asyncio.Runner() as runner:
        systems = open_systems(backend, SYSTEMS.values(), SECRET)
        for system in systems:
            seed_system(system, SCALE, 1, lambda *_: None)
        apis = [MountedApi(each.system.api, each.db, backend.version) for each in systems]
        yield Client(RestApplication(apis, issuer.verifier()), "/api", issuer, runner.get_loop())
