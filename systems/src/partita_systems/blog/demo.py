"""The demo of the blog: a reader likes a post, and its author is notified."""

from contextlib import suppress

from partita import AlreadyExists, Store
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog

READER = "did:plc:demo"


def prepare(db: Store, address: str) -> None:
    """The reader likes a published post of somebody else."""
    blog = Blog(db)
    with suppress(AlreadyExists):
        blog.register(READER, "Demo")
    post = _post(db)
    if post is not None:
        blog.like(READER, post.post_id)


def sight(db: Store, address: str) -> str | None:
    """The notification of the author, once it has arrived."""
    post = _post(db)
    if post is None:
        return None
    for each in db(d.notifications(post.author_id)).first(50):
        if each.actor_id == READER:
            here = f"{address}/api/blog/users/{post.author_id}/notifications"
            return f"the author of {post.title!r} was notified that {READER} likes it: {here}, with the token"
    return None


def _post(db: Store) -> d.Post | None:
    """The published post of the demo data that is read first."""
    return next((each for each in db.scan(d.Post) if each.status == d.PostStatus.PUBLISHED), None)
