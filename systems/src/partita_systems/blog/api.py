"""The HTTP API of the blog; the groups of the token decide who may write, publish and moderate."""

from typing import Annotated, TypeVar

from msgspec import UNSET, UnsetType

from partita import NotFound, Page
from partita.rest import CALLER, Api, Caller, FoundEntity, IfMatch, PageSize, Related, anyone, caller_is, signed_in
from partita_systems.blog import bodies as b
from partita_systems.blog import design as d
from partita_systems.blog.access import (
    admin,
    author,
    comment_access,
    machines,
    moderators,
    post_author,
    readers,
    sees_unpublished,
    whole_post,
    writers,
)
from partita_systems.blog.service import Blog
from partita_systems.blog.visibility import without_unpublished
from partita_systems.unread import Unread

T = TypeVar("T")
PROFILE = ("user_id", "name")
AUTHOR = Related("author", d.profile, PROFILE, user_id="author_id")
LIKER = Related("user", d.profile, PROFILE, user_id="user_id")
ACTOR = Related("actor", d.profile, PROFILE, user_id="actor_id")
POST = Related(
    "post",
    d.post,
    ("post_id", "title", "summary", "author_id", "status", "published_at"),
    who=readers | author | moderators,
    post_id="post_id",
)
OWN_LIKE = Related("ownLike", d.has_liked, ("created_at",), user_id=CALLER, post_id="post_id")
ON_POSTS = (AUTHOR, OWN_LIKE)

POPULAR = "public, max-age=10"  # lists that everyone reads: a shared cache may answer for ten seconds

api = Api(
    "blog", "Blog", d.design, service=Blog, about="Posts in a tree of categories, with comments, likes and bookmarks."
)


# Users


api.expose_me(d.profile, register="POST /users")


@api.post("/users", who=signed_in, location="/users/{user_id}")
def register(service: Blog, caller: Caller, profile: b.Profile) -> d.User:
    """Create the caller's profile; the groups of the token give the role."""
    return service.register(caller.name, profile.name, groups=caller.groups, bio=profile.bio)


api.expose_get_many("/users/by-id", d.profile, name="users_by_id")
api.expose_get("/users/{user_id}", d.profile)
api.expose_patch("/users/{user_id}", d.profile, "name", "bio", who=caller_is("user_id"))
api.expose_list("/roles/{role}/users", d.users_by_role, who=moderators)


@api.delete("/users/{user_id}", who=caller_is("user_id") | admin)
def remove_user(service: Blog, user_id: str, match: IfMatch) -> None:
    """Delete a user with drafts, comments, likes, bookmarks and notifications; published posts stay.

    A comment that has replies keeps its place without its author and text.
    """
    service.remove_user(user_id, match.check)


api.background_job(Blog.finish_removals, every=60)


@api.put("/users/{user_id}/role", who=admin)
def assign_role(service: Blog, user_id: str, new: b.NewRole) -> d.User:
    """Set the role that the profile shows; permissions come from the groups of the token."""
    return service.assign_role(user_id, new.role)


api.expose_list("/users/{user_id}/posts", d.posts_of_author, include=ON_POSTS)
api.expose_list("/users/{user_id}/drafts", d.drafts_of_author, who=caller_is("user_id") | moderators)


@api.get("/users/{user_id}/comments", cache="private, no-cache", include=[POST])
def comments_of_user(
    service: Blog, caller: Caller, user_id: str, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.Comment | d.Reply]:
    """List the comments and replies of a user, newest first.

    Those on unpublished posts are left out, except for the user and moderators: a page may be shorter than its limit.
    """
    page = service.db(d.comments_of_user(user_id)).page(limit, cursor)
    return page if sees_unpublished(caller, user_id) else without_unpublished(service.db, page)


@api.get("/users/{user_id}/likes", cache="private, no-cache", include=[POST])
def likes_of_user(
    service: Blog, caller: Caller, user_id: str, limit: PageSize = 20, cursor: str | None = None
) -> Page[d.Like]:
    """List the likes of a user, newest first; unpublished posts are left out as for comments."""
    page = service.db(d.likes_of_user(user_id)).page(limit, cursor)
    return page if sees_unpublished(caller, user_id) else without_unpublished(service.db, page)


