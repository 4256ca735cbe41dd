"""The blog over HTTP: the token's groups decide who may write, publish and moderate."""

from msgspec import UNSET

from partita import NotFound, Page
from partita.rest import Api, Caller, IfMatch, PageSize, anyone, group, myself, owner, shown, signed_in
from partita.systems.blog import bodies as b
from partita.systems.blog import design as d
from partita.systems.blog.service import Blog

admin = group("ADMIN")
moderators = group("EDITOR") | admin
writers = group("AUTHOR") | moderators
author = owner("author_id")
readers = shown("a published post", lambda post: post.status == d.PostStatus.PUBLISHED)

api = Api("blog", "Blog", Blog, "Posts in a tree of categories, threads under them, likes, bookmarks.")


# Users


@api.post("/users", who=signed_in, location="/users/{cognito_sub}")
def register(service: Blog, caller: Caller, profile: b.Profile) -> d.User:
    """Make your profile; the token says who you are, and its groups give the role."""
    return service.register(caller.name, profile.name, groups=caller.groups, bio=profile.bio)


api.reads("/users/{cognito_sub}", d.profile)
api.changes("/users/{cognito_sub}", d.profile, "name", "bio", who=myself("cognito_sub"))
api.deletes("/users/{cognito_sub}", d.profile, who=myself("cognito_sub") | admin)
api.lists("/roles/{role}/users", d.users_by_role, who=moderators)


@api.put("/users/{cognito_sub}/role", who=admin)
def assign_role(service: Blog, cognito_sub: str, new: b.NewRole) -> None:
    """What the profile shows; what somebody may do, their token says."""
    service.assign_role(cognito_sub, new.role)


api.lists("/users/{author_id}/posts", d.posts_of_author)
api.lists("/users/{author_id}/drafts", d.drafts_of_author, who=myself("author_id") | moderators)
api.lists("/users/{author_id}/comments", d.comments_of_user)
api.lists("/users/{user_id}/likes", d.likes_of_user)


# Posts


@api.post("/posts", who=writers, location="/posts/{post_id}")
def write(service: Blog, caller: Caller, new: b.NewPost) -> d.Post:
    """A new draft, which its author alone finds."""
    return service.write(
        caller.name,
        new.title,
        new.content,
        subcategory_id=new.subcategory_id,
        summary=new.summary,
        tags=new.tags,
    )


api.reads("/posts/{post_id}", d.post, who=readers | author | moderators)


@api.get("/posts/{post_id}/text", who=readers | author | moderators, of=d.post)
def text(service: Blog, post_id: str) -> d.PostText:
    """What the post says."""
    return service.db.one(d.post_text(post_id))


@api.patch("/posts/{post_id}", who=(author & writers) | moderators, of=d.post)
def edit(service: Blog, post_id: str, change: b.ChangedPost, match: IfMatch) -> d.Post:
    """Change what is given; a published post moves with its category."""
    service.edit(
        post_id,
        title=change.title or None,
        content=change.content or None,
        subcategory_id=change.subcategory_id or None,
        summary=None if change.summary is UNSET else change.summary,
        tags=None if change.tags is UNSET else change.tags,
        when=match.when(service.db.one(d.post(post_id), consistent=True)),
    )
    return service.db.one(d.post(post_id), consistent=True)


@api.delete("/posts/{post_id}", who=author | moderators, of=d.post)
def remove(service: Blog, post_id: str, match: IfMatch) -> None:
    """The post goes with all that readers left on it."""
    service.remove(post_id, match.when(service.db.one(d.post(post_id), consistent=True)))


@api.put("/posts/{post_id}/publication", who=(author & writers) | moderators, of=d.post)
def publish(service: Blog, post_id: str) -> None:
    """From now on readers find it; it must be in a category."""
    service.publish(post_id)


@api.delete("/posts/{post_id}/publication", who=(author & writers) | moderators, of=d.post)
def unpublish(service: Blog, post_id: str) -> None:
    """It is a draft again; what readers left on it stays."""
    service.unpublish(post_id)


# Threads

api.lists("/posts/{post_id}/comments", d.thread, who=readers | author | moderators, of=d.post)
api.lists(
    "/posts/{post_id}/comments/{comment_id}",
    d.comment_with_replies,
    who=readers | author | moderators,
    of=d.post,
)


def _comment(service: Blog, comment_id: str) -> d.Comment | d.Reply:
    return service.threads.find(comment_id)


@api.post("/posts/{post_id}/comments", who=signed_in, location="/comments/{comment_id}")
def comment(service: Blog, caller: Caller, post_id: str, message: b.Message) -> d.Comment:
    """Say something under a published post."""
    return service.threads.comment(post_id, caller.name, message.content)


@api.post("/comments/{comment_id}/replies", who=signed_in, location="/comments/{reply_id}")
def reply(service: Blog, caller: Caller, comment_id: str, message: b.Message) -> d.Reply:
    """Answer a comment, or an answer to one."""
    return service.threads.reply(comment_id, caller.name, message.content)


