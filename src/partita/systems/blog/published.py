"""Writes on a post that readers can see."""

from collections.abc import Iterator
from contextlib import contextmanager

from partita import ConditionFailed, F, NotFound, Store, Transaction
from partita.systems.blog import design as d

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
