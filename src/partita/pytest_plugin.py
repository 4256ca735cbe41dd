"""Fixtures for whoever tests code that uses DynamoDB: an empty engine for each test, and boto3 on top of it.

pytest loads this in every run of everybody who has installed Partita, so it imports nothing until a fixture is used.

    partita_backend    an empty engine in memory
    partita_clock      the engine's time, moved by hand
    partita_boto3      every boto3 client that the test makes talks to the engine; gives a session as well
    partita_client     a boto3 client
    partita_resource   a boto3 resource
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_dynamodb import DynamoDBClient, DynamoDBServiceResource

    from partita.dynamodb.backend import Backend

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class HandMovedClock:
    """A time that `move` alone changes; an item that expires by then is gone when `move` returns.

    It can be the clock of a store as well: `Store(partita_backend, design, clock=partita_clock)`.
    """

    def __init__(self, now: datetime = BEGINNING) -> None:
        self.now = now
        self.after_move: Callable[[], object] = lambda: None

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.after_move()


@pytest.fixture
def partita_clock() -> HandMovedClock:
    """The time of `partita_backend`, from the beginning of 2026 on; without this fixture it has the real one."""
    return HandMovedClock()


@pytest.fixture
def partita_backend(request: pytest.FixtureRequest) -> "Iterator[Backend]":
    """An empty DynamoDB in this process, for this test alone."""
    from partita.connect import connect

    if "partita_clock" not in request.fixturenames:
        with connect("memory:") as engine:
            yield engine
        return
    clock: HandMovedClock = request.getfixturevalue("partita_clock")
    with connect("memory:", clock=clock, maintain=False) as engine:

        def keep_house() -> None:
            while engine.maintenance.step():
                pass

        clock.after_move = keep_house
        yield engine


@pytest.fixture
def partita_boto3(partita_backend: "Backend") -> "Iterator[boto3.Session]":
    """Clients that the code under test makes with boto3 talk to `partita_backend`, as does the session given."""
    from partita import boto

    with boto.embedded(partita_backend):
        yield boto.session(partita_backend)


@pytest.fixture
def partita_client(partita_backend: "Backend") -> "DynamoDBClient":
    """A boto3 client that is answered by `partita_backend`."""
    from partita import boto

    return boto.client(partita_backend)


@pytest.fixture
def partita_resource(partita_backend: "Backend") -> "DynamoDBServiceResource":
    """A boto3 resource that is answered by `partita_backend`."""
    from partita import boto

    return boto.resource(partita_backend)