# Posts


@api.post("/posts", who=writers, location="/posts/{post_id}")
def create_draft(service: Blog, caller: Caller, new: b.NewPost) -> d.Post:
    """Create a draft. Only its author and moderators can see it."""
    post = service.write(
        caller.name,
        new.title,
        new.content,
        subcategory_id=new.subcategory_id,
        summary=new.summary,
        tags=new.tags,
    )
    return service.whole_post(post.post_id, consistent=True)


api.expose_get_many("/posts/by-id", d.post, who=readers | author | moderators, name="posts_by_id")


@api.get("/posts/{post_id}", who=readers | author | moderators, on=whole_post)
def post(service: Blog, post_id: str, found: Annotated[d.Post, FoundEntity()]) -> d.Post:
    """Get a post with its text as `content`; lists leave the text out."""
    return found


@api.patch("/posts/{post_id}", who=(author & writers) | moderators, on=d.post)
def edit_post(service: Blog, post_id: str, change: b.ChangedPost, match: IfMatch) -> d.Post:
    """Change the given fields; a published post moves to its new category."""
    service.edit(
        post_id,
        title=_or_none(change.title),
        content=_or_none(change.content),
        subcategory_id=_or_none(change.subcategory_id),
        summary=_or_none(change.summary),
        tags=_or_none(change.tags),
        when=match.when(service.db.one(d.post(post_id), consistent=True)),
    )
    return service.whole_post(post_id, consistent=True)


def _or_none(value: T | UnsetType) -> T | None:
    return None if value is UNSET else value


@api.delete("/posts/{post_id}", who=author | moderators, on=d.post)
def remove_post(service: Blog, post_id: str, match: IfMatch) -> None:
    """Delete a post with its comments, likes and bookmarks."""
    service.remove(post_id, match.when(service.db.one(d.post(post_id), consistent=True)))


@api.put("/posts/{post_id}/publication", who=(author & writers) | moderators, on=d.post)
def publish(service: Blog, post_id: str) -> d.Post:
    """Publish a draft; it must have a category."""
    service.publish(post_id)
    return service.whole_post(post_id, consistent=True)


@api.delete("/posts/{post_id}/publication", who=(author & writers) | moderators, on=d.post)
def unpublish(service: Blog, post_id: str) -> d.Post:
    """Turn a post into a draft again; its comments, likes and bookmarks are kept."""
    service.unpublish(post_id)
    return service.whole_post(post_id, consistent=True)


# Comments

api.expose_list("/posts/{post_id}/comments", d.thread, who=readers | author | moderators, on=d.post, include=[AUTHOR])
api.expose_list(
    "/posts/{post_id}/comments/{comment_id}",
    d.comment_with_replies,
    who=readers | author | moderators,
    on=d.post,
    include=[AUTHOR],
)


@api.post("/posts/{post_id}/comments", who=signed_in, location="/comments/{comment_id}")
def add_comment(service: Blog, caller: Caller, post_id: str, message: b.Message) -> d.Comment:
    """Comment on a published post."""
    return service.comments.add(post_id, caller.name, message.content)


@api.post("/comments/{comment_id}/replies", who=signed_in, location="/comments/{reply_id}")
def reply(service: Blog, caller: Caller, comment_id: str, message: b.Message) -> d.Reply:
    """Reply to a comment or to a reply."""
    return service.comments.reply(comment_id, caller.name, message.content)


@api.get("/comments/{comment_id}", who=readers | author | post_author | moderators, on=comment_access)
def comment(service: Blog, comment_id: str) -> d.Comment | d.Reply:
    """Get a comment or a reply."""
    return service.comments.find(comment_id)


