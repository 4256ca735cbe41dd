"""Votes: cast, changed, withdrawn, and always as many as the counts say.

A card's score stands in the sort key of an index, where no arithmetic reaches it. So a vote reads the counts, and
writes vote, counts, score and controversy in one transaction that holds only while the counts are what was read;
whoever is overtaken reads again.
"""

from collections import Counter
from datetime import datetime

from partita import AlreadyExists, Condition, ConditionFailed, F, Get, NotFound, ReferenceMissing, Store, Transaction
from partita_systems.perfectit import design as d

Target = d.PerfectionCard | d.Comment
Choice = d.VoteType | None
_OVERTAKEN = (AlreadyExists, ConditionFailed, NotFound)


class Votes:
    """Votes on cards and comments."""

    def __init__(self, db: Store) -> None:
        self.db = db

    def on_card(self, user_id: str, card_id: str, vote: Choice) -> None:
        """Vote, change the vote, or withdraw it with None."""
        self._vote(user_id, card_id, card_id, d.card(card_id), vote)

    def on_comment(self, user_id: str, card_id: str, created_at: datetime, comment_id: str, vote: Choice) -> None:
        """The same for a comment, as long as everybody sees its card."""
        self._vote(user_id, card_id, comment_id, d.comment(card_id, created_at, comment_id), vote)

    def _vote(self, user_id: str, card_id: str, target_id: str, call: Get[Target], vote: Choice) -> None:
        for _ in self.db.retrying("Vote"):
            target = self.db.update(call, _as_it_is)
            if isinstance(target, d.PerfectionCard) and target.status != d.CardStatus.PUBLISHED:
                raise ReferenceMissing("Vote", "PerfectionCard", card_id, "card_id")
            if isinstance(target, d.Comment) and target.status == d.CardStatus.REMOVED:
                raise NotFound("Comment", target_id)
            held = self.db(d.vote(user_id, target_id), consistent=True)
            before = held.vote_type if held else None
            if before == vote:
                return
            if not _is_counted(before, target):
                self.recount(target_id, call)
                continue
            try:
                with self.db.transaction() as transaction:
                    if isinstance(target, d.Comment):
                        transaction.check(d.card(card_id), d.PUBLISHED)
                    self._write(transaction, before, vote, user_id, target_id, target)
                    self._count(transaction, before, vote, call, target)
            except _OVERTAKEN as overtaken:
                if isinstance(target, d.Comment) and overtaken.entity == "PerfectionCard":
                    raise ReferenceMissing("Vote", "PerfectionCard", card_id, "card_id") from None
                if isinstance(overtaken, NotFound) and overtaken.entity != "Vote":
                    raise  # gone, or being deleted
                continue
            return

    def _write(
        self, transaction: Transaction, before: Choice, vote: Choice, user_id: str, target_id: str, target: Target
    ) -> None:
        """The vote itself, if it still is what it was."""
        if vote is None:
            transaction.delete(d.vote(user_id, target_id), when=F.vote_type == before)
        elif before is not None:
            transaction.change(d.vote(user_id, target_id), when=F.vote_type == before).vote_type = vote
        else:
            kind = kind_of(target)
            transaction.create(d.Vote(user_id=user_id, target_id=target_id, target_type=kind, vote_type=vote))

    def _count(self, transaction: Transaction, before: Choice, vote: Choice, call: Get[Target], target: Target) -> None:
        """What follows from the vote. How divided a card is depends on both counts: they must be what was read."""
        more_up = (vote == d.VoteType.UP) - (before == d.VoteType.UP)
        more_down = (vote == d.VoteType.DOWN) - (before == d.VoteType.DOWN)
        unmoved = F.status.is_absent() | (F.status != d.CardStatus.REMOVED.value)
        if isinstance(target, d.PerfectionCard):
            unmoved = _counts_of(target) & d.PUBLISHED
            divided = controversy(target.up_count + more_up, target.down_count + more_down)
            transaction.put(d.Controversy(card_id=target.card_id, score=divided))
        draft = transaction.change(call, when=unmoved, seen=target)
        draft.up_count += more_up
        draft.down_count += more_down
        draft.vote_score += more_up - more_down

    def recount(self, target_id: str, call: Get[Target]) -> None:
        """Make the counts of what other code wrote equal to the votes that are stored."""
        for _ in self.db.retrying("Vote"):
            target = self.db.one(call, consistent=True)
            votes = Counter(each.vote_type for each in self.db(d.votes_of_target(target_id)))
            up, down = votes[d.VoteType.UP], votes[d.VoteType.DOWN]
            try:
                with self.db.transaction() as transaction:
                    draft = transaction.change(call, when=_counts_of(target), seen=target)
                    draft.up_count, draft.down_count, draft.vote_score = up, down, up - down
                    if isinstance(target, d.PerfectionCard):
                        transaction.put(d.Controversy(card_id=target.card_id, score=controversy(up, down)))
            except ConditionFailed:
                continue
            return

    def forget(self, target_id: str) -> None:
        votes = [d.vote(each.user_id, target_id) for each in self.db(d.votes_of_target(target_id))]
        self.db.delete_many(votes)


def _as_it_is(target: Target) -> None:
    """No edit; but a comment whose key has a time as other code wrote it is brought under ours."""


def kind_of(target: Target) -> d.TargetType:
    return d.TargetType.CARD if isinstance(target, d.PerfectionCard) else d.TargetType.COMMENT


def _is_counted(vote: Choice, target: Target) -> bool:
    """Whether a vote that is held can be among the counts; other code kept none."""
    counted = {None: 1, d.VoteType.UP: target.up_count, d.VoteType.DOWN: target.down_count}
    return counted[vote] > 0


def _counts_of(target: Target) -> Condition:
    """That the counts are what was read; what other code wrote has none."""
    up, down = F.up_count == target.up_count, F.down_count == target.down_count
    if target.up_count == target.down_count == 0:
        return (up & down) | (F.up_count.is_absent() & F.down_count.is_absent())
    return up & down


def controversy(up: int, down: int) -> int:
    """Many votes, evenly divided: all of them, times the smaller side over the larger.

    >>> controversy(100, 100), controversy(100, 50), controversy(100, 0)
    (200, 75, 0)
    """
    return (up + down) * min(up, down) // max(up, down, 1)
