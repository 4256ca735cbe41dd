"""Every access pattern costs one GetItem or Query, however much data there is."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from partita import Get, Query, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from tests.store.clocks import Clock
from tests.systems.blog.conftest import ANA, BIA, CAIO, disk, published
from tests.systems.cost import ONE_READ, costs, put_unchecked

pytestmark = pytest.mark.slow


CROWD = 100


def calls(blog: Blog, clock: Clock) -> dict[str, Get[Any] | Query[Any]]:
    """Every pattern with arguments that find something."""
    blog.register(ANA, "Ana", groups=["AUTHOR"])
    root = blog.categories.add("Música").category_id
    sub = blog.categories.add("Samba", root).category_id
    post = published(blog, sub).post_id
    blog.write(ANA, "Rascunho", "Ainda não.")
    comment = blog.comments.add(post, BIA, "Que lindo!")
    reply = blog.comments.reply(comment.comment_id, ANA, "Obrigada!")
    blog.like(BIA, post)
    blog.bookmark(BIA, post)
    notification = blog.notify(ANA, d.NotificationType.LIKE, BIA, post)
    blog.register(CAIO, "Caio")
    with blog.db.change(d.profile(CAIO)) as leaving:
        leaving.removing_since = clock()
    at = clock()
    every: list[Get[Any] | Query[Any]] = [
        *(d.profile(ANA), d.users_by_role(d.Role.AUTHOR), d.removals()),
        *(d.post(post), d.post_text(post), d.whole_post(post), d.posts_of_author(ANA), d.drafts_of_author(ANA)),
        *(d.posts_by_category(sub), d.posts_by_categories([root, sub])),
        *(d.category(root), d.root_categories(), d.subcategories(root), d.children(root), d.child(root, sub, 0)),
        d.category_sequence(root),
        *(d.thread(post), d.comment_with_replies(post, comment.comment_id), d.comment_by_id(reply.reply_id)),
        *(d.comment(post, comment.comment_id, at), d.reply(post, comment.comment_id, reply.reply_id, at)),
        d.comments_of_user(BIA),
        *(d.has_liked(BIA, post), d.like(post, BIA, at), d.likes_of_post(post), d.likes_of_user(BIA)),
        *(d.has_bookmarked(BIA, post), d.bookmark(BIA, post, at), d.bookmarks_of_user(BIA), d.bookmarks_of_post(post)),
        d.stored_bookmarks_of_user(BIA),
        *(d.stored_notifications(ANA), d.unread_notifications(ANA)),
        *(d.notifications(ANA), d.notification_by_id(ANA, notification.notification_id)),
        d.notification(ANA, notification.notification_id, at),
    ]
    return {call.read.name: call for call in every}


def crowd(clock: Clock) -> Iterator[Any]:
    """A hundred of every entity, of other users, posts and categories."""
    published_at = clock() - timedelta(days=1)
    for number in range(CROWD):
        user, post, category, comment = f"sub-{number}", f"p_{number}", f"k_{number}", f"c_{number}"
        yield d.User(user_id=user, name="Gente")
        for status, name in ((d.PostStatus.PUBLISHED, post), (d.PostStatus.DRAFT, f"{post}d")):
            yield d.Post(
                post_id=name,
                author_id=user,
                subcategory_id=category,
                title="Outro",
                status=status,
                published_at=published_at,
            )
            yield d.PostText(post_id=name, content="texto " * 50)
        yield d.Category(category_id=category, parent_id=f"k_{number}r", name="Outra", order=0)
        yield d.CategoryChild(parent_id=f"k_{number}r", child_id=category, order=0)
        yield d.Comment(post_id=post, comment_id=comment, author_id=user, content="Oi")
        yield d.Reply(
            post_id=post,
            parent_id=comment,
            parent_created_at=clock(),
            reply_id=f"r_{number}",
            answers=comment,
            author_id=user,
            content="Olá",
        )
        yield d.Like(post_id=post, user_id=user)
        yield d.LikeGuard(post_id=post, user_id=user, created_at=clock())
        yield d.Bookmark(post_id=post, user_id=user)
        yield d.BookmarkGuard(post_id=post, user_id=user, created_at=clock())
        yield d.Notification(
            user_id=user,
            notification_id=f"n_{number}",
            actor_id=user,
            post_id=post,
            type=d.NotificationType.LIKE,
        )


def test_every_pattern_costs_one_read_with_a_hundred_times_more_data(blog: Blog, db: Store, clock: Clock) -> None:
    every = calls(blog, clock)
    assert every.keys() == d.design.patterns.keys()
    expected = dict.fromkeys(every, ONE_READ) | {"posts_by_categories": (2, 1.0)}
    before = len(disk(db))
    assert costs(db, every.values()) == expected
    put_unchecked(db, crowd(clock))
    assert len(disk(db)) >= before + 12 * CROWD
    assert costs(db, every.values()) == expected


def test_a_thread_of_two_hundred_comments_is_one_request(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    put_unchecked(
        db,
        (
            d.Comment(post_id=post.post_id, comment_id=f"c_{number:03}", author_id=BIA, content="Que lindo! " * 10)
            for number in range(200)
        ),
    )
    with db.measure() as used:
        assert len(list(db(d.thread(post.post_id)))) == 200
    assert used.requests == 1
    assert used.reads <= 13


def test_a_page_of_posts_reads_no_more_than_the_page(blog: Blog, db: Store, clock: Clock, post: d.Post) -> None:
    category = post.subcategory_id
    assert category is not None
    more: dict[str, Any] = {"author_id": ANA, "subcategory_id": category, "status": d.PostStatus.PUBLISHED}
    put_unchecked(
        db,
        (d.Post(**more, post_id=f"p_{number:04}", title="Outro", published_at=clock()) for number in range(CROWD * 10)),
    )
    with db.measure() as used:
        assert len(db(d.posts_by_category(category)).page().items) == 10
    assert (used.requests, used.reads) == (1, 1.0)
