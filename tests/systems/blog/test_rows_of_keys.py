"""Items that have the document's keys and common attributes only can be read, listed and adopted."""

from typing import Any

import pytest

from partita import Store
from partita_systems.blog import design as d
from partita_systems.blog.adoption import adopt
from partita_systems.blog.service import Blog
from tests.rest.client import Client
from tests.systems.blog.conftest import disk
from tests.systems.blog.rows import AT, dated, put, put_comment, put_post


@pytest.fixture(autouse=True)
def bare(db: Store) -> None:
    """One item of every entity of the document, without the attributes that its keys have the values of."""
    place = f"POST#{AT}#p1"
    put(db, "USER#u1", "PROFILE#u1", "USER#u1", "PROFILE", "ROLE#AUTHOR", "USER#u1", **dated("USER"))
    put(db, "CATEGORY#k1", "CATEGORY#k1", "CATEGORY_ROOT", "CATEGORY#1#k1", **dated("CATEGORY"))
    put(db, "CATEGORY#k2", "CATEGORY#k2", "CATEGORY#k1", "CATEGORY#9#k2", **dated("CATEGORY"))
    put(db, "CATEGORY#k1", "CHILD#k2#9", **dated("CATEGORY_CHILD"))
    put(db, "POST#p1", "POST#p1", "CATEGORY#k2", place, "AUTHOR#u1", place, **dated("POST"))
    keys = ("COMMENT#c1", "POST#p1", "AUTHOR#u2", f"COMMENT#{AT}#c1")
    put(db, "POST#p1", f"COMMENT#c1#{AT}", *keys, **dated("COMMENT"))
    put(db, "POST#p1", f"COMMENT#c1#r1#{AT}", **dated("REPLY"))
    put(db, "POST#p1", f"LIKE#u2#{AT}", "LIKE#u2#p1", "LIKE", "AUTHOR#u2", f"LIKE#{AT}", **dated("LIKE"))
    keys = ("BOOKMARK#u2", f"BOOKMARK#{AT}#p1", "POST#p1", "BOOKMARK#u2")
    put(db, "USER#u2", f"BOOKMARK#p1#{AT}", *keys, **dated("BOOKMARK"))
    put(
        db,
        *("USER#u1", f"NOTIFICATION#n1#{AT}", "NOTIFICATION#u1", f"NOTIFICATION#{AT}#n1"),
        **dated("NOTIFICATION"),
    )


READABLE: dict[str, dict[str, Any]] = {
    "/users/u1": {"userId": "u1", "role": "AUTHOR", "name": ""},
    "/categories/k2": {"categoryId": "k2", "parentId": "k1", "order": 9, "name": ""},
    "/posts/p1": {
        "postId": "p1",
        "authorId": "u1",
        "subcategoryId": "k2",
        "status": "PUBLISHED",
        "publishedAt": AT,
        "title": "",
    },
    "/comments/c1": {"commentId": "c1", "postId": "p1", "authorId": "u2", "content": None},
}
LISTS = {
    "/categories": ["k1"],
    "/categories/k1/subcategories": ["k2"],
    "/categories/k2/posts": ["p1"],
    "/categories/k1/all-posts": ["p1"],
    "/users/u1/posts": ["p1"],
    "/posts/p1/comments": ["c1", "r1"],
    "/posts/p1/comments/c1": ["c1", "r1"],
    "/posts/p1/likes": ["u2"],
    "/users/u2/likes": ["p1"],
    "/users/u2/comments": ["c1"],
    "/users/u2/bookmarks": ["p1"],
    "/users/u1/notifications": ["n1"],
    "/roles/AUTHOR/users": ["u1"],
}
IDS = ("notificationId", "replyId", "commentId", "categoryId", "userId")


def caller(anonymous: Client, address: str) -> Client:
    return anonymous.by(address.split("/")[2], "ADMIN") if address.startswith(("/users", "/roles")) else anonymous


@pytest.mark.parametrize("address", READABLE)
def test_an_item_of_keys_is_read_with_the_values_of_its_keys(anonymous: Client, address: str) -> None:
    reply = caller(anonymous, address).get(address)
    assert reply.status == 200
    assert {name: reply.json[name] for name in READABLE[address]} == READABLE[address]


@pytest.mark.parametrize("address", LISTS)
def test_an_item_of_keys_is_listed(anonymous: Client, address: str) -> None:
    reply = caller(anonymous, address).get(address)
    assert reply.status == 200, reply.json
    found = [next((each[name] for name in IDS if name in each), None) for each in reply.json["items"]]
    by_post = [each.get("userId" if address.endswith("p1/likes") else "postId") for each in reply.json["items"]]
    assert LISTS[address] in (found, by_post)


def test_adoption_writes_the_values_of_keys_as_attributes(db: Store) -> None:
    first, again = adopt(db), adopt(db)
    assert first.refused == ["Post p1: PostText.content: the post has no text"]
    assert (again.rewritten, again.created, again.counted) == (0, 0, 0)
    stored = {item["entityType"]["S"]: item for item in disk(db)}
    assert stored["POST"]["authorId"] == {"S": "u1"}
    assert stored["POST"]["publishedAt"]["S"].startswith("2025-01-01T00:00:00")
    assert stored["COMMENT"]["authorId"] == {"S": "u2"}
    assert stored["BOOKMARK"]["postId"] == {"S": "p1"}
    post = db.one(d.post("p1"))
    assert (post.like_count, post.bookmark_count, post.comment_count) == (1, 1, 2)


def test_after_adoption_every_operation_works_on_them(blog: Blog, db: Store) -> None:
    adopt(db)
    assert blog.like("u3", "p1")
    assert not blog.like("u2", "p1")
    blog.comments.delete("c1")
    assert [each.content for each in db(d.thread("p1"))] == [None, None]
    blog.change_profile("u1", name="Ana")
    blog.categories.rename("k2", "Samba")
    assert db.one(d.post("p1")).like_count == 2


# replies that sort before their comment ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["1", "0f3c", "19990101", "A1", "2024"])
def test_a_reply_whose_id_sorts_before_the_date_is_adopted(blog: Blog, db: Store, name: str) -> None:
    put_post(db, "p2", content="Texto")
    put_comment(db, "p2", "c2")
    row = {"postId": "p2", "parentId": "c2", "replyId": name, "authorId": "u2", "content": "re", **dated("REPLY")}
    put(db, "POST#p2", f"COMMENT#c2#{name}#{AT}", **row)
    first, again = adopt(db), adopt(db)
    assert [each for each in first.refused if "p1" not in each] == []
    assert (again.rewritten, again.created, again.counted) == (0, 0, 0)
    (reply,) = (each for each in db(d.thread("p2")) if isinstance(each, d.Reply))
    (root,) = (each for each in db(d.thread("p2")) if isinstance(each, d.Comment))
    assert (reply.parent_created_at, reply.answers, root.reply_count) == (root.created_at, "c2", 1)
    assert blog.comments.find(name) == reply
    assert blog.comments.reply(name, "u3", "também").parent_created_at == root.created_at
    blog.comments.delete("c2")
    assert {each.content for each in db(d.thread("p2"))} == {None, "re", "também"}
