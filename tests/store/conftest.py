"""Stores on real backends; each backend that the contract runs on is one entry of `BACKENDS`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from partita import Store, connect
from tests.store import gallery
from tests.store.clocks import Clock

Opener = Callable[[Path], AbstractContextManager[Any]]

BACKENDS: dict[str, Opener] = {
    "memory": lambda _: connect("memory:", maintain=False),
    "file": lambda folder: connect(str(folder / "store.db"), durability="process", maintain=False),
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with BACKENDS[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    """The gallery, empty."""
    store = Store(backend, gallery.design, clock=clock, sleep=lambda _: None, chance=lambda: 0.5)
    store.create_tables()
    return store
