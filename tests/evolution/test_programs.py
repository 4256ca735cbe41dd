"""Waiting for the programs that work on data."""

from datetime import timedelta
from typing import Any

import pytest

from partita import MigrationBlocked, NotReady, Store, connect
from partita.evolution import programs
from partita.evolution.apply import apply_design
from partita.evolution.migration_plan import plan_migration
from partita.store import design_watch
from partita.store.design_watch import DesignWatch, own_design
from tests.evolution.shop import first, second
from tests.evolution.test_apply import filled
from tests.evolution.test_random_changes import Version


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


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({"status index"}, {"status index", "status text"}, "programs of this design do not write Order until"),
        ({"count"}, {"count", "open only"}, "programs of this design do not write Order until"),
        ({"count", "note"}, {"note"}, "miss there what new ones write: Customer counts orders"),
        ({"note"}, {"note", "status index"}, "none: programs of both designs may work"),
    ],
)
def test_what_earlier_programs_would_misread_is_not_written_while_they_work(
    before: set[str], after: set[str], effect: str
) -> None:
    old, new = Version(frozenset(before)), Version(frozenset(after))
    with connect("memory:") as backend:
        earlier = Store(backend, own_design(old.design))
        earlier.create_tables()
        earlier.create(old.customer(customer="c", email="c"))
        earlier.create(old.new_order("c", "o", 1, 1))
        earlier.watch = DesignWatch(earlier.design, earlier.context)
        earlier.get(old.one_order("c", "o"))
        assert effect in plan_migration(Store(backend, new.design)).affects
        with pytest.raises(MigrationBlocked, match="has another design"):
            apply_design(Store(backend, new.design), patience=0)
        later = Store(backend, own_design(new.design))
        later.watch = DesignWatch(later.design, later.context)
        assert later.one(new.one_order("c", "o")).price == 1
        if "do not write" in effect:
            with pytest.raises(NotReady, match="Order"):
                later.create(new.new_order("c", "p", 1, 1))
            with pytest.raises(NotReady, match="Order"):
                later.delete(new.one_order("c", "o"))
            with pytest.raises(NotReady, match="Order"), later.transaction() as transaction:
                transaction.delete(new.one_order("c", "o"))
        else:
            later.put(new.new_order("c", "o", 2, 2))
        later.create(new.customer(customer="d", email="d"))
