"""Adoption of items that other code stored: the steps that are specific to the blog.

The store's own adoption fixes keys and counters first. Then the text of a post moves to a separate item, replies get
the creation time of their comment, duplicate likes and bookmarks are reduced to the first, which gets a guard, and a
category and its link are made to agree.
"""

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any

from partita import Adoption, F, Get, InvalidValue, ReferenceMissing, Store
from partita_systems.adopting import IdFields, entity_label
from partita_systems.blog import design as d
from partita_systems.blog.category_adoption import follow_link, link_category
from partita_systems.blog.comments import root_of
from partita_systems.blog.service import minutes_to_read

Guard = d.LikeGuard | d.BookmarkGuard
OnPost = d.Comment | d.Reply | d.Like | d.Bookmark
ENTITIES: IdFields = {
    d.Category: ("category_id",),
    d.CategoryChild: ("child_id",),
    d.Post: ("post_id",),
    d.Comment: ("comment_id", "post_id"),
    d.Reply: ("reply_id", "post_id"),
    d.Like: ("user_id", "post_id"),
    d.LikeGuard: ("user_id", "post_id"),
    d.Bookmark: ("user_id", "post_id"),
    d.BookmarkGuard: ("user_id", "post_id"),
}
CACHED_POSTS = 10_000  # items on one post are scanned together, except bookmarks


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Adopt all items. `refused` lists what cannot be adopted and stays unchanged; a second run has nothing to do."""
    done = db.adopt(progress)
    exists = lru_cache(CACHED_POSTS)(lambda post_id: db(d.post(post_id), consistent=True) is not None)
    for found in db.scan(*ENTITIES):
        with done.collecting_errors(entity_label(found, ENTITIES)):
            if isinstance(found, OnPost) and not exists(found.post_id):
                raise ReferenceMissing(type(found).__name__, d.Post.__name__, {"post_id": found.post_id})
            _adopt_item(db, found, done)
    progress(done)
    return done


def _adopt_item(db: Store, found: Any, done: Adoption) -> None:
    match found:
        case d.Post():
            _move_text(db, found, done)
        case d.Reply():
            _complete_reply(db, found, done)
        case d.Like() | d.Bookmark():
            _guard_mark(db, found, done)
        case d.LikeGuard() | d.BookmarkGuard():
            _delete_orphaned_guard(db, found, done)
        case d.Category():
            link_category(db, found, done)
        case d.CategoryChild():
            follow_link(db, found, done)


def _move_text(db: Store, post: d.Post, done: Adoption) -> None:
    text = db(d.post_text(post.post_id), consistent=True)
    if post.content is None:
        if text is None:
            raise InvalidValue("PostText", "the post has no text", "content")
        return
    with db.transaction() as transaction:
        draft = transaction.change(d.post(post.post_id), when=F.content == post.content, system_change=True)
        draft.content = None
        draft.minutes_to_read = minutes_to_read(post.content)
        if text is None:
            transaction.create(d.PostText(post_id=post.post_id, content=post.content))
        else:
            transaction.change(d.post_text(post.post_id)).content = post.content
    done.created += text is None
    done.rewritten += 1


def _complete_reply(db: Store, reply: d.Reply, done: Adoption) -> None:
    if reply.parent_created_at is not None and reply.answers is not None:
        return
    root = root_of(db, reply)
    if root is None:
        raise ReferenceMissing(d.Reply.__name__, d.Comment.__name__, {"comment_id": reply.parent_id})
    here = d.reply(reply.post_id, reply.parent_id, reply.reply_id, reply.created_at)
    with db.change(here, system_change=True) as draft:
        draft.parent_created_at = root.created_at
        draft.answers = reply.answers or reply.parent_id
    done.rewritten += 1


def _guard_mark(db: Store, mark: d.Like | d.Bookmark, done: Adoption) -> None:
    """Create the guard of a like or bookmark; delete the like or bookmark if the guard is for an earlier one."""
    guard = _guard_of(mark)
    existing = db(guard, consistent=True)
    if existing is not None and existing.created_at == mark.created_at:
        return
    exists = F.user_id.exists()
    with db.transaction() as transaction:
        if existing is None:
            make = d.LikeGuard if isinstance(mark, d.Like) else d.BookmarkGuard
            transaction.check(_mark_of(mark, mark.created_at), exists)
            transaction.create(make(user_id=mark.user_id, post_id=mark.post_id, created_at=mark.created_at))
        elif db(_mark_of(existing, existing.created_at), consistent=True) is None:
            transaction.check(_mark_of(mark, mark.created_at), exists)
            transaction.change(guard, when=F.created_at == existing.created_at).created_at = mark.created_at
        else:
            transaction.check(guard, F.created_at == existing.created_at)
            transaction.delete(_mark_of(mark, mark.created_at))
    done.created += existing is None
    done.rewritten += existing is not None


def _delete_orphaned_guard(db: Store, guard: Guard, done: Adoption) -> None:
    """Delete a guard whose like or bookmark does not exist."""
    if db(_mark_of(guard, guard.created_at), consistent=True) is None:
        with db.transaction() as transaction:
            transaction.check(_mark_of(guard, guard.created_at), F.user_id.is_absent())
            transaction.delete(_guard_of(guard), when=F.created_at == guard.created_at)
        done.rewritten += 1


def _guard_of(one: d.Like | d.Bookmark | Guard) -> Get[Any]:
    likes = isinstance(one, d.Like | d.LikeGuard)
    return (d.has_liked if likes else d.has_bookmarked)(one.user_id, one.post_id)


def _mark_of(one: d.Like | d.Bookmark | Guard, at: datetime) -> Get[Any]:
    """The like or bookmark of the same user and post with this creation time."""
    if isinstance(one, d.Like | d.LikeGuard):
        return d.like(one.post_id, one.user_id, at)
    return d.bookmark(one.user_id, one.post_id, at)
