"""Access rules of the blog, by the groups of the token and the status of the post.

Comments and likes are visible to everyone who may see their post. While a post is unpublished, those are its author
and the moderators. Users always see and delete their own comments, likes and bookmarks.
"""

from typing import NamedTuple

from partita.rest import Caller, allowed_if, group, owned_by, public_if
from partita_systems.blog import design as d
from partita_systems.blog.service import Blog

admin = group("ADMIN")
moderators = group("EDITOR") | admin
writers = group("AUTHOR") | moderators
machines = group("MACHINE") | admin  # consumers of the stream
author = owned_by("author_id")
post_author = allowed_if("the author of its post", lambda comment: comment.on_own_post)
readers = public_if("a published post", lambda post: post.status == d.PostStatus.PUBLISHED)


def sees_unpublished(caller: Caller, user_id: str) -> bool:
    """Whether the caller may see what a user wrote or liked on unpublished posts."""
    return caller.id == user_id or not caller.groups.isdisjoint({"EDITOR", "ADMIN"})


def whole_post(service: Blog, post_id: str) -> d.Post:
    return service.whole_post(post_id)


class CommentAccess(NamedTuple):
    """The facts about a comment that the rules need: its author, and the status and owner of its post."""

    author_id: str | None
    status: d.PostStatus
    on_own_post: bool


def comment_access(service: Blog, caller: Caller, comment_id: str) -> CommentAccess:
    comment = service.comments.find(comment_id)
    post = service.db.one(d.post(comment.post_id))
    return CommentAccess(comment.author_id, post.status, post.author_id == caller.id)
