"""Demo data depends on the seed alone, steps can be repeated, and counters are exact."""

import pytest

from partita import Store, connect, settle
from partita.store.seeding import load
from partita_systems.nbhd import design as d
from partita_systems.nbhd import seed
from partita_systems.nbhd.building.templates import TEMPLATES
from partita_systems.nbhd.consumers import builder
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import Disk, disk
from tests.timing import thread_seconds

pytestmark = pytest.mark.slow


def seeded(scale: float, number: int, times: int = 1) -> Disk:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock(), sleep=lambda _: None)
        db.create_tables()
        for step in seed.steps(scale, number):
            assert callable(step)
            for _ in range(times):
                step(db)
        return disk(db)


def test_the_same_seed_gives_the_same_items_and_another_gives_others() -> None:
    first = seeded(0.3, 1)
    assert seeded(0.3, 1) == first
    assert seeded(0.3, 2).keys().isdisjoint(first)


def test_a_step_may_run_twice() -> None:
    assert seeded(0.3, 1, times=2) == seeded(0.3, 1)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 2.5])
def test_the_number_of_steps_is_known_in_advance(scale: float) -> None:
    assert seed.total(scale) == len(list(seed.steps(scale, 1)))


def test_seeding_is_fast_and_counters_are_exact(db: Store) -> None:
    done: list[int] = []
    assert thread_seconds(lambda: done.append(load(db, "nbhd", seed.steps(1, 0)))) < 3  # a tenth of that
    assert done == [seed.total(1)]
    assert load(db, "nbhd", seed.steps(1, 0)) == 0
    items = disk(db)
    assert 300 <= len(items) <= 999
    homes = [key.split()[0].removeprefix("NBHD#") for key in items if key.endswith(" METADATA")]
    assert len(homes) == 8
    for home in homes:
        assert db.one(d.neighborhood(home)).member_count == len(list(db(d.members(home))))
    assert any(" HISTORY#" in key for key in items)
    assert any(" DELETED_SITE#" in key for key in items)
    settle(db, builder)
    kinds = {item["status"]["S"] for key, item in disk(db).items() if " JOB#" in key}
    assert kinds == {"completed", "failed"}
    published = [each for each in db.scan(d.Site) if each.status == d.SiteStatus.PUBLISHED]
    assert len(published) >= 15
    assert {each.template for each in published} == set(TEMPLATES)
