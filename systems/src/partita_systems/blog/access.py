"""Who may do what in the blog, by the groups of the token and by what a post says.

What readers leave on a post is seen by whoever sees the post. While it is not published, those are its author and
moderators; and everybody sees and takes back what they left themselves.
"""

from typing import NamedTuple

from partita.rest import Caller, allowed_if, group, owned_by, public_if
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog

admin = group("ADMIN")
moderators = group("EDITOR") | admin
writers = group("AUTHOR") | moderators
machines = group("MACHINE") | admin  # who reads the stream and tells
author = owned_by("author_id")
post_author = allowed_if("the author of its post", lambda comment: comment.on_mine)
readers = public_if("a published post", lambda post: post.status == d.PostStatus.PUBLISHED)


def sees_all(caller: Caller, user_id: str) -> bool:
    """Whether somebody may see what a user left on posts that are not published."""
    return caller.id == user_id or not caller.groups.isdisjoint({"EDITOR", "ADMIN"})


class Said(NamedTuple):
    """A comment as rules see it: by whom, whether its post is published, and whether that is the caller's."""

    author_id: str
    status: d.PostStatus
    on_mine: bool


def said(service: Blog, caller: Caller, comment_id: str) -> Said:
    found = service.threads.find(comment_id)
    post = service.db.one(d.post(found.post_id))
    return Said(found.author_id, post.status, post.author_id == caller.id)
