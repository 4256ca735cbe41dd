"""Stores on real backends: embedded in memory and on file, over HTTP, and on the peers of this machine."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partita import Design, Store, connect
from partita.dynamodb.exceptions import ResourceNotFoundException
from partita.dynamodb.requests import DeleteTable, DescribeTable
from tests.peers import started
from tests.store import kitchen_sink_design
from tests.store.clocks import Clock

EMBEDDED = ("memory", "file")
OVER_HTTP = ("partita_engine", "dynamodb_local", "dynoxide", "moto")


@pytest.fixture(scope="session")
def partita_engine() -> Iterator[str]:
    """`partita engine` in its own process, shared by the session."""
    command = Path(sys.executable).with_name("partita")
    with started(lambda port: [command, "engine", "--memory", "--port", str(port)]) as running:
        yield running.endpoint


@pytest.fixture(params=(*EMBEDDED, *OVER_HTTP))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each backend in turn; those over HTTP are shared, and `fresh` empties them."""
    if request.param == "memory":
        opened: Any = connect("memory:", maintain=False)
    elif request.param == "file":
        opened = connect(tmp_path / "store.db", durability="process", maintain=False)
    else:
        opened = connect(request.getfixturevalue(request.param))
    with opened:
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(backend: Any, clock: Clock) -> Store:
    """A store of the gallery, empty."""
    return fresh(backend, kitchen_sink_design.design, clock)


def fresh(backend: Any, design: Design, clock: Clock) -> Store:
    """A store on new tables."""
    for table in design.tables:
        _drop(backend, table.name)
    store = Store(backend, design, clock=clock, sleep=lambda _: None, random=lambda: 0.5, cursor_keys=[bytes(16)])
    store.create_tables()
    return store


def _drop(backend: Any, name: str) -> None:
    try:
        backend.call(DeleteTable(table_name=name))
        while True:
            backend.call(DescribeTable(table_name=name))
    except ResourceNotFoundException:
        return
