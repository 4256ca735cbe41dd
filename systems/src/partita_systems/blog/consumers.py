"""Reactions to changes of the blog: likes, comments and replies notify their authors.

A notification has the time of its cause, and an id that follows from the cause. So a like that is withdrawn takes its
notification along, and changes that are handled again create no second one.
"""

from partita import Change, Consumer, Created, Deleted, HandlerTransaction
from partita_systems.blog import design as d
from partita_systems.service_base import derived_id

notifications = Consumer("blog-notifications")


@notifications.on(d.Like)
def on_like(change: Change[d.Like], t: HandlerTransaction) -> None:
    """The author of a post learns who likes it."""
    like = change.before if isinstance(change, Deleted) else change.after
    if author := _author_of_post(t, like.post_id):
        notification = d.Notification(
            user_id=author,
            notification_id=derived_id("n", like.created_at, "like", like.post_id, like.user_id),
            type=d.NotificationType.LIKE,
            actor_id=like.user_id,
            post_id=like.post_id,
            created_at=like.created_at,
        )
        _keep(t, notification, exists=not isinstance(change, Deleted))


@notifications.on(d.Comment)
def on_comment(change: Change[d.Comment], t: HandlerTransaction) -> None:
    """The author of a post learns of comments. A deleted comment takes its notification along."""
    if isinstance(change, Created):
        comment, exists = change.after, True
    elif change.stopped(d.NOT_DELETED):
        comment, exists = change.before, False
    else:
        return
    if author := _author_of_post(t, comment.post_id):
        _keep(t, _about_comment(author, d.NotificationType.COMMENT, comment), exists=exists)


@notifications.on(d.Reply)
def on_reply(change: Change[d.Reply], t: HandlerTransaction) -> None:
    """The author of what was replied to learns of the reply, and the author of the post of another comment."""
    if isinstance(change, Created):
        reply, exists = change.after, True
    elif isinstance(change, Deleted):
        reply, exists = change.before, False
    else:
        return
    answered = _author_of_comment(t, reply.answers or reply.parent_id)
    if answered:
        _keep(t, _about_comment(answered, d.NotificationType.REPLY, reply), exists=exists)
    author = _author_of_post(t, reply.post_id)
    if author and author != answered:
        _keep(t, _about_comment(author, d.NotificationType.COMMENT, reply), exists=exists)


def _about_comment(user_id: str, kind: d.NotificationType, comment: d.Comment | d.Reply) -> d.Notification:
    comment_id = comment.reply_id if isinstance(comment, d.Reply) else comment.comment_id
    return d.Notification(
        user_id=user_id,
        notification_id=derived_id("n", comment.created_at, kind.value, comment_id),
        type=kind,
        actor_id=comment.author_id or "",
        post_id=comment.post_id,
        comment_id=comment_id,
        created_at=comment.created_at,
    )


def _keep(t: HandlerTransaction, notification: d.Notification, *, exists: bool) -> None:
    """Create or delete a notification; nobody is notified of their own doings, or after their account was deleted."""
    if notification.actor_id in ("", notification.user_id):
        return
    key = d.notification(notification.user_id, notification.notification_id, notification.created_at)
    found = t.get(key)
    if found and not exists:
        t.delete(key)
    if found or not exists:
        return
    recipient = t.get(d.profile(notification.user_id))
    if recipient and recipient.removing_since is None:
        t.create(notification)


def _author_of_post(t: HandlerTransaction, post_id: str) -> str | None:
    """The author never changes, so the post is not fenced: a popular one changes with every like."""
    post = t.get(d.post(post_id), fenced=False)
    return None if post is None else post.author_id


def _author_of_comment(t: HandlerTransaction, comment_id: str) -> str | None:
    return next((each.author_id for each in t.find(d.comment_by_id(comment_id), 1, fenced=False)), None)
