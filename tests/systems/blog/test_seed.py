"""Demo data is the same for the same seed, survives an interruption, and keeps every promise of the design."""

from collections import Counter
from typing import Any

import pytest

from partita import Store, connect
from partita.store.seeding import is_loaded, load
from partita_systems.blog import design as d
from partita_systems.blog.seed import steps, total
from tests.systems.blog.conftest import disk


def planted(scale: float, seed: int, *, twice: int | None = None) -> list[dict[str, Any]]:
    """What is stored after a seeding, in which piece number `twice` is run again after it."""
    with connect("memory:", maintain=False) as backend:
        db = Store(backend, d.design)
        db.create_tables()
        for number, piece in enumerate(steps(scale, seed)):
            assert callable(piece)
            piece(db)
            if number == twice:
                piece(db)
        return disk(db)


def test_the_same_seed_plants_the_same_and_another_seed_something_else() -> None:
    first = planted(0.3, 7)
    assert first == planted(0.3, 7)
    assert first != planted(0.3, 8)


@pytest.mark.parametrize("number", [0, 5, 12, 14])
def test_a_piece_may_be_planted_twice(number: int) -> None:
    assert planted(0.3, 7, twice=number) == planted(0.3, 7)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 40])
def test_the_number_of_pieces_is_known_before(scale: float) -> None:
    assert sum(1 for _ in steps(scale, 1)) == total(scale)


def test_a_few_hundred_items_keep_every_promise(db: Store) -> None:
    load(db, "blog", steps(1, 1))
    assert is_loaded(db, "blog", total(1))
    assert load(db, "blog", steps(1, 1)) == 0
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
                assert post.comment_count == sum(said.content is not None for said in db(d.thread(post.post_id)))
    assert 0 < shown < kinds["POST"]
