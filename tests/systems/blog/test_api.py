"""The API of the blog: access to unpublished posts, conditional requests, error details, notifications."""

from typing import Any

import pytest

from partita import Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from tests.rest.client import Client
from tests.systems.blog.conftest import ANA, BIA, CAIO, published
from tests.systems.blog.rows import put_documented


@pytest.fixture
def ana(anonymous: Client) -> Client:
    return anonymous.by(ANA, "AUTHOR")


@pytest.fixture
def bia(anonymous: Client) -> Client:
    return anonymous.by(BIA)


@pytest.fixture
def editor(anonymous: Client) -> Client:
    return anonymous.by("sub-eva", "EDITOR")


# unpublished posts ------------------------------------------------------------------------------------------------


@pytest.fixture
def unpublished(blog: Blog, post: d.Post) -> dict[str, str]:
    """The paths of Ana's post, which is a draft again after Bia liked it and commented on it."""
    blog.like(BIA, post.post_id)
    comment = blog.comments.add(post.post_id, BIA, "segredo").comment_id
    reply = blog.comments.reply(comment, CAIO, "resposta").reply_id
    blog.unpublish(post.post_id)
    at = f"/posts/{post.post_id}"
    return {
        "post": at,
        "thread": f"{at}/comments",
        "one of the thread": f"{at}/comments/{comment}",
        "comment": f"/comments/{comment}",
        "reply": f"/comments/{reply}",
        "likes": f"{at}/likes",
        "like": f"{at}/likes/{BIA}",
    }


def test_others_cannot_see_an_unpublished_post_or_its_comments(
    anonymous: Client, ana: Client, editor: Client, unpublished: dict[str, str]
) -> None:
    stranger = anonymous.by("sub-x", "AUTHOR")
    for name, address in unpublished.items():
        seen = [who.get(address).status for who in (anonymous, stranger, ana, editor)]
        assert seen == [404, 404, 200, 200], name


def test_users_see_and_delete_their_own_comments_on_an_unpublished_post(
    bia: Client, unpublished: dict[str, str]
) -> None:
    assert [bia.get(unpublished[name]).status for name in ("comment", "like")] == [200, 200]
    assert [bia.get(unpublished[name]).status for name in ("reply", "likes", "thread")] == [404, 404, 404]
    assert bia.patch(unpublished["comment"], {"content": "nada"}).status == 200
    assert [bia.delete(unpublished[name]).status for name in ("comment", "like")] == [204, 200]


@pytest.mark.usefixtures("unpublished")
@pytest.mark.parametrize("what", ["comments", "likes"])
def test_lists_of_a_user_leave_out_unpublished_posts_for_others(
    anonymous: Client, ana: Client, bia: Client, editor: Client, blog: Blog, post: d.Post, what: str
) -> None:
    assert post.subcategory_id is not None
    other = published(blog, post.subcategory_id, "Choro").post_id
    blog.like(BIA, other)
    blog.comments.add(other, BIA, "à vista")
    address = f"/users/{BIA}/{what}"
    seen = [{each["postId"] for each in who.get(address).json["items"]} for who in (anonymous, ana, bia, editor)]
    both = {other, post.post_id}
    assert seen == [{other}, {other}, both, both]


def test_comments_of_a_user_have_their_entity_type(anonymous: Client, blog: Blog, post: d.Post) -> None:
    comment = blog.comments.add(post.post_id, BIA, "raiz")
    blog.comments.reply(comment.comment_id, BIA, "resposta")
    listed = anonymous.get(f"/users/{BIA}/comments?limit=1").json
    more = anonymous.get(f"/users/{BIA}/comments?cursor={listed['cursor']}").json
    kinds = {each["entityType"] for each in listed["items"] + more["items"]}
    assert (kinds, more["cursor"]) == ({"COMMENT", "REPLY"}, None)


# If-Match ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["comment", "reply"])
def test_if_match_protects_a_comment(bia: Client, blog: Blog, post: d.Post, kind: str) -> None:
    comment = blog.comments.add(post.post_id, BIA, "um").comment_id
    name = blog.comments.reply(comment, BIA, "um").reply_id if kind == "reply" else comment
    first = bia.get(f"/comments/{name}").tag
    changed = bia.patch(f"/comments/{name}", {"content": "dois"}, if_match=first)
    assert (changed.status, changed.json["content"], changed.json["entityType"]) == (200, "dois", kind.upper())
    assert changed.tag == bia.get(f"/comments/{name}").tag
    blog.comments.reply(name, CAIO, "uma resposta não é mudança")
    assert bia.patch(f"/comments/{name}", {"content": "três"}, if_match=first).status == 412
    assert bia.delete(f"/comments/{name}", if_match=first).status == 412
    assert bia.delete(f"/comments/{name}", if_match=changed.tag).status == 204
    assert bia.get(f"/comments/{name}").status == 404


def test_if_match_protects_the_text_of_a_post(ana: Client, editor: Client, blog: Blog, post: d.Post) -> None:
    address = f"/posts/{post.post_id}"
    first = ana.get(address).tag
    blog.like(BIA, post.post_id)
    blog.comments.add(post.post_id, BIA, "nem isto nem um coração é mudança")
    changed = ana.patch(address, {"content": "de Ana"}, if_match=first)
    assert (changed.status, changed.tag) == (200, ana.get(address).tag)
    assert editor.patch(address, {"content": "de Eva"}, if_match=first).status == 412
    assert editor.delete(address, if_match=first).status == 412
    assert ana.get(address).json["content"] == "de Ana"
    assert editor.patch(address, {"content": "de Eva"}, if_match=changed.tag).status == 200


