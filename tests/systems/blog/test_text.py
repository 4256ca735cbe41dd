"""Portuguese text, emoji and the longest texts are stored unchanged; invalid input is rejected, naming the field."""

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest

from partita import InvalidValue, NotFound, ReferenceMissing, Store, StoreError
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from tests.systems.blog.conftest import ANA, BIA, disk

TEXTS = [
    "Coração, maçã e pão de açúcar — às vezes, à toa: «é isso aí!»",
    unicodedata.normalize("NFD", "Açaí à moda de São João"),
    "Feliz aniversário 🎉👩‍👩‍👧‍👦🇧🇷",
    "a#b$c d e\u200b",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_stored_unchanged(blog: Blog, db: Store, post: d.Post, text: str) -> None:
    blog.edit(post.post_id, title=text, content=text, summary=text, tags=["ação", "🎶"])
    read, text_item = blog.read(post.post_id)
    assert (read.title, read.summary, text_item.content, read.tags) == (text, text, text, ["ação", "🎶"])
    comment = blog.comments.add(post.post_id, BIA, f"{text}\n\t{text}")
    assert blog.comments.find(comment.comment_id).content == f"{text}\n\t{text}"
    blog.register(ANA, text, bio=text)
    assert db.one(d.profile(ANA)).name == text
    assert blog.categories.add(text).name == text


def test_composed_and_decomposed_accents_are_one_key(blog: Blog, db: Store) -> None:
    composed, decomposed = (unicodedata.normalize(form, "joão") for form in ("NFC", "NFD"))
    blog.register(decomposed, "João")
    assert db.one(d.profile(composed)).name == "João"
    with pytest.raises(StoreError, match="already exists"):
        blog.register(composed, "João")


def test_user_ids_with_separators_have_different_keys(blog: Blog, db: Store, post: d.Post) -> None:
    for user in ("a", "a#b", "a$Sb", "a b", "a#LIKE"):
        assert blog.like(user, post.post_id)
    assert db.one(d.post(post.post_id)).like_count == 5
    assert [each.user_id for each in db(d.likes_of_user("a"))] == ["a"]


def test_the_longest_texts_fit(blog: Blog, post: d.Post) -> None:
    blog.edit(post.post_id, title="😀" * 200, summary="😀" * 500, content="😀" * 100_000, tags=["😀" * 40] * 10)
    read, text = blog.read(post.post_id)
    assert (len(read.title), len(read.summary), len(text.content), len(read.tags)) == (200, 500, 100_000, 10)
    assert len(blog.comments.add(post.post_id, BIA, "😀" * 5_000).content or "") == 5_000


def test_reading_time_depends_on_the_number_of_words(blog: Blog, post: d.Post) -> None:
    blog.edit(post.post_id, content="palavra " * 1_000)
    assert blog.read(post.post_id)[0].minutes_to_read == 5


Rejected = Callable[[Blog, d.Post], Any]


@pytest.mark.parametrize(
    ("rejected", "named"),
    [
        (lambda blog, post: blog.register("", "Ana"), r"User\.user_id"),
        (lambda blog, post: blog.register("sub", ""), r"User\.name"),
        (lambda blog, post: blog.register("sub", "Ana", bio="x" * 1_001), r"User\.bio"),
        (lambda blog, post: blog.write(ANA, "", "texto"), r"Post\.title"),
        (lambda blog, post: blog.write(ANA, "x" * 201, "texto"), r"Post\.title"),
        (lambda blog, post: blog.write(ANA, "Olá", ""), r"PostText\.content"),
        (lambda blog, post: blog.write(ANA, "Olá", "x" * 100_001), r"PostText\.content"),
        (lambda blog, post: blog.write(ANA, "Olá", "texto", tags=["x"] * 11), r"Post\.tags"),
        (lambda blog, post: blog.write(ANA, "Olá", "texto", tags=[""]), r"Post\.tags"),
        (lambda blog, post: blog.edit(post.post_id, title=""), r"Post\.title"),
        (lambda blog, post: blog.edit(post.post_id, content="x" * 100_001), r"PostText\.content"),
        (lambda blog, post: blog.comments.add(post.post_id, BIA, " \n"), r"Comment\.content"),
        (lambda blog, post: blog.comments.add(post.post_id, BIA, "x" * 5_001), r"Comment\.content"),
        (lambda blog, post: blog.categories.add(""), r"Category\.name"),
        (lambda blog, post: blog.like("", post.post_id), r"Like\.user_id"),
    ],
)
def test_bad_input_is_rejected_naming_the_field_and_nothing_is_written(
    blog: Blog, db: Store, post: d.Post, rejected: Rejected, named: str
) -> None:
    before = disk(db)
    with pytest.raises(InvalidValue, match=named):
        rejected(blog, post)
    assert disk(db) == before


@pytest.mark.parametrize(
    ("rejected", "error"),
    [
        (lambda blog, post: blog.like(BIA, "p_nenhum"), StoreError),
        (lambda blog, post: blog.bookmark(BIA, "p_nenhum"), StoreError),
        (lambda blog, post: blog.comments.add("p_nenhum", BIA, "Oi"), StoreError),
        (lambda blog, post: blog.comments.reply("c_nenhum", BIA, "Oi"), NotFound),
        (lambda blog, post: blog.write(ANA, "Olá", "texto", subcategory_id="k_nenhuma"), ReferenceMissing),
        (lambda blog, post: blog.edit(post.post_id, subcategory_id="k_nenhuma"), ReferenceMissing),
        (lambda blog, post: blog.edit("p_nenhum", title="Olá"), NotFound),
        (lambda blog, post: blog.publish("p_nenhum"), NotFound),
        (lambda blog, post: blog.remove("p_nenhum"), NotFound),
        (lambda blog, post: blog.read("p_nenhum"), NotFound),
        (lambda blog, post: blog.categories.add("Samba", "k_nenhuma"), ReferenceMissing),
        (lambda blog, post: blog.change_profile("sub-ninguém", name="Ninguém"), NotFound),
        (lambda blog, post: blog.mark_read(ANA, "n_nenhuma"), NotFound),
    ],
)
def test_missing_item_is_rejected_and_nothing_is_written(
    blog: Blog, db: Store, post: d.Post, rejected: Rejected, error: type[Exception]
) -> None:
    before = disk(db)
    with pytest.raises(error):
        rejected(blog, post)
    assert disk(db) == before


def test_a_post_without_a_category_cannot_be_published(blog: Blog, db: Store) -> None:
    draft = blog.write(ANA, "Olá", "texto").post_id
    with pytest.raises(InvalidValue, match=r"Post\.subcategory_id: required to publish a post"):
        blog.publish(draft)


def test_a_draft_whose_category_was_deleted_cannot_be_published(blog: Blog) -> None:
    category = blog.categories.add("Passageira").category_id
    draft = blog.write(ANA, "Olá", "texto", subcategory_id=category).post_id
    blog.categories.remove(category)
    with pytest.raises(ReferenceMissing, match="Post refers to Category"):
        blog.publish(draft)


def test_an_edit_changes_only_the_given_fields(blog: Blog, post: d.Post) -> None:
    blog.edit(post.post_id, title="Outro título")
    read, text = blog.read(post.post_id)
    assert (read.title, text.content) == ("Outro título", "Quem não gosta de samba bom sujeito não é.")
    blog.edit(post.post_id, content="Novo texto", summary="Resumo")
    read, text = blog.read(post.post_id)
    assert (read.title, read.summary, text.content) == ("Outro título", "Resumo", "Novo texto")


def test_a_profile_edit_changes_only_the_given_fields(blog: Blog, db: Store) -> None:
    blog.register(ANA, "Ana")
    blog.change_profile(ANA, bio="Cantora.")
    blog.change_profile(ANA, name="Ana Maria")
    user = db.one(d.profile(ANA))
    assert (user.name, user.bio) == ("Ana Maria", "Cantora.")