@api.patch("/comments/{comment_id}", who=author, on=comment_access)
def edit_comment(service: Blog, comment_id: str, message: b.Message, match: IfMatch) -> d.Comment | d.Reply:
    """Change the text of a comment or reply."""
    return service.comments.edit(comment_id, message.content, match.when(service.comments.find_in_table(comment_id)))


@api.delete("/comments/{comment_id}", who=author | moderators, on=comment_access)
def delete_comment(service: Blog, comment_id: str, match: IfMatch) -> None:
    """Delete a comment or reply; a comment that has replies stays as a tombstone without its text."""
    service.comments.delete(comment_id, match.when(service.comments.find_in_table(comment_id)))


# Likes and bookmarks

api.expose_list(
    "/posts/{post_id}/likes", d.likes_of_post, who=readers | author | moderators, on=d.post, include=[LIKER]
)


@api.get("/posts/{post_id}/likes/{user_id}", who=readers | caller_is("user_id") | author | moderators, on=d.post)
def has_liked(service: Blog, user_id: str, post_id: str) -> b.UserLike:
    """Find out whether a user likes a post; 404 if not."""
    found = service.db(d.has_liked(user_id, post_id))
    if found is None:
        raise NotFound(d.Like.__name__, {"post_id": post_id, "user_id": user_id})
    return b.UserLike(post_id, user_id, found.created_at)


@api.put("/posts/{post_id}/likes/{user_id}", who=caller_is("user_id"))
def like(service: Blog, user_id: str, post_id: str) -> b.LikeState:
    """Like a published post; repeating it changes nothing."""
    service.like(user_id, post_id)
    return b.LikeState(post_id, True, service.db.one(d.post(post_id), consistent=True).like_count)


@api.delete("/posts/{post_id}/likes/{user_id}", who=caller_is("user_id"))
def unlike(service: Blog, user_id: str, post_id: str) -> b.LikeState:
    """Remove a like; 404 if it does not exist."""
    service.unlike(user_id, post_id)
    return b.LikeState(post_id, False, service.db.one(d.post(post_id), consistent=True).like_count)


api.expose_list("/posts/{post_id}/bookmarks", d.bookmarks_of_post, who=author | moderators, on=d.post, include=[LIKER])
api.expose_list("/users/{user_id}/bookmarks", d.bookmarks_of_user, who=caller_is("user_id"), include=[POST])


@api.get("/users/{user_id}/bookmarks/{post_id}", who=caller_is("user_id"))
def has_bookmarked(service: Blog, user_id: str, post_id: str) -> b.UserBookmark:
    """Find out whether the caller has bookmarked a post; 404 if not."""
    found = service.db(d.has_bookmarked(user_id, post_id))
    if found is None:
        raise NotFound(d.Bookmark.__name__, {"user_id": user_id, "post_id": post_id})
    return b.UserBookmark(user_id, post_id, found.created_at)


@api.put("/users/{user_id}/bookmarks/{post_id}", who=caller_is("user_id"))
def bookmark(service: Blog, user_id: str, post_id: str) -> b.BookmarkState:
    """Bookmark a published post; repeating it changes nothing."""
    service.bookmark(user_id, post_id)
    return b.BookmarkState(post_id, True, service.db.one(d.post(post_id), consistent=True).bookmark_count)


@api.delete("/users/{user_id}/bookmarks/{post_id}", who=caller_is("user_id"))
def unbookmark(service: Blog, user_id: str, post_id: str) -> b.BookmarkState:
    """Remove a bookmark; 404 if it does not exist."""
    service.unbookmark(user_id, post_id)
    return b.BookmarkState(post_id, False, service.db.one(d.post(post_id), consistent=True).bookmark_count)


# Categories

api.expose_list("/categories", d.root_categories, cache=POPULAR)
api.expose_get("/categories/{category_id}", d.category)
api.expose_list("/categories/{category_id}/subcategories", d.subcategories, cache=POPULAR)
api.expose_list("/categories/{category_id}/posts", d.posts_by_category, cache=POPULAR, include=ON_POSTS)
api.expose_patch("/categories/{category_id}", d.category, "name", who=moderators)