def test_if_match_protects_a_text_of_the_team_s_own_code(editor: Client, db: Store) -> None:
    put_documented(db)
    first = editor.get("/posts/p1").tag
    assert editor.patch("/posts/p1", {"content": "um"}, if_match=first).status == 200
    assert editor.patch("/posts/p1", {"content": "dois"}, if_match=first).status == 412


def test_if_match_protects_a_category(editor: Client, blog: Blog) -> None:
    name = f"/categories/{blog.categories.add('Música').category_id}"
    first = editor.get(name).tag
    changed = editor.patch(name, {"name": "Dança"}, if_match=first)
    assert editor.delete(name, if_match=first).status == 412
    assert editor.delete(name, if_match=changed.tag).status == 204


# errors name the field --------------------------------------------------------------------------------------------


def test_an_empty_or_unknown_id_is_rejected_naming_the_field(ana: Client, editor: Client, post: d.Post) -> None:
    new = {"title": "Olá", "content": "…"}
    for reply, field in (
        (ana.patch(f"/posts/{post.post_id}", {"subcategoryId": ""}), "subcategoryId"),
        (ana.post("/posts", new | {"subcategoryId": ""}), "subcategoryId"),
        (ana.post("/posts", new | {"subcategoryId": "k_nenhuma"}), "subcategoryId"),
        (editor.post("/categories", {"name": "Samba", "parentId": ""}), "parentId"),
        (editor.post("/categories", {"name": "Samba", "parentId": "k_nenhuma"}), "parentId"),
        (editor.put(f"/categories/{post.subcategory_id}/place", {"parentId": ""}), "parentId"),
        (editor.put(f"/categories/{post.subcategory_id}/place", {"parentId": "k_nenhuma"}), "parentId"),
        (editor.put("/category-order", {"parentId": "", "categoryIds": []}), "parentId"),
    ):
        assert (reply.status, reply.json.get("field")) == (422, field), reply.body


def test_a_blank_text_is_rejected_naming_the_field(ana: Client, editor: Client, post: d.Post) -> None:
    new = {"title": "Olá", "content": "…"}
    for reply, field in (
        (ana.post("/posts", new | {"title": " "}), "title"),
        (ana.post("/posts", new | {"content": "\u3000\n"}), "content"),
        (ana.patch(f"/posts/{post.post_id}", {"title": "\t"}), "title"),
        (ana.post("/users", {"name": " "}), "name"),
        (editor.post("/categories", {"name": "\xa0"}), "name"),
        (editor.patch(f"/categories/{post.subcategory_id}", {"name": " "}), "name"),
    ):
        assert (reply.status, reply.json.get("field")) == (422, field), reply.body


def test_an_order_that_omits_a_category_is_rejected_naming_the_field(editor: Client, post: d.Post) -> None:
    response = editor.put("/category-order", {"categoryIds": [post.subcategory_id]})
    assert (response.status, response.json["field"]) == (422, "categoryIds")


def test_reordering_under_an_unknown_category_names_the_field(editor: Client) -> None:
    rejected = editor.put("/category-order", {"parentId": "k_nenhuma", "categoryIds": []})
    assert (rejected.status, rejected.json["field"]) == (422, "parentId")


def test_a_cursor_is_rejected_after_the_subcategories_change(
    anonymous: Client, editor: Client, blog: Blog, db: Store, post: d.Post
) -> None:
    (root,) = [each.category_id for each in db(d.root_categories())]
    other = blog.categories.add("Choro", root).category_id
    assert post.subcategory_id is not None
    published(blog, post.subcategory_id)
    cursor = anonymous.get(f"/categories/{root}/all-posts?limit=1").json["cursor"]
    assert anonymous.get(f"/categories/{root}/all-posts?cursor={cursor}").status == 200
    assert editor.delete(f"/categories/{other}").status == 204
    response = anonymous.get(f"/categories/{root}/all-posts?cursor={cursor}")
    assert (response.status, response.json["field"]) == (400, "cursor")
    assert "the subcategories have changed since; start again without a cursor" in response.json["detail"]


# notifications, and items of other code ---------------------------------------------------------------------------


def test_a_machine_creates_a_notification_and_its_user_reads_changes_and_deletes_it(
    anonymous: Client, ana: Client, bia: Client
) -> None:
    new = {"type": "LIKE", "actorId": BIA, "postId": "p_1"}
    machine = anonymous.by("stream", "MACHINE")
    assert bia.post(f"/users/{ANA}/notifications", new).status == 403
    assert machine.post(f"/users/{ANA}/notifications", new).status == 404
    assert ana.post("/users", {"name": "Ana"}).status == 201
    created = machine.post(f"/users/{ANA}/notifications", new)
    assert created.status == 201
    place = created.headers["location"].removeprefix("/api/blog")
    assert [who.get(place).status for who in (anonymous, bia, ana)] == [401, 403, 200]
    for read in (True, False):
        assert ana.patch(place, {"read": read}).json["read"] is read
        assert ana.get(place).json["read"] is read
    assert ana.put(f"{place}/read").json["read"] is True
    assert ana.get(f"/users/{ANA}/notifications").json["items"][0]["read"] is True
    assert ana.delete(place, if_match=ana.get(place).tag).status == 204
    assert [ana.get(place).status, ana.delete(place).status] == [404, 404]


def test_a_post_of_the_team_s_own_code_is_read_with_its_text_and_thread(anonymous: Client, db: Store) -> None:
    put_documented(db)
    assert anonymous.get("/posts/p1").json["status"] == "PUBLISHED"
    assert anonymous.get("/posts/p1").json["content"] == "Texto"
    listed: list[dict[str, Any]] = anonymous.get("/posts/p1/comments").json["items"]
    assert [each["entityType"] for each in listed] == ["COMMENT", "REPLY"]
