"""pytest fixtures for code that uses DynamoDB: an empty engine for each test, and boto3 on top of it.

pytest loads this module in every run where Partita is installed, so it imports nothing until a fixture is used.

    partita_backend    an empty engine in memory
    partita_clock      the engine's clock, which the test moves
    partita_boto3      connects every boto3 client of the test to the engine; is a session itself
    partita_client     a boto3 client
    partita_resource   a boto3 resource
    partita_consumers  runs consumers to rest, and lets their handlers fail or repeat
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_dynamodb import DynamoDBClient, DynamoDBServiceResource

    from partita.consumers.consumer import Consumer
    from partita.dynamodb.backend import Backend
    from partita.store.store import Store

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


class ConsumerTester:
    """Runs consumers in a test, with the faults that the test orders."""

    def __init__(self) -> None:
        from partita.consumers.faults import ConsumerFaults

        self._faults = ConsumerFaults()

    def settle(self, db: "Store", *consumers: "Consumer") -> int:
        """Runs consumers until none of them has anything to do now; returns the number of records that they have read.

        A change that has failed is tried again when its time has come: move the clock, and settle again.
        """
        from partita.consumers.settling import settle

        return settle(db, *consumers, faults=self._faults)

    def fail(self, consumer: "Consumer", times: int = 1, error: BaseException | None = None) -> None:
        """Lets the next changes of a consumer fail: its handlers run, and then the error is raised."""
        self._faults.fail(consumer, times, error)

    def duplicate(self, consumer: "Consumer", times: int = 1) -> None:
        """Delivers each change so many times more from now on, as after a crash before the commit."""
        self._faults.duplicate(consumer, times)


@pytest.fixture
def partita_clock() -> HandMovedClock:
    """The clock of `partita_backend`, from 2026-01-01 on; without this fixture the backend uses the real time."""
    return HandMovedClock()


@pytest.fixture
def partita_backend(request: pytest.FixtureRequest) -> "Iterator[Backend]":
    """An empty DynamoDB engine in this process, for one test."""
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
    """Connects the boto3 clients of the code under test to `partita_backend`; gives a session for it."""
    from partita import boto

    with boto.embedded(partita_backend):
        yield boto.session(partita_backend)


@pytest.fixture
def partita_client(partita_backend: "Backend") -> "DynamoDBClient":
    """A boto3 client that `partita_backend` answers."""
    from partita import boto

    return boto.client(partita_backend)


@pytest.fixture
def partita_resource(partita_backend: "Backend") -> "DynamoDBServiceResource":
    """A boto3 resource that `partita_backend` answers."""
    from partita import boto

    return boto.resource(partita_backend)


@pytest.fixture
def partita_consumers() -> ConsumerTester:
    """Runs consumers to rest, and lets their handlers fail, or receive changes more than once."""
    return ConsumerTester()
