"""Likes, comments and replies notify, from the stream of changes: once each, whatever is delivered again."""

from datetime import UTC, datetime

import pytest

from partita import ConsumerAdministration, Store, settle
from partita_systems.blog import design as d
from partita_systems.blog.consumers import notifications
from partita_systems.blog.service import Blog
from tests.store.clocks import Clock
from tests.systems.blog.conftest import ANA, BIA, CAIO


@pytest.fixture(autouse=True)
def users(blog: Blog) -> None:
    for user in (ANA, BIA, CAIO):
        blog.register(user, user)


def notified(db: Store, user_id: str) -> list[tuple[str, str, str | None]]:
    """Who did what with which comment, newest first."""
    settle(db, notifications)
    return [(each.type.value, each.actor_id, each.comment_id) for each in db(d.notifications(user_id))]


def test_author_of_a_post_learns_of_likes_and_comments(blog: Blog, db: Store, post: d.Post, clock: Clock) -> None:
    blog.like(BIA, post.post_id)
    clock.passes(seconds=1)
    comment = blog.comments.add(post.post_id, CAIO, "Que lindo!")
    assert notified(db, ANA) == [("COMMENT", CAIO, comment.comment_id), ("LIKE", BIA, None)]
    assert next(each.created_at for each in db(d.notifications(ANA))) == comment.created_at
    assert blog.unread(ANA).unread == 2


def test_nobody_is_notified_of_their_own_doings(blog: Blog, db: Store, post: d.Post) -> None:
    comment = blog.comments.add(post.post_id, ANA, "A continuar.")
    blog.like(ANA, post.post_id)
    blog.comments.reply(comment.comment_id, ANA, "Continuo.")
    assert notified(db, ANA) == []


def test_reply_notifies_whom_it_answers_and_the_author_of_the_post(blog: Blog, db: Store, post: d.Post) -> None:
    comment = blog.comments.add(post.post_id, BIA, "Como assim?")
    reply = blog.comments.reply(comment.comment_id, CAIO, "Assim mesmo.")
    again = blog.comments.reply(reply.reply_id, BIA, "Ah!")
    assert notified(db, BIA) == [("REPLY", CAIO, reply.reply_id)]
    assert notified(db, CAIO) == [("REPLY", BIA, again.reply_id)]
    assert {each[2] for each in notified(db, ANA)} == {comment.comment_id, reply.reply_id, again.reply_id}


def test_author_of_the_post_gets_one_notification_of_a_reply_to_them(blog: Blog, db: Store, post: d.Post) -> None:
    comment = blog.comments.add(post.post_id, ANA, "Perguntas?")
    reply = blog.comments.reply(comment.comment_id, BIA, "Muitas.")
    assert notified(db, ANA) == [("REPLY", BIA, reply.reply_id)]


def test_what_is_withdrawn_takes_its_notification_along(blog: Blog, db: Store, post: d.Post) -> None:
    blog.like(BIA, post.post_id)
    comment = blog.comments.add(post.post_id, BIA, "Um")
    reply = blog.comments.reply(comment.comment_id, CAIO, "Dois")
    assert len(notified(db, ANA)) == 3
    blog.unlike(BIA, post.post_id)
    blog.comments.delete(reply.reply_id)
    assert notified(db, ANA) == [("COMMENT", BIA, comment.comment_id)]
    assert notified(db, BIA) == []
    answered = blog.comments.reply(comment.comment_id, CAIO, "Três")
    blog.comments.delete(comment.comment_id)  # stays as a tombstone
    assert notified(db, ANA) == [("COMMENT", CAIO, answered.reply_id)]


def test_a_like_that_is_given_and_taken_repeatedly_notifies_once(blog: Blog, db: Store, post: d.Post) -> None:
    for _ in range(3):
        blog.like(BIA, post.post_id)
        blog.unlike(BIA, post.post_id)
    blog.like(BIA, post.post_id)
    assert notified(db, ANA) == [("LIKE", BIA, None)]


def test_replayed_changes_leave_notifications_as_they_are(blog: Blog, db: Store, post: d.Post) -> None:
    blog.like(BIA, post.post_id)
    blog.comments.add(post.post_id, CAIO, "Oi")
    before = notified(db, ANA)
    blog.mark_all_read(ANA)
    ConsumerAdministration(db, notifications.name).replay(datetime(2026, 1, 1, tzinfo=UTC))
    assert settle(db, notifications) > 0
    assert notified(db, ANA) == before
    assert blog.unread(ANA).unread == 0
    assert ConsumerAdministration(db, notifications.name).status().dead_letters == 0


def test_deleted_account_is_not_notified(blog: Blog, db: Store, post: d.Post) -> None:
    blog.remove_user(ANA)
    blog.like(BIA, post.post_id)
    assert notified(db, ANA) == []
