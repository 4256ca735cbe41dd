"""Deleting a user takes along what the user did; published posts stay, and comments with replies keep their place."""

import random
from contextlib import suppress

import pytest

from partita import NotFound, SentRequest, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from partita_systems.unread import Unread
from tests.rest.client import Client
from tests.store.clocks import Clock
from tests.systems.blog.conftest import ANA, BIA, CAIO, disk
from tests.systems.blog.rows import AT, dated, put


class Interrupted(Exception):
    """The process ends here."""


@pytest.fixture
def comment(blog: Blog, clock: Clock, post: d.Post) -> d.Comment:
    """Bia's comment, with a reply of Caio. Bia also likes, bookmarks, replies, writes, and has a notification."""
    blog.register(BIA, "Bia", groups=["AUTHOR"])
    blog.like(BIA, post.post_id)
    blog.bookmark(BIA, post.post_id)
    blog.like(CAIO, post.post_id)
    made = blog.comments.add(post.post_id, BIA, "segredo de Bia")
    blog.comments.reply(made.comment_id, CAIO, "resposta")
    clock.passes(minutes=1)
    other = blog.comments.add(post.post_id, CAIO, "de Caio")
    blog.comments.reply(other.comment_id, BIA, "outro segredo")
    blog.comments.add(post.post_id, BIA, "terceiro segredo")
    blog.write(BIA, "Rascunho", "quarto segredo")
    blog.notify(BIA, d.NotificationType.REPLY, CAIO, post.post_id)
    return made


def assert_nothing_of_bia_is_left(db: Store, post: d.Post) -> None:
    assert BIA not in str(disk(db))
    assert "segredo" not in str(disk(db))
    found = db.one(d.post(post.post_id), consistent=True)
    assert (found.like_count, found.bookmark_count, found.comment_count) == (1, 0, 2)
    assert [each.content for each in db(d.thread(post.post_id))] == [None, "resposta", "de Caio"]


@pytest.mark.usefixtures("comment")
def test_deleting_a_user_deletes_bookmarks_likes_comments_drafts_and_notifications(
    anonymous: Client, db: Store, post: d.Post
) -> None:
    bia = anonymous.by(BIA)
    assert anonymous.by(CAIO).delete(f"/users/{BIA}").status == 403
    assert bia.delete(f"/users/{BIA}", if_match=bia.get(f"/users/{BIA}").tag).status == 204
    assert_nothing_of_bia_is_left(db, post)
    assert [anonymous.get(f"/users/{BIA}").status, bia.delete(f"/users/{BIA}").status] == [404, 404]


def test_a_deleted_comment_with_replies_keeps_its_place_without_author_and_text(
    anonymous: Client, blog: Blog, post: d.Post, comment: d.Comment
) -> None:
    blog.remove_user(BIA)
    first = anonymous.get(f"/posts/{post.post_id}/comments").json["items"][0]
    assert (first["commentId"], first["authorId"], first["content"]) == (comment.comment_id, None, None)
    assert first["deletedAt"] is not None
    assert anonymous.get(f"/comments/{comment.comment_id}").status == 404


def test_published_posts_of_a_deleted_user_stay(blog: Blog, db: Store, post: d.Post) -> None:
    blog.register(ANA, "Ana")
    blog.remove_user(ANA)
    assert db.one(d.post(post.post_id)).status == d.PostStatus.PUBLISHED
    assert [each.post_id for each in db(d.posts_of_author(ANA))] == [post.post_id]


