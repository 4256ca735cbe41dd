"""Demo data depends on the seed alone, survives an interruption, and satisfies every rule of the design."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from partita import Store, connect, settle, time_in_id
from partita.store.seeding import is_loaded, load
from partita_systems.perfectit import design as d
from partita_systems.perfectit.consumers import analytics, notifications
from partita_systems.perfectit.search_terms import terms_of
from partita_systems.perfectit.seed import steps, total
from partita_systems.perfectit.service import PerfectIt
from partita_systems.perfectit.votes import controversy
from tests.store.clocks import Clock
from tests.systems.perfectit.conftest import disk

pytestmark = pytest.mark.slow


def seeded(db: Store, scale: float, seed: int, *, twice: int | None = None) -> list[dict[str, Any]]:
    """Every stored item after seeding; step number `twice` runs twice."""
    for number, step in enumerate(steps(scale, seed)):
        assert callable(step)
        for _ in range(2 if number == twice else 1):
            step(db)
    return disk(db)


@pytest.fixture
def other(clock: Clock) -> Iterator[Store]:
    with connect("memory:", maintain=False) as backend:
        store = Store(backend, d.design, clock=clock)
        store.create_tables()
        yield store


@pytest.mark.parametrize("twice", [None, 0, 3, 8, 10])
def test_the_same_seed_gives_the_same_data_even_if_a_step_runs_twice(
    db: Store, other: Store, twice: int | None
) -> None:
    assert seeded(db, 0.25, 7) == seeded(other, 0.25, 7, twice=twice)


def test_another_seed_gives_other_data(db: Store, other: Store) -> None:
    assert seeded(db, 0.2, 7) != seeded(other, 0.2, 8)


def test_seeding_can_continue_the_next_day(db: Store, clock: Clock) -> None:
    every = list(steps(0.3, 7))
    load(db, "perfectit", every[: len(every) // 2])
    clock.passes(days=1)
    assert load(db, "perfectit", every) == len(every) - len(every) // 2
    assert is_loaded(db, "perfectit", total(0.3))


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 40])
def test_the_number_of_steps_is_known_in_advance(scale: float) -> None:
    assert sum(1 for _ in steps(scale, 1)) == total(scale)


def test_comments_and_notifications_have_the_time_in_their_ids(db: Store) -> None:
    load(db, "perfectit", steps(1, 1))
    settle(db, notifications)
    for key in ("COMMENT#", "NOTIFICATION#"):
        found = [item for item in disk(db) if item["SK"].startswith(key)]
        assert len(found) > 20
        assert all(time_in_id(item["id"]) == datetime.fromisoformat(item["createdAt"]) for item in found)


def test_counters_and_lists_of_the_demo_data_are_exact(db: Store, clock: Clock) -> None:
    load(db, "perfectit", steps(1, 1))
    settle(db, notifications, analytics)
    kinds = Counter(item.get("entityType", "guard") for item in disk(db))
    assert 300 < sum(kinds.values()) < 1_500
    assert kinds.keys() == {"guard", *(model.name for model in d.design.models)}
    listed = 0
    for root in db(d.root_categories()):
        children = list(db(d.subcategories(root.category_id)))
        assert root.child_count == len(children)
        for child in children:
            cards = list(db(d.cards_by_category(child.category_id)))
            assert child.card_count == len(cards)
            listed += len(cards)
            for each in cards:
                card = db.one(d.card(each.card_id))
                votes = Counter(vote.vote_type for vote in db(d.votes_of_target(card.card_id)))
                up, down = votes[d.VoteType.UP], votes[d.VoteType.DOWN]
                assert (card.vote_score, card.up_count, card.down_count) == (up - down, up, down)
                assert db.one(d.controversy(card.card_id)).score == controversy(up, down)
                assert {term.term for term in db(d.terms_of_card(card.card_id))} == set(terms_of(card))
    assert listed == 20
    assert PerfectIt(db).cards.recent(5).items
    assert list(db(d.trending()))
    assert list(db(d.metrics_between(clock().date() - timedelta(days=60), clock().date())))
