"""A server of ours for the tools, started once; each test has its own tables."""

import itertools
import sys
from collections.abc import Iterator

import pytest

from tests.peers.process import started

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    def command(port: int) -> list[str]:
        return [sys.executable, "-m", "partita", "engine", "--memory", "--port", str(port)]

    with started(command) as running:
        yield running.endpoint


@pytest.fixture
def table_name() -> str:
    return f"tools-{next(_numbers)}"
