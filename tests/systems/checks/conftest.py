"""Checks on an embedded engine, with a clock that is moved by hand."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from partita import Store, connect
from partita.systems.checks.design import design
from partita.systems.checks.service import Checks


class Clock:
    """Time stands still until it is told to pass."""

    def __init__(self) -> None:
        self.now = datetime(2025, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **duration: float) -> None:
        self.now += timedelta(**duration)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def db(clock: Clock) -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, design, clock=clock, sleep=lambda _: None)
        store.create_tables()
        yield store


@pytest.fixture
def checks(db: Store) -> Checks:
    return Checks(db)
