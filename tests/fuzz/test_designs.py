"""Random designs, writes, faults and reads: every answer is what plain Python over all items gives."""

import os
import sys
from pathlib import Path

import pytest

from partita import connect
from tests.fuzz.fuzz import smallest_difference
from tests.peers import started

pytestmark = pytest.mark.slow

DESIGNS = int(os.environ.get("PARTITA_FUZZ_DESIGNS", "300"))


def test_every_answer_is_what_plain_python_gives() -> None:
    assert smallest_difference(DESIGNS) == ""


def test_every_answer_over_http_is_what_plain_python_gives() -> None:
    partita = Path(sys.executable).with_name("partita")
    with started(lambda port: [partita, "engine", "--memory", "--port", str(port)]) as running:
        engine = connect(running.endpoint)
        assert smallest_difference(max(DESIGNS // 20, 1), engine) == ""
        engine.close()
