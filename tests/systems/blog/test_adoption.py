"""Items of the team's own code can be read as they are, and adoption converts them to the design."""

from collections.abc import Callable
from typing import Any

import pytest

from partita import InvalidValue, Store
from partita.dynamodb.requests import DeleteItem, PutItem
from partita.store.adoption import Adoption
from partita_systems.blog import design as d
from partita_systems.blog.adoption import adopt
from partita_systems.blog.service import Blog
from partita_systems.errors import NotPublished
from tests.systems.blog.conftest import disk
from tests.systems.blog.rows import (
    AT,
    put,
    put_bookmark,
    put_category,
    put_comment,
    put_documented,
    put_like,
    put_post,
    put_reply,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def documented(db: Store) -> None:
    put_documented(db)


@pytest.fixture
def adopted(db: Store, documented: None) -> Adoption:
    return adopt(db)


# before adoption --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("documented")
def test_a_thread_with_a_documented_reply_is_read(db: Store) -> None:
    assert [type(each) for each in db(d.thread("p1"))] == [d.Comment, d.Reply]


@pytest.mark.usefixtures("documented")
def test_a_post_with_its_text_inside_can_be_read_and_edited(blog: Blog, db: Store) -> None:
    post, text = blog.read("p1")
    assert (post.status, text.content) == (d.PostStatus.PUBLISHED, "Texto")
    blog.edit("p1", content="Outro texto")
    assert blog.read("p1")[1] == db.one(d.post_text("p1"))
    assert (db.one(d.post("p1")).content, db.one(d.post_text("p1")).content) == (None, "Outro texto")


@pytest.mark.usefixtures("documented")
def test_a_post_without_a_status_is_published_if_it_has_a_day_of_publication(blog: Blog, db: Store) -> None:
    put(db, "POST#p2", "POST#p2", postId="p2", authorId="au", title="Rascunho")
    assert db.one(d.post("p2")).status == d.PostStatus.DRAFT
    with pytest.raises(NotPublished):
        blog.like("u9", "p2")
    assert blog.like("u9", "p1")
    assert [each.post_id for each in blog.categories.posts("k1").items] == ["p1"]


@pytest.mark.usefixtures("documented")
def test_documented_comments_can_be_replied_to_edited_and_deleted(blog: Blog, db: Store) -> None:
    blog.comments.reply("c1", "u3", "também")
    blog.comments.edit("c1", "melhor")
    assert [each.content for each in db(d.thread("p1"))] == ["melhor", "re", "também"]
    blog.comments.delete("c1")
    assert [each.content for each in db(d.thread("p1"))] == [None, "re", "também"]
    adopt(db)
    blog.comments.delete("r1")
    assert db.one(d.post("p1")).comment_count == 1


@pytest.mark.usefixtures("documented")
def test_a_documented_post_is_removed_with_its_comments_likes_and_bookmarks(blog: Blog, db: Store) -> None:
    blog.remove("p1")
    assert {item["PK"]["S"] for item in disk(db)} == {"CATEGORY#k1", "CATEGORY#k2", "CATEGORY#k3"}


@pytest.mark.usefixtures("documented")
def test_a_post_with_a_like_that_cannot_be_deleted_is_not_removed(blog: Blog, db: Store) -> None:
    put_like(db, "p1", "u5", "2025-01-01T01:00:00+01:00")
    with pytest.raises(InvalidValue, match="adopt the table first"):
        blog.remove("p1")
    adopt(db)
    blog.remove("p1")
    assert {item["PK"]["S"] for item in disk(db)} == {"CATEGORY#k1", "CATEGORY#k2", "CATEGORY#k3"}


# after adoption ---------------------------------------------------------------------------------------------------


def test_adoption_accepts_every_item_of_the_document(adopted: Adoption) -> None:
    assert (adopted.refused, adopted.unknown) == ([], [])
    assert adopted.created == 3  # a text and two guards


@pytest.mark.usefixtures("adopted")
def test_counters_are_exact_after_adoption(db: Store) -> None:
    post = db.one(d.post("p1"))
    assert (post.like_count, post.bookmark_count, post.comment_count) == (1, 1, 2)
    (root, reply) = db(d.thread("p1"))
    assert isinstance(root, d.Comment)
    assert root.reply_count == 1
    assert isinstance(reply, d.Reply)
    assert (reply.parent_created_at, reply.answers) == (root.created_at, "c1")
    assert [db.one(d.category(each)).child_count for each in ("k1", "k2")] == [2, 0]
    assert [db.one(d.category(each)).post_count for each in ("k1", "k2")] == [0, 1]


def test_counters_of_other_code_are_recounted(db: Store, documented: None) -> None:
    put_post(db, "p2", content="Outro", likeCount=7)
    put_comment(db, "p2", "c2", replyCount=5)
    put_reply(db, "p2", "c2", "r2")
    adopt(db)
    root, _ = db(d.thread("p2"))
    assert isinstance(root, d.Comment)
    assert (db.one(d.post("p2")).like_count, root.reply_count) == (0, 1)
    assert adopt(db).counted == 0


@pytest.mark.usefixtures("adopted")
def test_of_two_likes_of_one_user_the_first_stays_with_a_guard(blog: Blog, db: Store) -> None:
    (like,) = db(d.likes_of_post("p1"))
    (bookmark,) = db(d.bookmarks_of_user("u1"))
    assert [each.created_at for each in (like, bookmark)] == [db.one(d.post("p1")).created_at] * 2
    assert not blog.like("u1", "p1")
    assert not blog.bookmark("u1", "p1")
    assert blog.unlike("u1", "p1")
    assert blog.unbookmark("u1", "p1")
    post = db.one(d.post("p1"))
    assert (post.like_count, post.bookmark_count) == (0, 0)


@pytest.mark.usefixtures("adopted")
def test_the_text_moves_out_of_its_post(blog: Blog, db: Store) -> None:
    post, text = blog.read("p1")
    assert (post.content, text.content) == (None, "Texto")
    assert text == db.one(d.post_text("p1"))
    blog.edit("p1", content="novo")
    assert blog.read("p1")[1].content == "novo"


@pytest.mark.usefixtures("adopted")
def test_every_operation_works_on_adopted_items(blog: Blog, db: Store) -> None:
    blog.comments.edit("r1", "melhor")
    blog.comments.reply("r1", "u3", "também")
    blog.comments.edit("c1", "melhor")
    blog.comments.delete("c1")
    blog.comments.delete("r1")
    blog.categories.reorder("k1", ["k2", "k3"])
    blog.categories.move("k2", None)
    assert [each.name for each in db(d.root_categories())] == ["k1", "k2"]
    blog.remove("p1")
    assert {item["entityType"]["S"] for item in disk(db)} == {"CATEGORY", "CATEGORY_CHILD", "CATEGORY_SEQUENCE"}


@pytest.mark.usefixtures("adopted")
def test_a_second_adoption_finds_nothing_to_do(db: Store) -> None:
    before = disk(db)
    again = adopt(db)
    assert (again.rewritten, again.guards_created, again.counted, again.created, again.refused) == (0, 0, 0, 0, [])
    assert disk(db) == before


class _Interrupted(Exception):
    pass


def test_an_adoption_interrupted_after_any_request_is_finished_by_the_next(db: Store, documented: None) -> None:
    start, whole = disk(db), _adopted_disk(db)
    for calls in range(1, 200):
        _restore(db, start)
        left = [calls]

        def count(_: Any, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise _Interrupted

        try:
            adopt(Store(db.backend, d.design, clock=db.now, sleep=lambda _: None, on_call=[count]))
        except _Interrupted:
            assert adopt(db).refused == []
            assert sorted(map(str, disk(db))) == whole
        else:
            return
    pytest.fail("adoption does not end")


def _adopted_disk(db: Store) -> list[str]:
    adopt(db)
    return sorted(map(str, disk(db)))


def _restore(db: Store, items: list[dict[str, Any]]) -> None:
    for item in disk(db):
        db.backend.call(DeleteItem(table_name=d.blog.name, key={"PK": item["PK"], "SK": item["SK"]}))
    for item in items:
        db.backend.call(PutItem(table_name=d.blog.name, item=item))


# inconsistent items -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "report"),
    [
        (lambda db: put_like(db, "p9", "u1"), "Like u1 p9: Like refers to Post p9, which does not exist"),
        (lambda db: put_bookmark(db, "p9", "u1"), "Bookmark u1 p9: Bookmark refers to Post p9, which does not exist"),
        (lambda db: put_comment(db, "p9", "c9"), "Comment c9 p9: Comment refers to Post p9, which does not exist"),
        (
            lambda db: put_reply(db, "p1", "c9", "r9"),
            "Reply r9 p1: Reply refers to Comment c9, which does not exist",
        ),
        (lambda db: put_post(db, "p2"), "Post p2: PostText.content: the post has no text"),
        (
            lambda db: put(db, "CATEGORY#k1", "CHILD#k9#3"),
            "CategoryChild k9: CategoryChild refers to Category k9, which does not exist",
        ),
        (
            lambda db: put_category(db, "k4", 1, "k2"),
            "Category k4: Category.parent_id: k2 is a subcategory; categories have two levels",
        ),
    ],
)
def test_an_item_that_cannot_be_adopted_is_reported(
    db: Store, documented: None, row: Callable[[Store], None], report: str
) -> None:
    row(db)
    assert adopt(db).refused == [report]
    assert adopt(db).refused == [report]


def test_a_text_that_is_too_long_for_its_own_item_stays_in_the_post(db: Store, documented: None) -> None:
    put_post(db, "p2", content="a" * 100_001)
    (report,) = adopt(db).refused
    assert report.startswith("Post p2: PostText.content")
    assert len(db.one(d.post("p2")).content or "") == 100_001


def test_a_text_that_other_code_writes_into_an_adopted_post_takes_precedence(
    blog: Blog, db: Store, adopted: Adoption
) -> None:
    with db.change(d.post("p1")) as draft:
        draft.content = "de outro programa"
    assert blog.read("p1")[1].content == "de outro programa"
    adopt(db)
    assert db.one(d.post_text("p1")).content == "de outro programa"
    assert db.one(d.post("p1")).content is None


def test_a_guard_whose_like_other_code_deleted_is_deleted(blog: Blog, db: Store, adopted: Adoption) -> None:
    (like,) = db(d.likes_of_post("p1"))
    db.delete(like)
    adopt(db)
    assert blog.like("u1", "p1")


def test_a_missing_link_of_a_subcategory_is_created(db: Store, documented: None) -> None:
    put_category(db, "k4", 3, "k1")
    adopt(db)
    db.delete(d.child("k1", "k4", 3))
    assert adopt(db).created == 1
    assert {each.child_id: each.order for each in db(d.children("k1"))} == {"k2": 10, "k3": 9, "k4": 3}
    assert db.one(d.category("k1")).child_count == 3


def test_a_category_without_a_parent_follows_its_link(db: Store, documented: None) -> None:
    put_category(db, "k4", 3, "k1", parentId=None)
    done = adopt(db)
    assert done.refused == []
    assert [each.category_id for each in db(d.subcategories("k1"))] == ["k4", "k3", "k2"]
    assert db.one(d.category("k1")).child_count == 3


def test_links_that_differ_from_their_category_follow_it(db: Store, documented: None) -> None:
    put(db, "CATEGORY#k1", "CHILD#k2#4")
    put_category(db, "k4", 2)
    put(db, "CATEGORY#k4", "CHILD#k2#1")
    assert adopt(db).refused == []
    assert {each.child_id: each.order for each in db(d.children("k1"))} == {"k2": 10, "k3": 9}
    assert list(db(d.children("k4"))) == []
    assert [db.one(d.category(each)).child_count for each in ("k1", "k4")] == [2, 0]
    again = adopt(db)
    assert (again.rewritten, again.created, again.counted) == (0, 0, 0)


def test_adoption_keeps_the_times_of_items(db: Store, adopted: Adoption) -> None:
    assert {each.updated_at for each in db(d.likes_of_post("p1"))} == {db.one(d.post("p1")).updated_at}
    assert f"{db.one(d.post('p1')).updated_at:%Y-%m-%dT%H:%M:%SZ}" == AT
