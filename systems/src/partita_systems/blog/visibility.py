"""Unpublished posts are hidden from readers: writes check the post, and lists leave such posts out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from partita import ConditionFailed, F, NotFound, Page, Store, Transaction
from partita_systems.blog import design as d
from partita_systems.errors import NotPublished

OnPost = TypeVar("OnPost", bound=d.Comment | d.Reply | d.Like)

_PUBLISHED = d.PUBLISHED | (F.status.is_absent() & F.published_at.exists())  # items of other code have no status


@contextmanager
def while_published(db: Store, post_id: str, *, user_id: str | None = None) -> Iterator[Transaction]:
    """A transaction that checks that the post is published; raises NotPublished for a draft.

    With a `user_id`, a draft of another author raises NotFound, as if it did not exist.
    """
    try:
        with db.transaction() as transaction:
            transaction.check(d.post(post_id), _PUBLISHED)
            yield transaction
    except ConditionFailed as failed:
        if failed.entity != d.Post.__name__:
            raise
        post = db(d.post(post_id), consistent=True)
        if post is None or post.status == d.PostStatus.REMOVING or user_id not in (None, post.author_id):
            raise NotFound(failed.entity, {"post_id": post_id}) from None
        raise NotPublished(failed.entity, {"post_id": post_id}) from None


def without_unpublished(db: Store, page: Page[OnPost]) -> Page[OnPost]:
    """The page without items on unpublished posts: one BatchGetItem."""
    posts = db.get_many([d.post(post_id) for post_id in dict.fromkeys(each.post_id for each in page.items)])
    visible = {post.post_id for post in posts if post is not None and post.status == d.PostStatus.PUBLISHED}
    return Page([each for each in page.items if each.post_id in visible], page.cursor)
