"""Random designs, writes, faults and reads: every answer is what plain Python over all items gives."""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.fuzz import fuzz_one

pytestmark = pytest.mark.slow

DESIGNS = int(os.environ.get("PARTITA_FUZZ_DESIGNS", "300"))


@settings(
    max_examples=DESIGNS,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=[Phase.generate, Phase.shrink],
)
@given(st.data())
def test_every_answer_is_what_plain_python_gives(data: st.DataObject) -> None:
    fuzz_one(data)
