"""What is on a post that readers can see: writes need one, and lists leave out what lies on others."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from partita import Condition, ConditionFailed, F, NotFound, Page, Store, Transaction
from partita_systems.blog import design as d

Left = TypeVar("Left", bound=d.Comment | d.Reply | d.Like)

_SHOWN = d.PUBLISHED | (F.status.is_absent() & F.published_at.exists())  # rows of the team's own code have no status


@contextmanager
def on_published(db: Store, post_id: str) -> Iterator[Transaction]:
    """A transaction that needs the post to be published: to readers a draft is not there."""
    try:
        with db.transaction() as transaction:
            transaction.check(d.post(post_id), _SHOWN)
            yield transaction
    except ConditionFailed as refusal:
        if refusal.entity == d.Post.__name__:
            raise NotFound(refusal.entity, post_id) from None
        raise


def on_shown_posts(db: Store, page: Page[Left]) -> Page[Left]:
    """A page without what lies on posts that are not published: one batch of gets."""
    posts = db.get_many([d.post(post_id) for post_id in dict.fromkeys(each.post_id for each in page.items)])
    shown = {post.post_id for post in posts if post is not None and post.status == d.PostStatus.PUBLISHED}
    return Page([each for each in page.items if each.post_id in shown], page.cursor)


def counter_is(name: str, value: int) -> Condition:
    """That a counter still has the value that was read; an absent counter, as other code leaves it, counts as 0."""
    same: Condition = F[name] == value
    return same if value else same | F[name].is_absent()
