"""The backends that the systems are tested on: embedded in memory and in a file, over HTTP, and DynamoDB Local."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partita import connect
from tests.store.conftest import partita_engine

__all__ = ["partita_engine"]


@pytest.fixture(params=("memory", "file", "partita_engine", "dynamodb_local"))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Each backend in turn; those over HTTP are shared by the session."""
    if request.param == "memory":
        opened: Any = connect("memory:", maintain=False)
    elif request.param == "file":
        opened = connect(tmp_path / "system.db", durability="process", maintain=False)
    else:
        opened = connect(request.getfixturevalue(request.param))
    with opened:
        yield opened
