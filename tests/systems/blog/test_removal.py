"""A post goes with all that readers left on it, whatever happens meanwhile."""

from contextlib import suppress

import pytest

from partita import NotFound, SentRequest, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from tests.systems.blog.conftest import ANA, BIA, CAIO, disk, published


def test_a_removed_post_takes_with_it_all_that_readers_left(blog: Blog, db: Store, post: d.Post) -> None:
    comment = blog.threads.comment(post.post_id, BIA, "raiz").comment_id
    for user in (ANA, BIA, CAIO):
        blog.like(user, post.post_id)
        blog.bookmark(user, post.post_id)
        blog.threads.reply(comment, user, "resposta")
    blog.threads.delete(comment)
    blog.remove(post.post_id)
    assert {item["entityType"]["S"] for item in disk(db)} == {"CATEGORY", "CATEGORY_CHILD"}


def test_a_post_that_is_being_removed_is_neither_published_nor_added_to(blog: Blog, db: Store, post: d.Post) -> None:
    """Somebody publishes it again and likes it after each request of the removal in turn."""
    name = post.post_id
    for turn in range(1, 100):
        left = [turn]

        def meddle(_: SentRequest, left: list[int] = left, name: str = name) -> None:
            left[0] -= 1
            if left[0] == 0:
                with suppress(NotFound):
                    blog.publish(name)
                    blog.like(CAIO, name)
                    blog.bookmark(CAIO, name)
                    blog.threads.comment(name, CAIO, "Ainda aqui?")

        blog.like(BIA, name)
        blog.bookmark(BIA, name)
        blog.threads.comment(name, BIA, "Oi")
        Blog(Store(db.backend, d.design, clock=db.context.clock, on_call=[meddle])).remove(name)
        assert {item["entityType"]["S"] for item in disk(db)} == {"CATEGORY", "CATEGORY_CHILD"}
        if left[0] > 0:
            return
        name = published(blog, post.subcategory_id or "").post_id
    pytest.fail("it does not come to an end")


def test_an_interrupted_removal_is_found_among_drafts_and_done_again(blog: Blog, db: Store, post: d.Post) -> None:
    blog.like(BIA, post.post_id)
    with db.change(d.post(post.post_id)) as draft:
        draft.status = d.PostStatus.REMOVING
    assert [each.post_id for each in db(d.drafts_of_author(ANA))] == [post.post_id]
    for refused in (blog.publish, blog.unpublish):
        with pytest.raises(NotFound):
            refused(post.post_id)
    blog.remove(post.post_id)
    assert {item["entityType"]["S"] for item in disk(db)} == {"CATEGORY", "CATEGORY_CHILD"}


@pytest.mark.parametrize("replies", [0, 1])
def test_a_comment_that_two_delete_at_once_is_counted_out_once(
    blog: Blog, db: Store, post: d.Post, replies: int
) -> None:
    """The second one comes after each request of the first in turn."""
    for turn in range(1, 100):
        comment = blog.threads.comment(post.post_id, BIA, "raiz").comment_id
        for _ in range(replies):
            blog.threads.reply(comment, CAIO, "resposta")
        left = [turn]

        def meddle(_: SentRequest, left: list[int] = left, comment: str = comment) -> None:
            left[0] -= 1
            if left[0] == 0:
                with suppress(NotFound):
                    blog.threads.delete(comment)

        with suppress(NotFound):
            Blog(Store(db.backend, d.design, clock=db.context.clock, on_call=[meddle])).threads.delete(comment)
        said = [each for each in db(d.thread(post.post_id)) if each.content is not None]
        assert db.one(d.post(post.post_id)).comment_count == len(said) == turn * replies
        if left[0] > 0:
            return
    pytest.fail("it does not come to an end")
