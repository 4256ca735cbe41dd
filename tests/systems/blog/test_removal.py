"""Removing a post deletes its comments, likes and bookmarks, whatever happens concurrently."""

from contextlib import suppress

import pytest

from partita import NotFound, SentRequest, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from tests.systems.blog.conftest import ANA, BIA, CAIO, disk, published

pytestmark = pytest.mark.slow


def test_removing_a_post_deletes_its_comments_likes_and_bookmarks(blog: Blog, db: Store, post: d.Post) -> None:
    comment = blog.comments.add(post.post_id, BIA, "raiz").comment_id
    for user in (ANA, BIA, CAIO):
        blog.like(user, post.post_id)
        blog.bookmark(user, post.post_id)
        blog.comments.reply(comment, user, "resposta")
    blog.comments.delete(comment)
    blog.remove(post.post_id)
    assert {item["entityType"]["S"] for item in disk(db)} == {"CATEGORY", "CATEGORY_CHILD", "CATEGORY_SEQUENCE"}


def test_a_post_under_removal_cannot_be_published_or_added_to(blog: Blog, db: Store, post: d.Post) -> None:
    """Another user publishes it again and likes it after each request of the removal in turn."""
    name = post.post_id
    for turn in range(1, 100):
        left = [turn]

        def interfere(_: SentRequest, left: list[int] = left, name: str = name) -> None:
            left[0] -= 1
            if left[0] == 0:
                with suppress(NotFound):
                    blog.publish(name)
                    blog.like(CAIO, name)
                    blog.bookmark(CAIO, name)
                    blog.comments.add(name, CAIO, "Ainda aqui?")

        blog.like(BIA, name)
        blog.bookmark(BIA, name)
        blog.comments.add(name, BIA, "Oi")
        Blog(Store(db.backend, d.design, clock=db.now, on_call=[interfere])).remove(name)
        assert {item["entityType"]["S"] for item in disk(db)} == {"CATEGORY", "CATEGORY_CHILD", "CATEGORY_SEQUENCE"}
        if left[0] > 0:
            return
        name = published(blog, post.subcategory_id or "").post_id
    pytest.fail("the removal does not end")


def test_an_interrupted_removal_is_among_the_drafts_and_can_be_repeated(blog: Blog, db: Store, post: d.Post) -> None:
    blog.like(BIA, post.post_id)
    with db.change(d.post(post.post_id)) as draft:
        draft.status = d.PostStatus.REMOVING
    assert [each.post_id for each in db(d.drafts_of_author(ANA))] == [post.post_id]
    for rejected in (blog.publish, blog.unpublish):
        with pytest.raises(NotFound):
            rejected(post.post_id)
    blog.remove(post.post_id)
    assert {item["entityType"]["S"] for item in disk(db)} == {"CATEGORY", "CATEGORY_CHILD", "CATEGORY_SEQUENCE"}


@pytest.mark.parametrize("replies", [0, 1])
def test_a_comment_that_is_deleted_twice_at_once_is_counted_once(
    blog: Blog, db: Store, post: d.Post, replies: int
) -> None:
    """The second deletion runs after each request of the first in turn."""
    for turn in range(1, 100):
        comment = blog.comments.add(post.post_id, BIA, "raiz").comment_id
        for _ in range(replies):
            blog.comments.reply(comment, CAIO, "resposta")
        left = [turn]

        def interfere(_: SentRequest, left: list[int] = left, comment: str = comment) -> None:
            left[0] -= 1
            if left[0] == 0:
                with suppress(NotFound):
                    blog.comments.delete(comment)

        with suppress(NotFound):
            Blog(Store(db.backend, d.design, clock=db.now, on_call=[interfere])).comments.delete(comment)
        left_over = [each for each in db(d.thread(post.post_id)) if each.content is not None]
        assert db.one(d.post(post.post_id)).comment_count == len(left_over) == turn * replies
        if left[0] > 0:
            return
    pytest.fail("the removal does not end")
