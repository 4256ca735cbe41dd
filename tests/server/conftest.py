"""A real `partita engine` in a process of its own, on a file, for the whole session."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers import Running, started

PARTITA = Path(sys.executable).with_name("partita")


def engine_command(*arguments: str) -> list[str | Path]:
    return [PARTITA, "engine", *arguments]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The engine that every test of the session uses; tests use table names of their own."""
    data = str(tmp_path_factory.mktemp("server") / "server.db")
    with started(
        lambda port: engine_command("--data", data, "--durability", "process", "--port", str(port))
    ) as running:
        yield running


@pytest.fixture
def endpoint(server: Running) -> str:
    return server.endpoint
