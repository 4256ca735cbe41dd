"""Waiting for the programs that work on data."""

from datetime import timedelta
from typing import Any

import pytest

from partita import Store, connect
from partita.evolution import programs
from partita.evolution.apply import apply_design
from partita.store import design_watch
from partita.store.design_watch import DesignWatch, own_design
from tests.evolution.shop import first, second
from tests.evolution.test_apply import filled


class MonotonicClock:
    """A clock that stands still, except while an application waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> None:
        self.seconds += seconds


def test_program_that_has_nothing_to_do_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record stands still: it reads the state before it does anything else, so further states need no wait."""
    clock = MonotonicClock()
    monkeypatch.setattr(programs, "time", clock)
    old, new = first(), second()
    with connect("memory:") as backend:
        db: Any = filled(Store(backend, own_design(old.design)), old, 2, 2)
        db.watch = DesignWatch(db.design, db.context)
        assert db.one(old.one_customer("c1")).email == "1@example.com"
        apply_design(Store(backend, new.design, sleep=clock.wait))
    assert 0 <= clock.seconds - design_watch.VALID_FOR.total_seconds() < timedelta(seconds=2).total_seconds()
