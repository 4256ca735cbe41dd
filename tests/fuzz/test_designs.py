"""Random designs, writes, faults and reads: every answer is what plain Python over all items gives."""

import os

import pytest

from tests.fuzz.fuzz import smallest_difference

pytestmark = pytest.mark.slow

DESIGNS = int(os.environ.get("PARTITA_FUZZ_DESIGNS", "300"))


def test_every_answer_is_what_plain_python_gives() -> None:
    assert smallest_difference(DESIGNS) == ""


@pytest.mark.parametrize("on", ["file", "http"])
def test_every_answer_elsewhere_is_what_plain_python_gives(on: str) -> None:
    assert smallest_difference(max(DESIGNS // 20, 1), on) == ""
