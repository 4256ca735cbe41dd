"""The blog service: users, posts from draft to removal, likes, bookmarks and notifications."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from partita import AlreadyExists, Condition, ConditionFailed, F, InvalidValue, NotFound, Store, new_id
from partita_systems.blog import design as d
from partita_systems.blog.categories import Categories
from partita_systems.blog.comments import Comments
from partita_systems.blog.visibility import while_published
from partita_systems.service_base import MakeId, ServiceBase
from partita_systems.unread import Unread, count_unread

WORDS_PER_MINUTE = 200
_NO_BOOKMARKS = F.bookmark_count.is_absent() | (F.bookmark_count <= 0)


class Blog(ServiceBase):
    """Users, posts, likes, bookmarks and notifications; `categories` and `comments` are services of their own."""

    def __init__(self, db: Store, make_id: MakeId = new_id) -> None:
        super().__init__(db, make_id)
        self.categories = Categories(db, make_id)
        self.comments = Comments(db, make_id)

    # Users

    def register(self, user_id: str, name: str, *, groups: Iterable[str] = (), bio: str = "") -> d.User:
        """Create the profile of a Cognito user; the groups of the token decide the role."""
        return self.db.create(d.User(user_id=user_id, name=name, role=role_of(groups), bio=bio))

    def remove_user(self, user_id: str, check: Callable[[d.User], None] = lambda user: None) -> None:
        """Delete a profile and everything that the user did: bookmarks, likes, comments, drafts, notifications.

        A comment that has replies stays as a tombstone. Published posts stay. The profile is marked first and deleted
        last: an interrupted removal is continued by the next call or by `finish_removals`. `check` gets the profile
        first and may raise.
        """

        def mark(user: d.User) -> None:
            check(user)
            user.removing_since = user.removing_since or self.now()

        self.db.update(d.profile(user_id), mark)
        self._remove_marked(user_id)

    def finish_removals(self) -> int:
        """Continue every removal of a user that was interrupted; returns how many there were."""
        listed = [d.profile(user.user_id) for user in self.db(d.removals())]
        users = [user for user in self.existing(listed, consistent=True) if user.removing_since is not None]
        for user in users:  # as the table has them: the index may list a user who has registered again
            self._remove_marked(user.user_id)
        return len(users)

    def _remove_marked(self, user_id: str) -> None:
        for bookmark in self.db(d.stored_bookmarks_of_user(user_id), consistent=True):
            if not self.unbookmark(user_id, bookmark.post_id):  # other code writes no guards
                self.db.delete(bookmark)
        for like in self.db(d.likes_of_user(user_id)):
            if not self.unlike(user_id, like.post_id):
                self.db.delete(like)
        for comment in self.db(d.comments_of_user(user_id)):
            with suppress(NotFound):  # the index lags: it was deleted already
                self.comments.delete(comment.reply_id if isinstance(comment, d.Reply) else comment.comment_id)
        for draft in self.db(d.drafts_of_author(user_id)):
            with suppress(NotFound):
                self.remove(draft.post_id)
        for notification in self.db(d.stored_notifications(user_id), consistent=True):
            self.db.delete(notification)
        with suppress(ConditionFailed):  # another call has finished it
            self.db.delete(d.profile(user_id), when=F.removing_since.exists())

    def change_profile(self, user_id: str, *, name: str | None = None, bio: str | None = None) -> None:
        with self.db.change(d.profile(user_id)) as draft:
            if name is not None:
                draft.name = name
            if bio is not None:
                draft.bio = bio

    def assign_role(self, user_id: str, role: d.Role) -> d.User:
        with self.db.change(d.profile(user_id)) as draft:
            draft.role = role
        return self.db.one(d.profile(user_id), consistent=True)

    # Posts

    def write(
        self,
        author_id: str,
        title: str,
        content: str,
        *,
        subcategory_id: str | None = None,
        summary: str = "",
        tags: Iterable[str] = (),
    ) -> d.Post:
        """Create a draft. Only its author and moderators can see it."""
        post = d.Post(
            post_id=self.new_id("p"),
            author_id=author_id,
            subcategory_id=subcategory_id,
            title=title,
            summary=summary,
            tags=list(tags),
            minutes_to_read=minutes_to_read(content),
        )
        with self.db.transaction() as transaction:
            transaction.create(d.PostText(post_id=post.post_id, content=content))
            return transaction.create(post)

    def edit(
        self,
        post_id: str,
        *,
        title: str | None = None,
        content: str | None = None,
        subcategory_id: str | None = None,
        summary: str | None = None,
        tags: Iterable[str] | None = None,
        when: Condition | None = None,
    ) -> None:
        """Change the given fields; a published post moves to its new category."""
        fields = {
            "title": title,
            "summary": summary,
            "tags": None if tags is None else list(tags),
            "subcategory_id": subcategory_id,
        }
        changes = {name: value for name, value in fields.items() if value is not None}
        try:
            self._edit(post_id, changes, content, when)
        except NotFound as missing:
            if missing.entity != d.PostText.__name__:
                raise
            self._edit(post_id, changes, content, when, text_is_new=True)

    def _edit(
        self,
        post_id: str,
        changes: Mapping[str, Any],
        content: str | None,
        when: Condition | None,
        *,
        text_is_new: bool = False,
    ) -> None:
        with self.db.transaction() as transaction:
            draft = transaction.change(d.post(post_id), when=when)
            for name, value in changes.items():
                setattr(draft, name, value)
            if content is None:
                return
            draft.minutes_to_read = minutes_to_read(content)
            draft.text_version += 1
            draft.content = None
            if text_is_new:
                transaction.create(d.PostText(post_id=post_id, content=content))
            else:
                transaction.change(d.post_text(post_id)).content = content

    def read(self, post_id: str) -> tuple[d.Post, d.PostText]:
        """A post with its text, in one Query. A text that other code stored inside the post takes precedence."""
        match list(self.db(d.whole_post(post_id))):
            case [d.Post(content=str() as content) as post, *_]:
                times = {"created_at": post.created_at, "updated_at": post.updated_at}
                return post, d.PostText(post_id=post_id, content=content, **times)
            case [d.Post() as post, d.PostText() as text]:
                return post, text
            case [d.Post()]:
                raise NotFound(d.PostText.__name__, {"post_id": post_id})
        raise NotFound(d.Post.__name__, {"post_id": post_id})

    def whole_post(self, post_id: str, *, consistent: bool = False) -> d.Post:
        """A post with its text as `content`, in one Query; `content` is None where other code stored no text."""
        match list(self.db(d.whole_post(post_id), consistent=consistent)):
            case [d.Post(content=None) as post, d.PostText() as text]:
                return msgspec.structs.replace(post, content=text.content)
            case [d.Post() as post, *_]:
                return post
        raise NotFound(d.Post.__name__, {"post_id": post_id})

    def publish(self, post_id: str) -> d.Post:
        """Make a draft visible to readers; the time of its first publication is kept."""

        def edit(post: d.Post) -> None:
            _check_not_removing(post)
            if post.subcategory_id is None:
                raise InvalidValue("Post", "required to publish a post", "subcategory_id")
            post.status = d.PostStatus.PUBLISHED
            post.published_at = post.published_at or self.now()

        return self.db.update(d.post(post_id), edit)

    def unpublish(self, post_id: str) -> d.Post:
        """Turn a post into a draft again; its comments, likes and bookmarks are kept."""

        def edit(post: d.Post) -> None:
            _check_not_removing(post)
            post.status = d.PostStatus.DRAFT

        return self.db.update(d.post(post_id), edit)

    def remove(self, post_id: str, when: Condition | None = None) -> None:
        """Delete a post with its comments, likes and bookmarks. Nothing can be added meanwhile; safe to repeat."""
        with self.db.change(d.post(post_id), when=when) as draft:
            draft.status = d.PostStatus.REMOVING
        for _ in self.db.retrying(d.Post.__name__):
            self._delete_reactions(post_id)
            try:
                with self.db.transaction() as transaction:
                    transaction.delete(d.post(post_id), when=_NO_BOOKMARKS)
                    transaction.delete(d.post_text(post_id))
            except ConditionFailed:
                continue  # the index does not list the last bookmark yet
            return

    def _delete_reactions(self, post_id: str) -> None:
        """Delete the comments, likes and bookmarks of a post that accepts no new ones."""
        for bookmark in self.db(d.bookmarks_of_post(post_id)):
            self.db.delete(d.has_bookmarked(bookmark.user_id, post_id))  # guard first: a retry finds the bookmark
            self.db.delete(bookmark)
        for like in self.db(d.likes_of_post(post_id), consistent=True):
            self.db.delete(d.has_liked(like.user_id, post_id))
            self.db.delete(like)
        for reply in self.db(d.thread(post_id), consistent=True):
            if isinstance(reply, d.Reply):
                self.db.delete(reply)
        for comment in self.db(d.thread(post_id), consistent=True):
            self.db.delete(comment)
        for rest in (self.db(d.likes_of_post(post_id), consistent=True), self.db(d.thread(post_id), consistent=True)):
            if rest.one() is not None:
                raise InvalidValue(
                    "Post", "it has likes or comments under keys of other code; adopt the table first", "post_id"
                )

    # Likes and bookmarks

    def like(self, user_id: str, post_id: str) -> bool:
        """Like a post; returns False if the user likes it already."""
        try:
            with while_published(self.db, post_id) as transaction:
                like = transaction.create(d.Like(post_id=post_id, user_id=user_id))
                transaction.create(d.LikeGuard(user_id=user_id, post_id=post_id, created_at=like.created_at))
        except AlreadyExists:
            return False
        return True

    def unlike(self, user_id: str, post_id: str) -> bool:
        """Remove a like; returns False if it does not exist."""
        guard = self.db(d.has_liked(user_id, post_id), consistent=True)
        if guard is None:
            return False
        try:
            with self.db.transaction() as transaction:
                transaction.delete(d.has_liked(user_id, post_id), when=F.created_at == guard.created_at)
                transaction.delete(d.like(post_id, user_id, guard.created_at))
        except ConditionFailed:
            return False
        return True

    def bookmark(self, user_id: str, post_id: str) -> bool:
        """Bookmark a post; returns False if the user has bookmarked it already."""
        try:
            with while_published(self.db, post_id, user_id=user_id) as transaction:
                bookmark = transaction.create(d.Bookmark(user_id=user_id, post_id=post_id))
                transaction.create(d.BookmarkGuard(user_id=user_id, post_id=post_id, created_at=bookmark.created_at))
        except AlreadyExists:
            return False
        return True

    def unbookmark(self, user_id: str, post_id: str) -> bool:
        """Remove a bookmark; returns False if it does not exist."""
        guard = self.db(d.has_bookmarked(user_id, post_id), consistent=True)
        if guard is None:
            return False
        try:
            with self.db.transaction() as transaction:
                transaction.delete(d.has_bookmarked(user_id, post_id), when=F.created_at == guard.created_at)
                transaction.delete(d.bookmark(user_id, post_id, guard.created_at))
        except ConditionFailed:
            return False
        return True

    # Notifications

    def notify(
        self, user_id: str, kind: d.NotificationType, actor_id: str, post_id: str, comment_id: str | None = None
    ) -> d.Notification:
        notification = d.Notification(
            user_id=user_id,
            notification_id=self.new_id("n"),
            type=kind,
            actor_id=actor_id,
            post_id=post_id,
            comment_id=comment_id,
        )
        return self.db.create(notification)

    def notification(self, user_id: str, notification_id: str) -> d.Notification:
        found = self.db(d.notification_by_id(user_id, notification_id), consistent=True).one()
        if found is None:
            raise NotFound(d.Notification.__name__, {"notification_id": notification_id})
        return found

    def mark_read(self, user_id: str, notification_id: str, *, read: bool = True) -> d.Notification:
        found = self.notification(user_id, notification_id)
        with self.db.change(d.notification(user_id, notification_id, found.created_at)) as draft:
            draft.read = read
        return self.notification(user_id, notification_id)

    def mark_all_read(self, user_id: str) -> None:
        """Mark all unread notifications as read, one write each; a repeated call continues an interrupted one."""
        for each in self.db(d.unread_notifications(user_id)):
            with (
                suppress(NotFound),
                self.db.change(d.notification(user_id, each.notification_id, each.created_at)) as draft,
            ):
                draft.read = True

    def unread(self, user_id: str) -> Unread:
        """The number of unread notifications, counted up to 100: one Query."""
        return count_unread(self.db, d.unread_notifications(user_id))


def _check_not_removing(post: d.Post) -> None:
    if post.status == d.PostStatus.REMOVING:
        raise NotFound(d.Post.__name__, {"post_id": post.post_id})


def role_of(groups: Iterable[str]) -> d.Role:
    """The strongest role among the groups of a token; READER without any."""
    ranks = [each for each in d.Role if each.value in set(groups)]
    return ranks[-1] if ranks else d.Role.READER


def minutes_to_read(content: str) -> int:
    """The reading time of a text in minutes, at least 1."""
    return max(1, round(len(content.split()) / WORDS_PER_MINUTE))
