"""Replies of the API: a post with its text, page sizes, the new state after each change, rejected input, caches."""

import re
from itertools import pairwise
from typing import Any

import pytest

from partita_systems.blog import design as d
from partita_systems.blog.api import api
from partita_systems.blog.service import Blog
from tests.rest.client import Client
from tests.systems.blog.conftest import ANA, BIA, published


@pytest.fixture
def ana(anonymous: Client, blog: Blog) -> Client:
    blog.register(ANA, "Ana")
    return anonymous.by(ANA, "AUTHOR", "EDITOR", "ADMIN")


@pytest.fixture
def bia(anonymous: Client, blog: Blog) -> Client:
    blog.register(BIA, "Bia")
    return anonymous.by(BIA)


def test_a_post_is_answered_with_its_text_in_one_query(anonymous: Client, post: d.Post) -> None:
    with anonymous.app._started().apis["blog"].db.measure() as used:
        reply = anonymous.get(f"/posts/{post.post_id}")
    assert reply.json["content"] == "Quem não gosta de samba bom sujeito não é."
    assert (used.requests, used.reads) == (1, 0.5)


def test_lists_of_posts_leave_the_text_out(anonymous: Client, post: d.Post) -> None:
    for address in (f"/users/{ANA}/posts", f"/categories/{post.subcategory_id}/posts"):
        (listed,) = anonymous.get(address).json["items"]
        assert (listed["postId"], listed["content"]) == (post.post_id, None)


def test_posts_of_a_category_come_in_pages_of_ten(anonymous: Client, blog: Blog, post: d.Post) -> None:
    assert post.subcategory_id is not None
    for number in range(12):
        published(blog, post.subcategory_id, f"Samba {number}")
    for address in ("posts", "all-posts"):
        page = anonymous.get(f"/categories/{post.subcategory_id}/{address}").json
        rest = anonymous.get(f"/categories/{post.subcategory_id}/{address}?cursor={page['cursor']}").json
        assert (len(page["items"]), len(rest["items"]), rest["cursor"]) == (10, 3, None)


def test_a_like_and_a_bookmark_answer_with_the_count(ana: Client, bia: Client, post: d.Post) -> None:
    name = post.post_id
    for user, client, count in ((ANA, ana, 1), (BIA, bia, 2), (BIA, bia, 2)):
        liked = client.put(f"/posts/{name}/likes/{user}").json
        assert liked == {"postId": name, "liked": True, "likeCount": count}
        marked = client.put(f"/users/{user}/bookmarks/{name}").json
        assert marked == {"postId": name, "bookmarked": True, "bookmarkCount": count}
    assert bia.delete(f"/posts/{name}/likes/{BIA}").json == {"postId": name, "liked": False, "likeCount": 1}
    unmarked = bia.delete(f"/users/{BIA}/bookmarks/{name}").json
    assert unmarked == {"postId": name, "bookmarked": False, "bookmarkCount": 1}
    gone = (f"/posts/{name}/likes/{BIA}", f"/users/{BIA}/bookmarks/{name}")
    assert [bia.delete(address).status for address in gone] == [404, 404]


def test_every_change_answers_with_the_new_state(ana: Client, blog: Blog, post: d.Post) -> None:
    place = f"/posts/{post.post_id}"
    assert ana.delete(f"{place}/publication").json["status"] == "DRAFT"
    assert ana.put(f"{place}/publication").json["status"] == "PUBLISHED"
    assert ana.patch(place, {"content": "Outro."}).json["content"] == "Outro."
    blog.register(BIA, "Bia")
    assert ana.put(f"/users/{BIA}/role", {"role": "AUTHOR"}).json["role"] == "AUTHOR"
    root = ana.get("/categories").json["items"][0]["categoryId"]
    new = ana.post("/categories", {"name": "Choro"}).json["categoryId"]
    assert ana.put(f"/categories/{new}/place", {"parentId": root}).json["parentId"] == root
    ids = [new, post.subcategory_id]
    ordered = ana.put("/category-order", {"parentId": root, "categoryIds": ids}).json["items"]
    assert [(each["categoryId"], each["order"]) for each in ordered] == list(zip(ids, (0, 1), strict=True))


def test_only_deletions_answer_without_a_body() -> None:
    empty = {f"{route.method} {route.path}" for route in api.routes if route.result is None and route.method != "GET"}
    assert all(each.startswith("DELETE ") for each in empty)


