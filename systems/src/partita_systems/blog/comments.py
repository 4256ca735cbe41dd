"""What readers write under a post: comments, replies to them, and what is left when one is deleted."""

from contextlib import suppress
from datetime import datetime

from partita import Condition, ConditionFailed, F, Get, InvalidValue, NotFound, ReferenceMissing
from partita_systems.blog import design as d
from partita_systems.blog.visibility import counter_is, on_published
from partita_systems.service_base import ServiceBase


class Threads(ServiceBase):
    """Comments and replies are found by id in an index, so a reader sees a comment a moment after it was written."""

    def comment(self, post_id: str, author_id: str, content: str) -> d.Comment:
        comment = d.Comment(post_id=post_id, comment_id=self.new_id("c"), author_id=author_id, content=written(content))
        with on_published(self.db, post_id) as transaction:
            return transaction.create(comment)

    def reply(self, comment_id: str, author_id: str, content: str) -> d.Reply:
        """An answer to a comment or to a reply; the thread stays two levels deep and `answers` says to whom."""
        target = self.find(comment_id)
        try:
            return self._reply(target, author_id, content)
        except (ConditionFailed, ReferenceMissing):
            # The comment is deleted, or other code wrote it under a key of its own.
            return self._reply(self.stored(comment_id), author_id, content)

    def _reply(self, target: d.Comment | d.Reply, author_id: str, content: str) -> d.Reply:
        with on_published(self.db, target.post_id) as transaction:
            if isinstance(target, d.Comment):
                transaction.check(_comment(target), d.ALIVE)
            reply = d.Reply(
                post_id=target.post_id,
                parent_id=target.comment_id if isinstance(target, d.Comment) else target.parent_id,
                parent_created_at=self._root_time(target),
                reply_id=self.new_id("r"),
                answers=target.comment_id if isinstance(target, d.Comment) else target.reply_id,
                author_id=author_id,
                content=written(content),
            )
            return transaction.create(reply)

    def find(self, comment_id: str) -> d.Comment | d.Reply:
        """A comment or reply that is not deleted."""
        found = self.db(d.comment_by_id(comment_id)).one()
        if found is None or found.content is None:
            raise NotFound(d.Comment.__name__, comment_id)
        return found

    def stored(self, comment_id: str) -> d.Comment | d.Reply:
        """The same, as it is this moment; one of other code is brought under our key."""
        found = self.find(comment_id)
        if isinstance(found, d.Reply):
            return self.db.update(_reply(found), lambda reply: None)
        return self.db.update(_comment(found), lambda comment: None)

    def edit(self, comment_id: str, content: str, when: Condition | None = None) -> d.Comment | d.Reply:
        """The comment as it is then."""
        found = self.find(comment_id)
        if isinstance(found, d.Reply):
            with self.db.change(_reply(found), when=when) as reply:
                reply.content = written(content)
            return self.db.one(_reply(found), consistent=True)
        with self.db.change(_comment(found), when=_both(d.ALIVE, when)) as comment:
            comment.content = written(content)
        return self.db.one(_comment(found), consistent=True)

    def delete(self, comment_id: str, when: Condition | None = None) -> None:
        """It goes; a comment that has replies stays as a tombstone without its text, in no list of its author's."""
        found = self.find(comment_id)
        if isinstance(found, d.Reply):
            self._delete(found, when)
            return
        with suppress(ConditionFailed):
            if not self._is_answered(found):
                unanswered = F.author_id.exists() & counter_is("reply_count", found.reply_count)
                self._delete(found, _both(unanswered, when))
                return
        try:
            with self.db.change(_comment(found), when=_both(d.ALIVE, when)) as tombstone:
                tombstone.content = None
                tombstone.deleted_at = self.now()
        except ConditionFailed:
            self.find(comment_id)  # or somebody else has deleted it
            raise

    def _is_answered(self, found: d.Comment) -> bool:
        """By what is there: the team's own code has counted no replies."""
        told = self.db(d.comment_with_replies(found.post_id, found.comment_id), consistent=True)
        return found.reply_count > 0 or any(isinstance(each, d.Reply) for each in told.first(2))

    def _delete(self, found: d.Comment | d.Reply, when: Condition | None) -> None:
        if self.db.delete(found, when=when) is None:
            raise NotFound(type(found).__name__, found.post_id)

    def _root_time(self, found: d.Comment | d.Reply) -> datetime | None:
        """When the comment was written that a reply is under; replies of the team's own code do not tell."""
        if isinstance(found, d.Comment):
            return found.created_at
        if found.parent_created_at is not None:
            return found.parent_created_at
        root = self.db(d.comment_with_replies(found.post_id, found.parent_id)).one()
        return root.created_at if isinstance(root, d.Comment) else None


def _comment(found: d.Comment) -> Get[d.Comment]:
    return d.comment(found.post_id, found.comment_id, found.created_at)


def _reply(found: d.Reply) -> Get[d.Reply]:
    return d.reply(found.post_id, found.parent_id, found.reply_id, found.created_at)


def _both(one: Condition, other: Condition | None) -> Condition:
    return one if other is None else one & other


def written(content: str) -> str:
    """A text that says something."""
    if not content.strip():
        raise InvalidValue("Comment.content", "it says nothing")
    return content
