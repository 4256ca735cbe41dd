"""Random designs, writes and reads: every answer is what plain Python over all items gives."""

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

from tests.fuzz.designs import designs, load, patterns
from tests.fuzz.runner import Run, arguments, writes

pytestmark = pytest.mark.slow

DESIGNS = int(os.environ.get("PARTITA_FUZZ_DESIGNS", "300"))
RANDOM = "PARTITA_FUZZ_DESIGNS" in os.environ


@settings(
    max_examples=DESIGNS,
    deadline=None,
    derandomize=not RANDOM,
    database=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=[Phase.generate, Phase.shrink],
)
@given(st.data())
def test_every_answer_is_what_plain_python_gives(data: st.DataObject) -> None:
    fuzz_one(data)


def fuzz_one(data: st.DataObject) -> None:
    """One design, from its declaration to the comparison of every answer."""
    spec = data.draw(designs())
    wanted = [data.draw(patterns(spec, f"q{at}")) for at in range(6)]
    loaded = load(spec, wanted)
    event("accepted" if loaded is not None else "refused")
    assume(loaded is not None)
    assert loaded is not None
    event(f"{len(loaded.patterns)} patterns")
    run = Run.start(loaded)
    for _ in range(data.draw(st.integers(1, 12))):
        run.write(data.draw(writes(loaded)))
    run.check_stored_keys()
    for pattern in loaded.patterns:
        stored: list[dict[str, Any]] = run.reference.stored(pattern.entities[0])
        for _ in range(3):
            run.check_read(pattern, *data.draw(arguments(stored, pattern)))
