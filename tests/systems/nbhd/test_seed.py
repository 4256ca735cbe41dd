"""Demo data: the same for the same seed, harmless when planted again, and as true as what people write."""

import time

import pytest

from partita import Store, connect
from partita.store.seeding import load
from partita_systems.nbhd import design as d
from partita_systems.nbhd import seed
from tests.store.clocks import Clock
from tests.systems.nbhd.conftest import Disk, disk


def planted(scale: float, number: int, times: int = 1) -> Disk:
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design, clock=Clock(), sleep=lambda _: None)
        db.create_tables()
        for piece in seed.steps(scale, number):
            assert callable(piece)
            for _ in range(times):
                piece(db)
        return disk(db)


def test_the_same_seed_gives_the_same_items_and_another_gives_others() -> None:
    first = planted(0.3, 1)
    assert planted(0.3, 1) == first
    assert planted(0.3, 2).keys().isdisjoint(first)


def test_a_piece_planted_twice_is_there_once() -> None:
    assert planted(0.3, 1, times=2) == planted(0.3, 1)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 2.5])
def test_the_total_is_how_many_pieces_there_are(scale: float) -> None:
    assert seed.total(scale) == len(list(seed.steps(scale, 1)))


def test_a_few_hundred_items_are_planted_quickly_and_counted_exactly(db: Store) -> None:
    begun = time.perf_counter()
    assert load(db, "nbhd", seed.steps(1, 0)) == seed.total(1)
    assert time.perf_counter() - begun < 3
    assert load(db, "nbhd", seed.steps(1, 0)) == 0
    items = disk(db)
    assert 300 <= len(items) <= 999
    homes = [key.split()[0].removeprefix("NBHD#") for key in items if key.endswith(" METADATA")]
    assert len(homes) == 8
    for home in homes:
        assert db.one(d.neighborhood(home)).member_count == len(list(db(d.members(home))))
    assert any(" HISTORY#" in key for key in items)
    assert any(" DELETED_SITE#" in key for key in items)
    kinds = {item["status"]["S"] for key, item in items.items() if " JOB#" in key}
    assert kinds == {"completed", "failed"}
