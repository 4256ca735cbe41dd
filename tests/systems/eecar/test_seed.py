"""Demo data depends on the seed alone, steps can be repeated, and all items are in their lists."""

from collections import Counter

import pytest

from partita import Store, connect
from partita.store.seeding import load
from partita_systems.eecar import design as d
from partita_systems.eecar import seed
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import Disk, disk
from tests.timing import thread_seconds

pytestmark = pytest.mark.slow


def seeded(scale: float, number: int, times: int = 1) -> Disk:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock(), sleep=lambda _: None)
        db.create_tables()
        for step in seed.steps(scale, number):
            for _ in range(times):
                if callable(step):
                    step(db)
                else:
                    db.put_many(step)
        return disk(db)


def test_the_same_seed_gives_the_same_items_and_another_gives_others() -> None:
    first = seeded(0.3, 1)
    assert seeded(0.3, 1) == first
    shared = seeded(0.3, 2).keys() & first.keys()
    assert all(key.startswith(("CATALOGUE#", "MATCH#")) for key in shared)


def test_a_step_may_run_twice() -> None:
    assert seeded(0.3, 1, times=2) == seeded(0.3, 1)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 2.5])
def test_the_number_of_steps_is_known_in_advance(scale: float) -> None:
    assert seed.total(scale) == len(list(seed.steps(scale, 1)))


def test_seeding_is_fast_and_every_item_is_in_its_list(db: Store, eecar: Eecar) -> None:
    done: list[int] = []
    assert thread_seconds(lambda: done.append(load(db, "eecar", seed.steps(1, 0)))) < 3  # a tenth of that
    assert done == [seed.total(1)]
    assert load(db, "eecar", seed.steps(1, 0)) == 0
    items = disk(db)
    assert 300 <= len(items) <= 999
    counts = Counter(key.split("#")[0] + " " + key.split(" ")[1].split("#")[0] for key in items)
    assert (
        sum(len(eecar.parts.in_category(each.value, 100).items) for each in seed.CATEGORIES) == counts["PART METADATA"]
    )
    assert counts["PART METADATA"] == counts["PART SELLER"] == counts["PART SPEC"] == 40
    assert "PART VECTOR" not in counts  # the consumer embeds them
    assert counts["COMPANY NEED"] == sum(
        len(list(db(d.needs_by_status(each)))) for each in ("active", "fulfilled", "cancelled")
    )
    assert counts["PROPOSAL METADATA"] == counts["PROPOSAL SENT"] == 20
    assert len(list(db(d.most_hit_matches()))) == counts["MATCH RESULT"] == 5
    recipients = {item["recipientId"]["S"] for key, item in items.items() if key.startswith("NOTIFICATION#")}
    assert sum(len(list(db(d.notifications(each)))) for each in recipients) == counts["NOTIFICATION METADATA"] >= 20
    current = [each for each in db(d.most_hit_matches()) if eecar.matches.lookup(each.query_hash) is not None]
    assert len(current) == 5
