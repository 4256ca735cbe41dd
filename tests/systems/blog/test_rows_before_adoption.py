"""Every operation works on items of the team's own code before they are adopted."""

import pytest

from partita import InvalidValue, NotFound, Store
from partita_systems.blog import design as d
from partita_systems.blog.adoption import adopt
from partita_systems.blog.service import Blog
from tests.rest.client import Client
from tests.systems.blog.rows import AT, dated, put, put_category, put_comment, put_documented, put_post


@pytest.fixture(autouse=True)
def documented(db: Store) -> None:
    """The documented items, and two roots without subcategories."""
    put_documented(db)
    put_category(db, "k5", 5)
    put_category(db, "k6", 6)


def adopts_everything(db: Store) -> bool:
    """Whether one adoption converts everything: a second has nothing to do."""
    first, again = adopt(db), adopt(db)
    left = again.rewritten + again.guards_created + again.counted + again.created
    return first.refused == again.refused == [] and left == 0


# comments ---------------------------------------------------------------------------------------------------------


def test_a_comment_with_uncounted_replies_becomes_a_tombstone(blog: Blog, db: Store) -> None:
    blog.comments.delete("c1")
    assert [each.content for each in db(d.thread("p1"))] == [None, "re"]
    assert adopts_everything(db)
    assert db.one(d.post("p1")).comment_count == 1


def test_a_comment_without_replies_is_deleted(blog: Blog, db: Store) -> None:
    put_comment(db, "p1", "c2")
    blog.comments.delete("c2")
    assert [each.content for each in db(d.thread("p1"))] == ["bom", "re"]


# categories -------------------------------------------------------------------------------------------------------


def test_a_category_moves_under_a_root_and_out_again(blog: Blog, db: Store) -> None:
    blog.categories.move("k5", "k1")
    assert {each.category_id for each in db(d.subcategories("k1"))} == {"k2", "k3", "k5"}
    blog.categories.move("k2", None)
    blog.categories.move("k3", "k6")
    assert {each.child_id for each in db(d.children("k1"))} == {"k5"}
    assert adopts_everything(db)
    assert [db.one(d.category(each)).child_count for each in ("k1", "k6")] == [1, 1]


def test_subcategories_are_reordered_with_their_links(blog: Blog, db: Store) -> None:
    blog.categories.reorder("k1", ["k2", "k3"])
    assert [each.category_id for each in db(d.subcategories("k1"))] == ["k2", "k3"]
    assert {each.child_id: each.order for each in db(d.children("k1"))} == {"k2": 0, "k3": 1}
    assert adopts_everything(db)


def test_an_empty_category_is_removed_with_its_link(blog: Blog, db: Store) -> None:
    for gone in ("k3", "k5"):
        blog.categories.remove(gone)
        assert db(d.category(gone)) is None
    assert [each.child_id for each in db(d.children("k1"))] == ["k2"]
    assert adopts_everything(db)


def test_a_category_with_uncounted_subcategories_or_posts_is_not_empty(blog: Blog) -> None:
    for full in ("k1", "k2"):
        with pytest.raises(InvalidValue, match="still has subcategories or posts"):
            blog.categories.remove(full)
    with pytest.raises(InvalidValue, match="has subcategories and cannot become one"):
        blog.categories.move("k1", "k5")


# attributes that are not in the document --------------------------------------------------------------------------


def test_a_profile_without_a_name_breaks_no_list(blog: Blog, db: Store) -> None:
    keys = ("USER#u1", "PROFILE#u1", "USER#u1", "PROFILE", "ROLE#AUTHOR", "USER#u1")
    put(db, *keys, cognitoSub="u1", role="AUTHOR", **dated("USER"))
    blog.register("u2", "Bia", groups=["AUTHOR"])
    assert [each.name for each in db(d.users_by_role(d.Role.AUTHOR))] == ["", "Bia"]
    blog.change_profile("u1", bio="Escreve")
    assert db.one(d.profile("u1")).bio == "Escreve"
    assert adopts_everything(db)


def test_a_notification_with_keys_only_breaks_no_list(blog: Blog, db: Store) -> None:
    keys = ("USER#u1", f"NOTIFICATION#n1#{AT}", "NOTIFICATION#u1", f"NOTIFICATION#{AT}#n1")
    put(db, *keys, userId="u1", notificationId="n1", **dated("NOTIFICATION"))
    blog.notify("u1", d.NotificationType.LIKE, "u2", "p1")
    assert [(each.type.value, each.actor_id) for each in db(d.notifications("u1"))] == [("LIKE", "u2"), ("", "")]
    blog.mark_read("u1", "n1")
    assert blog.notification("u1", "n1").read
    assert adopts_everything(db)


def test_a_new_profile_and_a_new_notification_require_them(blog: Blog, anonymous: Client) -> None:
    for rejected in (
        lambda: blog.register("u3", ""),
        lambda: blog.notify("u1", d.NotificationType.LIKE, "", "p1"),
        lambda: blog.notify("u1", d.NotificationType.LIKE, "u2", ""),
    ):
        with pytest.raises(InvalidValue):
            rejected()
    machine, notes = anonymous.by("stream", "MACHINE"), "/users/u1/notifications"
    assert anonymous.by("u3").post("/users", {"bio": "…"}).status == 422
    assert machine.post(notes, {"type": "LIKE", "postId": "p1"}).status == 422
    for field in ("actorId", "postId", "commentId"):
        response = machine.post(notes, {"type": "LIKE", "actorId": "u2", "postId": "p1", field: ""})
        assert (response.status, response.json["field"]) == (422, field)


def test_reading_a_post_without_a_text_reports_the_missing_text(blog: Blog, db: Store) -> None:
    put_post(db, "p2")
    with pytest.raises(NotFound, match="PostText p2 does not exist"):
        blog.read("p2")
    with pytest.raises(NotFound, match="Post p3 does not exist"):
        blog.read("p3")
    blog.edit("p2", content="Agora tem.")
    assert blog.read("p2")[1].content == "Agora tem."
