"""Comments on posts, their replies, and the tombstones of deleted comments."""

from contextlib import suppress
from datetime import datetime

from partita import Condition, ConditionFailed, F, Get, InvalidValue, NotFound, ReferenceMissing, Store
from partita_systems.blog import design as d
from partita_systems.blog.visibility import while_published
from partita_systems.conditions import both, counter_is
from partita_systems.errors import NotPublished
from partita_systems.service_base import ServiceBase


class Comments(ServiceBase):
    """Comments and replies are found by id in an index, which may lag: a new comment may not be found at once."""

    def add(self, post_id: str, author_id: str, content: str) -> d.Comment:
        comment = d.Comment(
            post_id=post_id, comment_id=self.new_id("c"), author_id=author_id, content=checked_content(content)
        )
        with while_published(self.db, post_id) as transaction:
            return transaction.create(comment)

    def reply(self, comment_id: str, author_id: str, content: str) -> d.Reply:
        """Reply to a comment or to a reply. Threads have two levels; `answers` is the id that was replied to."""
        target = self.find(comment_id)
        try:
            return self._reply(target, author_id, content)
        except NotPublished:
            raise
        except (ConditionFailed, ReferenceMissing):
            # The comment was deleted, or other code stored it under an old key.
            return self._reply(self.find_in_table(comment_id), author_id, content)

    def _reply(self, target: d.Comment | d.Reply, author_id: str, content: str) -> d.Reply:
        with while_published(self.db, target.post_id) as transaction:
            if isinstance(target, d.Comment):
                transaction.check(_comment_key(target), d.NOT_DELETED)
            reply = d.Reply(
                post_id=target.post_id,
                parent_id=target.comment_id if isinstance(target, d.Comment) else target.parent_id,
                parent_created_at=self._root_created_at(target),
                reply_id=self.new_id("r"),
                answers=target.comment_id if isinstance(target, d.Comment) else target.reply_id,
                author_id=author_id,
                content=checked_content(content),
            )
            return transaction.create(reply)

    def find(self, comment_id: str) -> d.Comment | d.Reply:
        """A comment or reply by id, read from an index; raises NotFound for a deleted one."""
        found = self.db(d.comment_by_id(comment_id)).one()
        if found is None or (isinstance(found, d.Comment) and found.deleted_at is not None):
            raise NotFound(d.Comment.__name__, {"comment_id": comment_id})
        return found

    def find_in_table(self, comment_id: str) -> d.Comment | d.Reply:
        """The current comment or reply, read from the table; an item under an old key moves to the current one."""
        found = self.find(comment_id)
        same_text = F.content.is_absent() if found.content is None else F.content == found.content
        with suppress(ConditionFailed):  # edited meanwhile, which has moved it
            if isinstance(found, d.Reply):
                with self.db.change(_reply_key(found), when=same_text) as reply:
                    reply.content = found.content
            else:
                with self.db.change(_comment_key(found), when=same_text) as comment:
                    comment.content = found.content
        if isinstance(found, d.Reply):
            return self.db.one(_reply_key(found), consistent=True)
        return self.db.one(_comment_key(found), consistent=True)

    def edit(self, comment_id: str, content: str, when: Condition | None = None) -> d.Comment | d.Reply:
        """Replace the text; returns the comment or reply after the edit."""
        found = self.find(comment_id)
        if isinstance(found, d.Reply):
            with self.db.change(_reply_key(found), when=when) as reply:
                reply.content = checked_content(content)
            return self.db.one(_reply_key(found), consistent=True)
        with self.db.change(_comment_key(found), when=both(d.NOT_DELETED, when)) as comment:
            comment.content = checked_content(content)
        return self.db.one(_comment_key(found), consistent=True)

    def delete(self, comment_id: str, when: Condition | None = None) -> None:
        """Delete a comment or reply. A comment that has replies becomes a tombstone without its author and text."""
        found = self.find(comment_id)
        if isinstance(found, d.Reply):
            self._delete(found, when)
            return
        with suppress(ConditionFailed):
            if not self._has_replies(found):
                no_replies = F.created_at.exists() & counter_is("reply_count", found.reply_count)
                self._delete(found, both(no_replies, when))
                return
        try:
            with self.db.change(_comment_key(found), when=both(d.NOT_DELETED, when)) as tombstone:
                tombstone.author_id = None
                tombstone.content = None
                tombstone.deleted_at = self.now()
        except ConditionFailed:
            self.find(comment_id)  # raises NotFound if it was deleted in the meantime
            raise

    def _has_replies(self, comment: d.Comment) -> bool:
        """By a query as well: other code does not count replies."""
        thread = self.db(d.comment_with_replies(comment.post_id, comment.comment_id), consistent=True)
        return comment.reply_count > 0 or any(isinstance(each, d.Reply) for each in thread.first(2))

    def _delete(self, found: d.Comment | d.Reply, when: Condition | None) -> None:
        if self.db.delete(found, when=when) is None:
            raise NotFound(type(found).__name__, {"post_id": found.post_id})

    def _root_created_at(self, target: d.Comment | d.Reply) -> datetime | None:
        """The creation time of the comment at the root of the thread; replies of other code do not store it."""
        if isinstance(target, d.Comment):
            return target.created_at
        if target.parent_created_at is not None:
            return target.parent_created_at
        root = root_of(self.db, target)
        return None if root is None else root.created_at


def root_of(db: Store, reply: d.Reply) -> d.Comment | None:
    """The comment that a reply belongs to. Replies of other code may sort before it, by ids that begin with a digit."""
    thread = db(d.comment_with_replies(reply.post_id, reply.parent_id), consistent=True)
    return next((each for each in thread if isinstance(each, d.Comment)), None)


def _comment_key(comment: d.Comment) -> Get[d.Comment]:
    return d.comment(comment.post_id, comment.comment_id, comment.created_at)


def _reply_key(reply: d.Reply) -> Get[d.Reply]:
    return d.reply(reply.post_id, reply.parent_id, reply.reply_id, reply.created_at)


def checked_content(content: str) -> str:
    """The text, or InvalidValue if it is blank."""
    if not content.strip():
        raise InvalidValue("Comment", "must not be blank", "content")
    return content