BAD_LINES = ["", "  ", "\u200b", "a\nb", "a\x00b", "\x1b[2J", "a\u202eb"]


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_blank_or_broken_line_is_rejected_with_its_field(ana: Client, post: d.Post, bad: str) -> None:
    place = f"/posts/{post.post_id}"
    wrong: list[tuple[str, str, dict[str, Any], str]] = [
        ("POST", "/users", {"name": bad}, "name"),
        ("POST", "/posts", {"title": bad, "content": "a"}, "title"),
        ("PATCH", place, {"title": bad}, "title"),
        ("PATCH", place, {"tags": ["a", bad]}, "tags[1]"),
        ("POST", "/categories", {"name": bad}, "name"),
        ("PATCH", f"/categories/{post.subcategory_id}", {"name": bad}, "name"),
    ]
    for method, address, body, field in wrong:
        reply = ana.request(method, address, body)
        assert (reply.status, reply.json["field"]) == (422, field)
        assert "regex" not in reply.json["detail"]
        assert "match" not in reply.json["detail"]


@pytest.mark.parametrize("bad", ["", " \n\t ", "\u200b\n", "a\x00b", "\x08"])
def test_a_blank_text_or_one_with_control_characters_is_rejected_with_its_field(
    ana: Client, blog: Blog, post: d.Post, bad: str
) -> None:
    place = f"/posts/{post.post_id}"
    comment = blog.comments.add(post.post_id, ANA, "Oi").comment_id
    for method, address, body in (
        ("PATCH", place, {"content": bad}),
        ("POST", "/posts", {"title": "a", "content": bad}),
        ("POST", f"{place}/comments", {"content": bad}),
        ("POST", f"/comments/{comment}/replies", {"content": bad}),
        ("PATCH", f"/comments/{comment}", {"content": bad}),
    ):
        reply = ana.request(method, address, body)
        assert (reply.status, reply.json["field"]) == (422, "content")


def test_summary_and_bio_may_be_empty_but_have_no_control_characters(ana: Client, post: d.Post) -> None:
    assert ana.patch(f"/posts/{post.post_id}", {"summary": ""}).status == 200
    assert ana.patch(f"/posts/{post.post_id}", {"summary": "a\x00"}).json["field"] == "summary"
    assert ana.patch(f"/users/{ANA}", {"bio": "\x07"}).json["field"] == "bio"
    assert ana.patch(f"/users/{ANA}", {"bio": "uma\nduas"}).status == 200


def test_no_reply_names_an_internal_item(anonymous: Client, ana: Client, blog: Blog, post: d.Post) -> None:
    internal = re.compile(r"PostText|Guard|CategoryChild|CategorySequence|\b(GSI\d|PK|SK)\b")
    blog.like(BIA, post.post_id)
    for reply in (
        anonymous.get(f"/posts/{post.post_id}/likes/{BIA}"),
        anonymous.get(f"/posts/{post.post_id}/likes/{ANA}"),
        ana.get(f"/users/{ANA}/bookmarks/{post.post_id}"),
        ana.put(f"/users/{ANA}/bookmarks/{post.post_id}"),
        ana.get(f"/users/{ANA}/bookmarks/{post.post_id}"),
        ana.get("/posts/p_missing"),
        ana.delete("/categories/k_missing"),
        ana.put("/category-order", {"parentId": "k_missing", "categoryIds": []}),
        ana.post("/categories", {"name": "a", "parentId": "k_missing"}),
        anonymous.get("/openapi.json"),
    ):
        assert internal.search(reply.plain.decode()) is None


def test_public_lists_may_be_cached_for_seconds_and_private_replies_only_by_the_caller(
    anonymous: Client, ana: Client, post: d.Post
) -> None:
    for address in ("/categories", f"/categories/{post.subcategory_id}/posts"):
        assert re.fullmatch(r"public, max-age=\d\d?", anonymous.get(address).headers["cache-control"])
    for address in (f"/users/{ANA}/bookmarks", f"/users/{ANA}/notifications", f"/users/{ANA}/drafts"):
        assert ana.get(address).headers["cache-control"].startswith("private")


def test_one_thing_has_one_name_in_every_path() -> None:
    """The user in a path is `user_id`, a category is `category_id`: whatever the list below it is."""
    names = {"users": "user_id", "posts": "post_id", "categories": "category_id", "comments": "comment_id"}
    for route in api.routes:
        segments = route.path.strip("/").split("/")
        for parent, name in pairwise(segments):
            if parent in names and name.startswith("{"):
                assert name == f"{{{names[parent]}}}", route.path


def test_roles_decide_who_writes_publishes_and_moderates(anonymous: Client, blog: Blog, post: d.Post) -> None:
    blog.register("sub-x", "X")
    reader, author, editor = (anonymous.by("sub-x", *groups) for groups in ([], ["AUTHOR"], ["EDITOR"]))
    new, place = {"title": "a", "content": "b"}, f"/posts/{post.post_id}"
    assert [each.post("/posts", new).status for each in (reader, author, editor)] == [403, 201, 201]
    assert [each.patch(place, {"title": "c"}).status for each in (reader, author, editor)] == [403, 403, 200]
    assert [each.delete(f"{place}/publication").status for each in (reader, author, editor)] == [403, 403, 200]
    assert [each.post("/categories", {"name": "k"}).status for each in (reader, author, editor)] == [403, 403, 201]
