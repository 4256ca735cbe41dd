"""Bringing rows of the team's own code to what the design says: what only the blog knows.

A text inside its post moves to an item of its own, a reply learns under which comment it is, of the likes and
bookmarks of one user on one post the first stays, with a guard, and a category and its link agree. The store has seen
to keys and counters before.
"""

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any

from partita import Adoption, F, Get, InvalidValue, ReferenceMissing, Store
from partita_systems.adopting import IdFields, entity_label
from partita_systems.blog import design as d
from partita_systems.blog.category_adoption import follow_link, link_category
from partita_systems.blog.service import minutes_to_read

Guard = d.LikeGuard | d.BookmarkGuard
Left = d.Comment | d.Reply | d.Like | d.Bookmark  # what readers leave on a post
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
REMEMBERED = 10_000  # posts that are known to be there: what lies on one lies together, bookmarks aside


def adopt(db: Store, progress: Callable[[Adoption], None] = lambda done: None) -> Adoption:
    """Whatever cannot be mended is named in `refused`, and stands as it was; run again, it finds nothing to do."""
    done = db.adopt(progress)
    exists = lru_cache(REMEMBERED)(lambda post_id: db(d.post(post_id), consistent=True) is not None)
    for found in db.scan(*ENTITIES):
        with done.collecting_errors(entity_label(found, ENTITIES)):
            if isinstance(found, Left) and not exists(found.post_id):
                raise ReferenceMissing(type(found).__name__, d.Post.__name__, found.post_id)
            _mend(db, found, done)
    progress(done)
    return done


def _mend(db: Store, found: Any, done: Adoption) -> None:
    match found:
        case d.Post():
            _move_text(db, found, done)
        case d.Reply():
            _name_root(db, found, done)
        case d.Like() | d.Bookmark():
            _guard(db, found, done)
        case d.LikeGuard() | d.BookmarkGuard():
            _need(db, found, done)
        case d.Category():
            link_category(db, found, done)
        case d.CategoryChild():
            follow_link(db, found, done)


def _move_text(db: Store, post: d.Post, done: Adoption) -> None:
    text = db(d.post_text(post.post_id), consistent=True)
    if post.content is None:
        if text is None:
            raise InvalidValue("PostText.content", "the post has no text")
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


def _name_root(db: Store, reply: d.Reply, done: Adoption) -> None:
    if reply.parent_created_at is not None and reply.answers is not None:
        return
    root = db(d.comment_with_replies(reply.post_id, reply.parent_id), consistent=True).one()
    if not isinstance(root, d.Comment):
        raise ReferenceMissing(d.Reply.__name__, d.Comment.__name__, reply.parent_id)
    here = d.reply(reply.post_id, reply.parent_id, reply.reply_id, reply.created_at)
    with db.change(here, system_change=True) as draft:
        draft.parent_created_at = root.created_at
        draft.answers = reply.answers or reply.parent_id
    done.rewritten += 1


def _guard(db: Store, mark: d.Like | d.Bookmark, done: Adoption) -> None:
    """A guard for it; where another one is guarded, this one is too much."""
    guard = _guard_of(mark)
    held = db(guard, consistent=True)
    if held is not None and held.created_at == mark.created_at:
        return
    there = F.user_id.exists()
    with db.transaction() as transaction:
        if held is None:
            make = d.LikeGuard if isinstance(mark, d.Like) else d.BookmarkGuard
            transaction.check(_mark_of(mark, mark.created_at), there)
            transaction.create(make(user_id=mark.user_id, post_id=mark.post_id, created_at=mark.created_at))
        elif db(_mark_of(held, held.created_at), consistent=True) is None:
            transaction.check(_mark_of(mark, mark.created_at), there)
            transaction.change(guard, when=F.created_at == held.created_at).created_at = mark.created_at
        else:
            transaction.check(guard, F.created_at == held.created_at)
            transaction.delete(_mark_of(mark, mark.created_at))
    done.created += held is None
    done.rewritten += held is not None


def _need(db: Store, guard: Guard, done: Adoption) -> None:
    """A guard of nothing goes."""
    if db(_mark_of(guard, guard.created_at), consistent=True) is None:
        with db.transaction() as transaction:
            transaction.check(_mark_of(guard, guard.created_at), F.user_id.is_absent())
            transaction.delete(_guard_of(guard), when=F.created_at == guard.created_at)
        done.rewritten += 1


def _guard_of(one: d.Like | d.Bookmark | Guard) -> Get[Any]:
    likes = isinstance(one, d.Like | d.LikeGuard)
    return (d.has_liked if likes else d.has_bookmarked)(one.user_id, one.post_id)


def _mark_of(one: d.Like | d.Bookmark | Guard, at: datetime) -> Get[Any]:
    """The like or bookmark of the same user and post that was made then."""
    if isinstance(one, d.Like | d.LikeGuard):
        return d.like(one.post_id, one.user_id, at)
    return d.bookmark(one.user_id, one.post_id, at)
