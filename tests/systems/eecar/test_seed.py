"""Demo data: the same for the same seed, harmless when planted again, and as true as what people write."""

import time
from collections import Counter

import pytest

from partita import Store, connect
from partita.store.seeding import load
from partita_systems.eecar import design as d
from partita_systems.eecar import seed
from partita_systems.eecar.service import Eecar
from tests.store.clocks import Clock
from tests.systems.eecar.conftest import Disk, disk


def planted(scale: float, number: int, times: int = 1) -> Disk:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock(), sleep=lambda _: None)
        db.create_tables()
        for piece in seed.steps(scale, number):
            for _ in range(times):
                if callable(piece):
                    piece(db)
                else:
                    db.put_many(piece)
        return disk(db)


def test_the_same_seed_gives_the_same_items_and_another_gives_others() -> None:
    first = planted(0.3, 1)
    assert planted(0.3, 1) == first
    shared = planted(0.3, 2).keys() & first.keys()
    assert all(key.startswith(("CATALOGUE#", "MATCH#")) for key in shared)


def test_a_piece_planted_twice_is_there_once() -> None:
    assert planted(0.3, 1, times=2) == planted(0.3, 1)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 2.5])
def test_the_total_is_how_many_pieces_there_are(scale: float) -> None:
    assert seed.total(scale) == len(list(seed.steps(scale, 1)))


def test_a_few_hundred_items_are_planted_quickly_and_all_can_be_seen(db: Store, eecar: Eecar) -> None:
    begun = time.perf_counter()
    assert load(db, "eecar", seed.steps(1, 0)) == seed.total(1)
    assert time.perf_counter() - begun < 3
    assert load(db, "eecar", seed.steps(1, 0)) == 0
    items = disk(db)
    assert 300 <= len(items) <= 999
    held = Counter(key.split("#")[0] + " " + key.split(" ")[1].split("#")[0] for key in items)
    assert sum(len(eecar.parts.in_category(each.value, 100).items) for each in seed.CATEGORIES) == held["PART METADATA"]
    assert held["PART METADATA"] == held["PART SELLER"] == held["PART SPEC"] == held["PART VECTOR"] == 40
    assert held["COMPANY NEED"] == sum(
        len(list(db(d.needs_by_status(each)))) for each in ("active", "fulfilled", "cancelled")
    )
    assert held["PROPOSAL METADATA"] == held["PROPOSAL SENT"] == 20
    assert len(list(db(d.most_hit_matches()))) == held["MATCH RESULT"] == 5
    told = {item["recipientId"]["S"] for key, item in items.items() if key.startswith("NOTIFICATION#")}
    assert sum(len(list(db(d.notifications(each)))) for each in told) == held["NOTIFICATION METADATA"] >= 20
    recalled = [each for each in db(d.most_hit_matches()) if eecar.matches.recall(each.query_hash) is not None]
    assert len(recalled) == 5
