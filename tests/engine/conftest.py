"""Engines for tests: in memory, in a file, and on each storage."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.tables import Bench


@pytest.fixture
def bench() -> Iterator[Bench]:
    """An engine in memory."""
    bench = Bench()
    yield bench
    bench.engine.close()


@pytest.fixture
def filed(tmp_path: Path) -> Iterator[Bench]:
    """An engine on a file."""
    bench = Bench(str(tmp_path / "engine.db"))
    yield bench
    bench.engine.close()


@pytest.fixture(params=["memory", "file"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """An engine on each storage in turn."""
    bench = Bench("memory:" if request.param == "memory" else str(tmp_path / "engine.db"))
    yield bench
    bench.engine.close()
