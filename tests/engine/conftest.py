"""An engine for each test: in memory, and on every storage where that may matter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.tables import Bench


@pytest.fixture
def bench() -> Iterator[Bench]:
    """In memory."""
    bench = Bench()
    yield bench
    bench.engine.close()


@pytest.fixture
def filed(tmp_path: Path) -> Iterator[Bench]:
    """In a file."""
    bench = Bench(str(tmp_path / "engine.db"))
    yield bench
    bench.engine.close()


@pytest.fixture(params=["memory", "file"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """On each storage in turn."""
    bench = Bench("memory:" if request.param == "memory" else str(tmp_path / "engine.db"))
    yield bench
    bench.engine.close()
