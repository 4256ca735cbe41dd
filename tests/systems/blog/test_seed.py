"""Demo data depends on the seed alone, survives an interruption, and satisfies every rule of the design."""

from collections import Counter
from typing import Any

import pytest

from partita import Store, connect, settle
from partita.store.seeding import is_loaded, load
from partita_systems.blog import design as d
from partita_systems.blog.consumers import notifications
from partita_systems.blog.seed import steps, total
from tests.systems.blog.conftest import disk

pytestmark = pytest.mark.slow


def seeded(scale: float, seed: int, *, twice: int | None = None) -> list[dict[str, Any]]:
    """Every stored item after seeding; step number `twice` runs twice."""
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design)
        db.create_tables()
        for number, piece in enumerate(steps(scale, seed)):
            assert callable(piece)
            piece(db)
            if number == twice:
                piece(db)
        return disk(db)


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data() -> None:
    first = seeded(0.3, 7)
    assert first == seeded(0.3, 7)
    assert first != seeded(0.3, 8)


@pytest.mark.parametrize("number", [0, 5, 12, 14])
def test_a_step_may_run_twice(number: int) -> None:
    assert seeded(0.3, 7, twice=number) == seeded(0.3, 7)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 40])
def test_the_number_of_steps_is_known_in_advance(scale: float) -> None:
    assert sum(1 for _ in steps(scale, 1)) == total(scale)


def test_counters_and_lists_of_the_demo_data_are_exact(db: Store) -> None:
    load(db, "blog", steps(1, 1))
    assert is_loaded(db, "blog", total(1))
    assert load(db, "blog", steps(1, 1)) == 0
    settle(db, notifications)
    kinds = Counter(item["entityType"]["S"] for item in disk(db))
    assert 200 < sum(kinds.values()) < 1_000
    assert kinds.keys() == {model.type_name for model in d.design.models}
    roots = list(db(d.root_categories()))
    assert [each.name for each in roots] == ["Música", "Cozinha", "Viagem", "Tecnologia"]
    shown = 0
    for root in roots:
        subcategories = list(db(d.subcategories(root.category_id)))
        assert root.child_count == len(subcategories)
        for each in subcategories:
            posts = list(db(d.posts_by_category(each.category_id)))
            assert each.post_count == len(posts)
            shown += len(posts)
            for post in posts:
                assert post.like_count == len(list(db(d.likes_of_post(post.post_id))))
                assert post.bookmark_count == len(list(db(d.bookmarks_of_post(post.post_id))))
                assert post.comment_count == sum(each.content is not None for each in db(d.thread(post.post_id)))
    assert 0 < shown < kinds["POST"]
