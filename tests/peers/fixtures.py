"""Fixtures that give a test the endpoint of a peer, or skip it with the reason why the peer is unavailable."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.peers.engines import PEERS
from tests.peers.javascript import run_javascript
from tests.peers.npm import modules
from tests.peers.runtimes import Unavailable, node

RunJavaScript = Callable[[str, str], Any]


def endpoint_of(name: str) -> Iterator[str]:
    """Starts a peer and yields its endpoint; skips where it cannot be had."""
    try:
        with PEERS[name].started() as running:
            yield running.endpoint
    except Unavailable as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def dynamodb_local() -> Iterator[str]:
    """DynamoDB Local, shared by the session: tests use table names of their own."""
    yield from endpoint_of("dynamodb-local")


@pytest.fixture(scope="session")
def dynoxide() -> Iterator[str]:
    """dynoxide, shared by the session."""
    yield from endpoint_of("dynoxide")


@pytest.fixture(scope="session")
def dynalite() -> Iterator[str]:
    """dynalite, shared by the session."""
    yield from endpoint_of("dynalite")


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """moto's server, shared by the session."""
    yield from endpoint_of("moto")


@pytest.fixture(scope="session", params=sorted(PEERS))
def peer(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each peer in turn."""
    yield from endpoint_of(request.param)


@pytest.fixture(scope="session")
def javascript() -> RunJavaScript:
    """`javascript(endpoint, body)`: the AWS SDK for JavaScript v3, see `run_javascript`."""
    try:
        node()
        modules()
    except Unavailable as missing:
        pytest.skip(str(missing))
    return run_javascript