@pytest.mark.slow
@pytest.mark.usefixtures("comment")
def test_a_removal_that_is_interrupted_anywhere_is_finished_by_the_job(db: Store, blog: Blog, post: d.Post) -> None:
    begun = 0
    for turn in range(1, 200):
        left = [turn]

        def fail(_: SentRequest, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Interrupted

        broken = Blog(Store(db.backend, d.design, clock=db.now, on_call=[fail]))
        try:
            broken.remove_user(BIA)
        except Interrupted:
            pass
        except NotFound:
            break
        if db(d.profile(BIA)) is None:
            break
        begun += 1
    assert begun > 5
    assert blog.finish_removals() == 0
    assert_nothing_of_bia_is_left(db, post)


@pytest.mark.usefixtures("comment")
def test_a_user_whose_removal_has_begun_is_not_listed_and_cannot_register(
    db: Store, blog: Blog, anonymous: Client, post: d.Post
) -> None:
    with db.change(d.profile(BIA)) as draft:
        draft.removing_since = blog.now()
    assert list(db(d.users_by_role(d.Role.AUTHOR))) == []
    assert anonymous.by(BIA).post("/users", {"name": "Bia"}).status == 409
    assert blog.finish_removals() == 1
    assert_nothing_of_bia_is_left(db, post)
    assert anonymous.by(BIA).post("/users", {"name": "Bia"}).status == 201


def test_likes_and_bookmarks_of_other_code_go_with_their_user(blog: Blog, db: Store, post: d.Post) -> None:
    """They have no guards."""
    blog.register(BIA, "Bia")
    name = post.post_id
    places = (f"LIKE#{BIA}#{name}", "LIKE", f"AUTHOR#{BIA}", f"LIKE#{AT}")
    put(db, f"POST#{name}", f"LIKE#{BIA}#{AT}", *places, postId=name, userId=BIA, **dated("LIKE"))
    places = (f"BOOKMARK#{BIA}", f"BOOKMARK#{AT}#{name}", f"POST#{name}", f"BOOKMARK#{BIA}")
    put(db, f"USER#{BIA}", f"BOOKMARK#{name}#{AT}", *places, postId=name, userId=BIA, **dated("BOOKMARK"))
    with suppress(NotFound):
        blog.remove_user(BIA)
    assert BIA not in str(disk(db))


# unread notifications ---------------------------------------------------------------------------------------------


def test_unread_notifications_are_counted_listed_and_marked_read_together(anonymous: Client, blog: Blog) -> None:
    ana = anonymous.by(ANA)
    blog.register(ANA, "Ana")
    count, unread = f"/users/{ANA}/notifications/unread", f"/users/{ANA}/unread-notifications"
    assert ana.get(count).json == {"unread": 0, "more": False}
    names = [blog.notify(ANA, d.NotificationType.LIKE, BIA, f"p_{n}").notification_id for n in range(3)]
    assert ana.get(count).json == {"unread": 3, "more": False}
    blog.mark_read(ANA, names[1])
    listed = [each["notificationId"] for each in ana.get(unread).json["items"]]
    assert sorted(listed) == sorted([names[0], names[2]])
    assert ana.get(count).headers["cache-control"].startswith("private")
    assert ana.put(f"/users/{ANA}/notifications/read").json == {"unread": 0, "more": False}
    assert ana.get(unread).json["items"] == []
    assert all(each["read"] for each in ana.get(f"/users/{ANA}/notifications").json["items"])
    assert [anonymous.by(BIA).get(each).status for each in (count, unread)] == [403, 403]


def test_more_than_a_hundred_unread_notifications_are_counted_as_more(blog: Blog) -> None:
    for number in range(101):
        blog.notify(ANA, d.NotificationType.LIKE, BIA, f"p_{number}")
    assert blog.unread(ANA) == Unread(100, more=True)
    blog.mark_all_read(ANA)
    assert blog.unread(ANA) == Unread(0, more=False)


def test_random_reading_keeps_the_unread_count_exact(blog: Blog, db: Store) -> None:
    choices = random.Random(13)
    names = [blog.notify(ANA, d.NotificationType.LIKE, BIA, f"p_{number}").notification_id for number in range(8)]
    for _ in range(40):
        blog.mark_read(ANA, choices.choice(names), read=choices.random() < 0.5)
        unread = sum(not each.read for each in db(d.notifications(ANA)))
        assert blog.unread(ANA) == Unread(unread, more=False)


def test_the_job_leaves_a_user_alone_whom_a_lagging_index_still_lists(
    db: Store, blog: Blog, post: d.Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    blog.register(BIA, "Bia")
    blog.like(BIA, post.post_id)
    listed = d.users_by_role(d.Role.READER)
    monkeypatch.setattr(d, "removals", lambda: listed)
    assert blog.finish_removals() == 0
    assert db.one(d.post(post.post_id)).like_count == 1
    assert db(d.profile(BIA)) is not None