@api.get("/categories/{category_id}/all-posts", who=anyone, cache=POPULAR, include=ON_POSTS)
def posts_of_category_tree(
    service: Blog, category_id: str, limit: PageSize = 10, cursor: str | None = None
) -> Page[d.Post]:
    """List the newest posts of a category and its subcategories."""
    return service.categories.posts(category_id, limit, cursor)


@api.post("/categories", who=moderators, location="/categories/{category_id}")
def add_category(service: Blog, new: b.NewCategory) -> d.Category:
    """Create a category, last among its siblings."""
    return service.categories.add(new.name, new.parent_id)


@api.put("/categories/{category_id}/place", who=moderators)
def move_category(service: Blog, category_id: str, place: b.CategoryPlace) -> d.Category:
    """Move a category under another root, or make it a root."""
    return service.categories.move(category_id, place.parent_id)


@api.put("/category-order", who=moderators)
def reorder_categories(service: Blog, order: b.CategoryOrder) -> b.CategoryList:
    """Set the order of all root categories, or of all subcategories of one root."""
    return b.CategoryList(service.categories.reorder(order.parent_id, order.category_ids))


@api.delete("/categories/{category_id}", who=moderators)
def remove_category(service: Blog, category_id: str, match: IfMatch) -> None:
    """Delete an empty category."""
    service.categories.remove(category_id, match.check)


# Notifications

api.expose_list("/users/{user_id}/notifications", d.notifications, who=caller_is("user_id"), include=[ACTOR, POST])
api.expose_events("/users/{user_id}/notifications/events", d.Notification, who=caller_is("user_id"))


@api.get("/users/{user_id}/notifications/{notification_id}", who=caller_is("user_id"))
def notification(service: Blog, user_id: str, notification_id: str) -> d.Notification:
    """Get a notification."""
    return service.notification(user_id, notification_id)


@api.post(
    "/users/{user_id}/notifications",
    who=machines,
    location="/users/{user_id}/notifications/{notification_id}",
)
def notify(service: Blog, user_id: str, new: b.NewNotification) -> d.Notification:
    """Create a notification; the consumer of the stream does so for likes, comments and replies."""
    return service.notify(user_id, new.type, new.actor_id, new.post_id, new.comment_id)


@api.patch("/users/{user_id}/notifications/{notification_id}", who=caller_is("user_id"))
def change_notification(
    service: Blog, user_id: str, notification_id: str, change: b.ChangedNotification, match: IfMatch
) -> d.Notification:
    """Mark a notification as read or unread."""
    match.check(service.notification(user_id, notification_id))
    return service.mark_read(user_id, notification_id, read=change.read)


@api.put("/users/{user_id}/notifications/{notification_id}/read", who=caller_is("user_id"))
def mark_read(service: Blog, user_id: str, notification_id: str) -> d.Notification:
    """Mark a notification as read."""
    return service.mark_read(user_id, notification_id)


api.expose_list(
    "/users/{user_id}/unread-notifications", d.unread_notifications, who=caller_is("user_id"), include=[ACTOR, POST]
)


@api.get("/users/{user_id}/notifications/unread", who=caller_is("user_id"))
def unread_count(service: Blog, user_id: str) -> Unread:
    """Count the unread notifications, up to 100."""
    return service.unread(user_id)


@api.put("/users/{user_id}/notifications/read", who=caller_is("user_id"))
def mark_all_read(service: Blog, user_id: str) -> Unread:
    """Mark all notifications as read; returns how many are unread now."""
    service.mark_all_read(user_id)
    return service.unread(user_id)


@api.delete("/users/{user_id}/notifications/{notification_id}", who=caller_is("user_id"))
def delete_notification(service: Blog, user_id: str, notification_id: str, match: IfMatch) -> None:
    """Delete a notification."""
    found = service.notification(user_id, notification_id)
    if service.db.delete(found, when=match.when(found)) is None:
        raise NotFound(d.Notification.__name__, {"notification_id": notification_id})


api.examples(anonymous="/categories", signed_in="/roles/AUTHOR/users")
