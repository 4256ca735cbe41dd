"""Endpoints over real HTTP: our engine in a process of its own, and the peers."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers import started
from tests.remote.callers import Opened, in_thread, on_loop

PARTITA = Path(sys.executable).with_name("partita")


@pytest.fixture(scope="session")
def partita_engine() -> Iterator[str]:
    """`partita engine`, shared by the session."""
    with started(lambda port: [PARTITA, "engine", "--memory", "--port", str(port)]) as running:
        yield running.endpoint


@pytest.fixture(params=["partita_engine", "dynamodb_local", "moto"])
def endpoint(request: pytest.FixtureRequest) -> str:
    """Each DynamoDB implementation in turn."""
    address: str = request.getfixturevalue(request.param)
    return address


@pytest.fixture(params=[in_thread, on_loop])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Opens a backend: for threads, and for an event loop."""
    way: Opened = request.param
    return way