@api.get("/comments/{comment_id}")
def one_comment(service: Blog, comment_id: str) -> d.Comment | d.Reply:
    """A comment or a reply."""
    return service.threads.find(comment_id)


@api.patch("/comments/{comment_id}", who=author, of=_comment)
def edit_comment(service: Blog, comment_id: str, message: b.Message) -> None:
    """Say it better."""
    service.threads.edit(comment_id, message.content)


@api.delete("/comments/{comment_id}", who=author | moderators, of=_comment)
def delete_comment(service: Blog, comment_id: str) -> None:
    """It goes; while it has replies its place is kept, without its text."""
    service.threads.delete(comment_id)


# Likes and bookmarks

api.lists("/posts/{post_id}/likes", d.likes_of_post)
api.reads("/posts/{post_id}/likes/{user_id}", d.has_liked)


@api.put("/posts/{post_id}/likes/{user_id}", who=myself("user_id"))
def like(service: Blog, user_id: str, post_id: str) -> None:
    """Like a published post; twice is once."""
    service.like(user_id, post_id)


@api.delete("/posts/{post_id}/likes/{user_id}", who=myself("user_id"))
def unlike(service: Blog, user_id: str, post_id: str) -> None:
    """Take the like back."""
    service.unlike(user_id, post_id)


api.lists("/posts/{post_id}/bookmarks", d.bookmarks_of_post, who=author | moderators, of=d.post)
api.lists("/users/{user_id}/bookmarks", d.bookmarks_of_user, who=myself("user_id"))
api.reads("/users/{user_id}/bookmarks/{post_id}", d.has_bookmarked, who=myself("user_id"))


@api.put("/users/{user_id}/bookmarks/{post_id}", who=myself("user_id"))
def keep(service: Blog, user_id: str, post_id: str) -> None:
    """Keep a published post; twice is once."""
    service.bookmark(user_id, post_id)


@api.delete("/users/{user_id}/bookmarks/{post_id}", who=myself("user_id"))
def let_go(service: Blog, user_id: str, post_id: str) -> None:
    """Take the bookmark out."""
    service.unbookmark(user_id, post_id)


# Categories

api.lists("/categories", d.root_categories)
api.reads("/categories/{category_id}", d.category)
api.lists("/categories/{parent_id}/subcategories", d.subcategories)
api.lists("/categories/{subcategory_id}/posts", d.posts_by_category)
api.changes("/categories/{category_id}", d.category, "name", who=moderators)


@api.get("/categories/{category_id}/all-posts", who=anyone)
def posts_below(service: Blog, category_id: str, limit: PageSize = 20, cursor: str | None = None) -> Page[d.Post]:
    """The newest posts of a category and of its subcategories."""
    return service.categories.posts(category_id, limit, cursor)


@api.post("/categories", who=moderators, location="/categories/{category_id}")
def add_category(service: Blog, new: b.NewCategory) -> d.Category:
    """A new category, last among its siblings."""
    return service.categories.add(new.name, new.parent_id)


@api.put("/categories/{category_id}/place", who=moderators)
def move_category(service: Blog, category_id: str, place: b.CategoryPlace) -> None:
    """Under another root, or out to the roots."""
    service.categories.move(category_id, place.parent_id)


@api.put("/category-order", who=moderators)
def reorder(service: Blog, order: b.CategoryOrder) -> None:
    """Put all roots, or all subcategories of one, into this order."""
    service.categories.reorder(order.parent_id, order.category_ids)


@api.delete("/categories/{category_id}", who=moderators)
def remove_category(service: Blog, category_id: str) -> None:
    """An empty category goes."""
    service.categories.remove(category_id)


# Notifications

api.lists("/users/{user_id}/notifications", d.notifications, who=myself("user_id"))


@api.post("/users/{user_id}/notifications", who=admin, status=201)
def notify(service: Blog, user_id: str, new: b.NewNotification) -> d.Notification:
    """Tell somebody; likes, comments and replies tell by themselves."""
    return service.notify(user_id, new.type, new.actor_id, new.post_id, new.comment_id)


@api.put("/users/{user_id}/notifications/{notification_id}/read", who=myself("user_id"))
def mark_read(service: Blog, user_id: str, notification_id: str) -> None:
    """It has been seen."""
    service.mark_read(user_id, notification_id)


@api.delete("/users/{user_id}/notifications/{notification_id}", who=myself("user_id"))
def forget(service: Blog, user_id: str, notification_id: str) -> None:
    """It is gone."""
    found = service.db(d.notification_by_id(user_id, notification_id)).one()
    if found is None:
        raise NotFound(d.Notification.__name__, notification_id)
    service.db.delete(found)


api.tries(open="/categories", signed="/roles/AUTHOR/users")
