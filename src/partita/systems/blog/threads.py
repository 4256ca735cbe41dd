"""What readers write under a post: comments, replies to them, and what is left when one is deleted."""

from contextlib import suppress

from partita import ConditionFailed, F, NotFound, Store, ValueRefused
from partita.systems.blog import design as d
from partita.systems.blog.ids import Ids
from partita.systems.blog.published import on_published


class Threads:
    """Comments and replies are found by id in an index, so a reader sees a comment a moment after it was written."""

    def __init__(self, db: Store, ids: Ids) -> None:
        self.db = db
        self.ids = ids

    def comment(self, post_id: str, author_id: str, content: str) -> d.Comment:
        comment = d.Comment(post_id=post_id, comment_id=self.ids("c"), author_id=author_id, content=written(content))
        with on_published(self.db, post_id) as transaction:
            return transaction.create(comment)

    def reply(self, comment_id: str, author_id: str, content: str) -> d.Reply:
        """An answer to a comment or to a reply; the thread stays two levels deep and `answers` says to whom."""
        target = self.find(comment_id)
        with on_published(self.db, target.post_id) as transaction:
            if isinstance(target, d.Comment):
                root_id, root_created_at = target.comment_id, target.created_at
                transaction.check(d.comment(target.post_id, root_id, root_created_at), d.ALIVE)
            else:
                root_id, root_created_at = target.parent_id, target.parent_created_at
            reply = d.Reply(
                post_id=target.post_id,
                parent_id=root_id,
                parent_created_at=root_created_at,
                reply_id=self.ids("r"),
                answers=comment_id,
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

    def edit(self, comment_id: str, content: str) -> None:
        found = self.find(comment_id)
        if isinstance(found, d.Reply):
            with self.db.change(d.reply(found.post_id, found.parent_id, found.reply_id, found.created_at)) as reply:
                reply.content = written(content)
        else:
            with self.db.change(d.comment(found.post_id, comment_id, found.created_at), when=d.ALIVE) as comment:
                comment.content = written(content)

    def delete(self, comment_id: str) -> None:
        """It goes; a comment that has replies stays as a tombstone without its text, in no list of its author's."""
        found = self.find(comment_id)
        if isinstance(found, d.Reply):
            self.db.delete(found)
            return
        with suppress(ConditionFailed):
            if found.reply_count == 0:
                self.db.delete(found, when=F.reply_count == 0)
                return
        with self.db.change(d.comment(found.post_id, comment_id, found.created_at), when=d.ALIVE) as tombstone:
            tombstone.content = None
            tombstone.deleted_at = self.db.context.clock()


def written(content: str) -> str:
    """A text that says something."""
    if not content.strip():
        raise ValueRefused("Comment.content", "it says nothing")
    return content
