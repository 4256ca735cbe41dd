"""Every entity can be created, read, changed and deleted by its key."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from partita import AlreadyExists, Get, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog
from tests.store.clocks import Clock
from tests.systems.blog.conftest import ANA, BIA, disk

AT = datetime(2024, 5, 1, tzinfo=UTC)
Key = Callable[[Any], Get[Any]]

ENTITIES: dict[type[Any], tuple[Any, Key, dict[str, Any]]] = {
    d.User: (d.User(user_id=ANA, name="Ana"), lambda e: d.profile(e.user_id), {"bio": "Escreve."}),
    d.Post: (d.Post(post_id="p_1", author_id=ANA, title="Olá"), lambda e: d.post(e.post_id), {"title": "Oi"}),
    d.PostText: (d.PostText(post_id="p_1", content="a"), lambda e: d.post_text(e.post_id), {"content": "b"}),
    d.Category: (d.Category(category_id="k_1", name="a", order=3), lambda e: d.category(e.category_id), {"name": "b"}),
    d.CategoryChild: (
        d.CategoryChild(parent_id="k_0", child_id="k_1", order=3),
        lambda e: d.child(e.parent_id, e.child_id, e.order),
        {},
    ),
    d.CategorySequence: (
        d.CategorySequence(parent_id="k_0", next_order=1),
        lambda e: d.category_sequence(e.parent_id),
        {"next_order": 2},
    ),
    d.Comment: (
        d.Comment(post_id="p_0", comment_id="c_1", author_id=BIA, content="a"),
        lambda e: d.comment(e.post_id, e.comment_id, e.created_at),
        {"content": "b"},
    ),
    d.Reply: (
        d.Reply(
            post_id="p_0",
            parent_id="c_0",
            parent_created_at=AT,
            reply_id="r_1",
            answers="c_0",
            author_id=BIA,
            content="a",
        ),
        lambda e: d.reply(e.post_id, e.parent_id, e.reply_id, e.created_at),
        {"content": "b"},
    ),
    d.Like: (d.Like(post_id="p_0", user_id=BIA), lambda e: d.like(e.post_id, e.user_id, e.created_at), {}),
    d.LikeGuard: (
        d.LikeGuard(post_id="p_0", user_id=BIA, created_at=AT),
        lambda e: d.has_liked(e.user_id, e.post_id),
        {},
    ),
    d.Bookmark: (
        d.Bookmark(post_id="p_0", user_id=BIA),
        lambda e: d.bookmark(e.user_id, e.post_id, e.created_at),
        {},
    ),
    d.BookmarkGuard: (
        d.BookmarkGuard(post_id="p_0", user_id=BIA, created_at=AT),
        lambda e: d.has_bookmarked(e.user_id, e.post_id),
        {},
    ),
    d.Notification: (
        d.Notification(user_id=ANA, notification_id="n_1", type=d.NotificationType.LIKE, actor_id=BIA, post_id="p_0"),
        lambda e: d.notification(e.user_id, e.notification_id, e.created_at),
        {"read": True},
    ),
}


@pytest.fixture
def parents(db: Store, clock: Clock) -> None:
    """The items that the other entities refer to."""
    now, clock.now = clock.now, AT
    db.create(d.Category(category_id="k_0", name="raiz", order=0))
    db.create(d.Post(post_id="p_0", author_id=ANA, title="raiz", subcategory_id="k_0"))
    db.create(d.Comment(post_id="p_0", comment_id="c_0", author_id=ANA, content="raiz"))
    clock.now = now


def test_every_entity_is_tested() -> None:
    assert {model.cls for model in d.design.models} == ENTITIES.keys()


@pytest.mark.usefixtures("parents")
@pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: entity.__name__)
def test_an_entity_is_created_read_changed_and_deleted(db: Store, clock: Clock, entity: type[Any]) -> None:
    given, key, changes = ENTITIES[entity]
    before = disk(db)
    created = db.create(given)
    assert db.one(key(created)) == created
    with pytest.raises(AlreadyExists):
        db.create(given)
    if changes:
        clock.passes(hours=1)
        with db.change(key(created)) as draft:
            for name, value in changes.items():
                setattr(draft, name, value)
        changed = db.one(key(created))
        assert {name: getattr(changed, name) for name in changes} == changes
        assert (changed.updated_at == clock()) != ("read" in changes)
    db.delete(key(created))
    assert db(key(created)) is None
    assert disk(db) == before


def test_a_link_moves_to_another_position(db: Store, blog: Blog) -> None:
    root = blog.categories.add("Música").category_id
    link = db.create(d.CategoryChild(parent_id=root, child_id="k_1", order=7))
    with db.change(d.child(root, "k_1", 7)) as draft:
        draft.order = 8
    assert db(d.child(root, "k_1", 7)) is None
    assert db.one(d.child(root, "k_1", 8)).created_at == link.created_at


def test_unknown_enum_values_do_not_break_a_read(db: Store, blog: Blog) -> None:
    post = blog.write(ANA, "Olá", "texto").post_id
    blog.register(ANA, "Ana")
    with db.change(d.profile(ANA)) as user, db.change(d.post(post)) as draft:
        user.role = d.Role("CONVIDADA")
        draft.status = d.PostStatus("ARCHIVED")
    assert db.one(d.profile(ANA)).role.value == "CONVIDADA"
    assert [each.user_id for each in db(d.users_by_role(d.Role("CONVIDADA")))] == [ANA]
    assert db.one(d.post(post)).status.value == "ARCHIVED"
    assert list(db(d.drafts_of_author(ANA))) == []
