"""Demo data depends on the seed alone, survives an interruption, and satisfies every rule of the design."""

from collections import Counter
from typing import Any

import pytest

from partita import Store, connect
from partita.store.seeding import is_loaded, load
from partita_systems.checks import design as d
from partita_systems.checks.adoption import adopt
from partita_systems.checks.seed import CHECKS_EACH, RESULTS_EACH, steps, total
from partita_systems.checks.service import Checks
from tests.systems.checks.conftest import Clock, disk

pytestmark = pytest.mark.slow


def seeded(scale: float, seed: int, *, twice: int | None = None) -> list[dict[str, Any]]:
    """Every stored item after seeding; step number `twice` runs twice."""
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock())
        db.create_tables()
        for number, step in enumerate(steps(scale, seed)):
            assert callable(step)
            step(db)
            if number == twice:
                step(db)
        return [*disk(db, "USER"), *disk(db, "CHECK")]


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data() -> None:
    first = seeded(0.1, 7)
    assert first == seeded(0.1, 7)
    assert first != seeded(0.1, 8)


@pytest.mark.parametrize("number", range(4))
def test_a_step_may_run_twice(number: int) -> None:
    def keys(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
        return [(item["PK"]["S"], item["SK"]["S"]) for item in items]

    assert keys(seeded(0.1, 7, twice=number)) == keys(seeded(0.1, 7))


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 40])
def test_the_number_of_steps_is_known_in_advance(scale: float) -> None:
    assert sum(1 for _ in steps(scale, 1)) == total(scale)


def test_counters_and_lists_of_the_demo_data_are_exact(db: Store, checks: Checks, clock: Clock) -> None:
    load(db, "checks", steps(1, 1))
    assert is_loaded(db, "checks", total(1))
    assert load(db, "checks", steps(1, 1)) == 0
    users = list(db.scan(d.User))
    assert len(users) == len({user.email for user in users}) == 20
    assert {user.tier for user in users} == {d.Tier.FREE, d.Tier.PRO}
    kinds: Counter[str] = Counter()
    for user in users:
        mine = list(db(d.checks_of_user(user.user_id)))
        assert user.check_count == len(mine) == CHECKS_EACH
        found = checks.find_by_email(user.email)
        assert found == user
        for check in mine:
            kinds[f"{check.check_type} {check.status}"] += 1
            assert len(list(db(d.results(check.check_id)))) == RESULTS_EACH
    assert kinds.keys() >= {"AVAILABILITY ACTIVE", "AVAILABILITY PAUSED", "EBAY ACTIVE"}
    clock.passes(minutes=1)
    running = sum(count for kind, count in kinds.items() if kind.endswith("ACTIVE"))
    assert len(list(db(d.due_checks(clock())))) == running
    done = adopt(db)
    assert (done.rewritten, done.guards_created, done.counted, done.refused) == (0, 0, 0, [])
