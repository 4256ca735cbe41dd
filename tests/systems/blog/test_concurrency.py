"""Concurrent writers on every backend: counters stay exact, and unique items exist once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from partita import AlreadyExists, ConditionFailed, InvalidValue, NotFound, ReferenceMissing, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from tests.store.clocks import Clock
from tests.store.conftest import fresh
from tests.systems.blog.conftest import ANA, BIA, CAIO, published

pytestmark = pytest.mark.slow

THREADS = 8


@pytest.fixture
def db(backend: Any) -> Store:
    """New tables on each backend in turn, with the real clock and real pauses between retries."""
    fresh(backend, d.design, Clock())
    return Store(backend, d.design)


def at_once(work: Callable[[Any], Any], over: Iterable[Any]) -> list[Any]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(work, over))


def counted(db: Store, post_id: str) -> tuple[int, int, int]:
    return (
        len(list(db(d.likes_of_post(post_id)))),
        len(list(db(d.bookmarks_of_post(post_id)))),
        sum(each.content is not None for each in db(d.thread(post_id))),
    )


def counters(db: Store, post_id: str) -> tuple[int, int, int]:
    post = db.one(d.post(post_id), consistent=True)
    return post.like_count, post.bookmark_count, post.comment_count


def test_concurrent_likes_and_bookmarks_are_counted_exactly(blog: Blog, db: Store, post: d.Post) -> None:
    readers = [f"sub-{number}" for number in range(12)]

    def reads(user: str) -> tuple[bool, bool]:
        return blog.like(user, post.post_id), blog.bookmark(user, post.post_id)

    assert at_once(reads, readers) == [(True, True)] * len(readers)
    assert counters(db, post.post_id) == counted(db, post.post_id) == (12, 12, 0)
    at_once(lambda user: (blog.unlike(user, post.post_id), blog.unbookmark(user, post.post_id)), readers[:5])
    assert counters(db, post.post_id) == counted(db, post.post_id) == (7, 7, 0)


def test_concurrent_likes_of_one_user_count_once(blog: Blog, db: Store, post: d.Post) -> None:
    assert sum(at_once(lambda _: blog.like(BIA, post.post_id), range(16))) == 1
    assert sum(at_once(lambda _: blog.bookmark(BIA, post.post_id), range(16))) == 1
    assert counters(db, post.post_id) == counted(db, post.post_id) == (1, 1, 0)


def test_concurrent_likes_and_unlikes_leave_an_exact_counter(blog: Blog, db: Store, post: d.Post) -> None:
    at_once(lambda turn: (blog.unlike if turn % 2 else blog.like)(BIA, post.post_id), range(24))
    liked = int(db(d.has_liked(BIA, post.post_id), consistent=True) is not None)
    assert counters(db, post.post_id) == counted(db, post.post_id) == (liked, 0, 0)


def test_concurrent_comments_replies_and_deletions_are_counted_exactly(blog: Blog, db: Store, post: d.Post) -> None:
    created = at_once(lambda number: blog.comments.add(post.post_id, BIA, f"nº {number}").comment_id, range(8))
    replies = at_once(lambda number: blog.comments.reply(created[number % 4], CAIO, "oi").reply_id, range(12))
    at_once(blog.comments.delete, [*created[::2], *replies[::3]])
    assert counters(db, post.post_id) == counted(db, post.post_id)
    roots = {each.comment_id: each for each in db(d.thread(post.post_id)) if isinstance(each, d.Comment)}
    for root in roots.values():
        under = list(db(d.comment_with_replies(post.post_id, root.comment_id)))[1:]
        assert root.reply_count == len(under)
        assert root.content is not None or under


def test_a_reply_never_outlives_its_concurrently_deleted_root(blog: Blog, db: Store, post: d.Post) -> None:
    roots = [blog.comments.add(post.post_id, BIA, "raiz").comment_id for _ in range(6)]

    def act(turn: int) -> None:
        try:
            if turn % 2:
                blog.comments.delete(roots[turn // 2])
            else:
                blog.comments.reply(roots[turn // 2], CAIO, "resposta")
        except (NotFound, ReferenceMissing, ConditionFailed):
            return

    at_once(act, range(12))
    found = list(db(d.thread(post.post_id)))
    kept = {each.comment_id for each in found if isinstance(each, d.Comment)}
    assert {each.parent_id for each in found if isinstance(each, d.Reply)} <= kept
    assert counters(db, post.post_id) == counted(db, post.post_id)


def test_concurrent_additions_and_reorderings_keep_category_and_link_equal(blog: Blog, db: Store) -> None:
    root = blog.categories.add("Música").category_id
    created = at_once(lambda number: blog.categories.add(f"Ritmo {number}", root).category_id, range(6))
    at_once(lambda turn: blog.categories.reorder(root, created[turn:] + created[:turn]), range(4))
    places = {each.category_id: each.order for each in db(d.subcategories(root))}
    assert {each.child_id: each.order for each in db(d.children(root))} == places
    assert sorted(places.values()) == list(range(6))
    assert db.one(d.category(root), consistent=True).child_count == 6


def test_two_categories_cannot_become_each_other_s_child(blog: Blog, db: Store) -> None:
    first, second = (blog.categories.add(name).category_id for name in ("Música", "Dança"))

    def move(pair: tuple[str, str]) -> bool:
        try:
            blog.categories.move(*pair)
        except InvalidValue:
            return False
        return True

    assert sum(at_once(move, [(first, second), (second, first)] * 2)) >= 1
    parents = [db.one(d.category(each), consistent=True).parent_id for each in (first, second)]
    assert sorted(parent is None for parent in parents) == [False, True]


def test_concurrent_publishing_and_unpublishing_leave_an_exact_counter(blog: Blog, db: Store) -> None:
    category = blog.categories.add("Música").category_id
    posts = [published(blog, category).post_id for _ in range(4)]
    at_once(lambda turn: (blog.publish if turn % 3 else blog.unpublish)(posts[turn % 4]), range(16))
    shown = list(db(d.posts_by_category(category)))
    assert db.one(d.category(category), consistent=True).post_count == len(shown)
    assert len(list(db(d.drafts_of_author(ANA)))) == len(posts) - len(shown)


def test_of_many_concurrent_registrations_exactly_one_succeeds(blog: Blog, db: Store) -> None:
    def register(number: int) -> bool:
        try:
            blog.register(ANA, f"Ana {number}")
        except AlreadyExists:
            return False
        return True

    assert sum(at_once(register, range(16))) == 1


@pytest.mark.parametrize("under_a_root", [True, False], ids=["subcategories", "roots"])
def test_concurrent_additions_never_share_a_position(blog: Blog, db: Store, under_a_root: bool) -> None:
    root = blog.categories.add("Música").category_id
    parent = root if under_a_root else None
    moved = [blog.categories.add(f"m {number}", None if under_a_root else root).category_id for number in range(3)]
    at_once(lambda number: blog.categories.add(f"nº {number}", parent), range(12))
    siblings = list(db(d.subcategories(root)) if under_a_root else db(d.root_categories()))

    def change(number: int) -> None:
        if number % 4 == 0:
            blog.categories.add(f"mais {number}", parent)
        elif number % 4 == 1:
            blog.categories.move(moved[number // 4], parent)
        elif number % 4 == 2:
            blog.categories.remove(siblings[-1 - number].category_id)
        else:
            with suppress(InvalidValue):  # another one was added or removed
                blog.categories.reorder(parent, [each.category_id for each in siblings])

    at_once(change, range(12))
    found = list(db(d.subcategories(root)) if under_a_root else db(d.root_categories()))
    assert len(found) == 12 + (not under_a_root) + 3 + 3 - 3
    assert len({each.order for each in found}) == len(found)
    if under_a_root:
        assert {(each.child_id, each.order) for each in db(d.children(root))} == {
            (each.category_id, each.order) for each in found
        }
