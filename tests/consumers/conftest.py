"""Stores of the shop on the backends whose streams work, each with table names of its own."""

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from partita import Store, connect
from partita.consumers.worker import create_state_tables
from tests.consumers import shop
from tests.peers import started

OVER_HTTP = ("partita_engine", "dynamodb_local", "dynoxide", "moto")
_numbers = count()


@pytest.fixture(scope="session")
def partita_engine() -> Iterator[str]:
    """`partita engine` in its own process, shared by the session."""
    command = Path(sys.executable).with_name("partita")
    with started(lambda port: [command, "engine", "--memory", "--port", str(port)]) as running:
        yield running.endpoint


@pytest.fixture(params=("memory", *OVER_HTTP))
def shop_db(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store of the shop on each backend in turn, empty."""
    address = "memory:" if request.param == "memory" else request.getfixturevalue(request.param)
    prefix = f"stage-{next(_numbers)}"
    with connect(address, shop.design, table_names=lambda name: f"{prefix}-{name}") as store:
        store.create_tables()
        create_state_tables(store)
        yield store
