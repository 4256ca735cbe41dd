"""Votes on cards and comments, with exact counters.

A card's score is part of the sort key of an index, which `ADD` cannot change. So a vote reads the counters and writes
vote, counters, score and controversy in one transaction, on the condition that the counters are unchanged. After a
conflict it reads again and retries.
"""

from collections import Counter
from datetime import datetime

import msgspec

from partita import AlreadyExists, Condition, ConditionFailed, F, Get, NotFound, Store, Transaction
from partita_systems.perfectit import design as d
from partita_systems.perfectit.visibility import unpublished

Target = d.PerfectionCard | d.Comment
Choice = d.VoteType | None


class VoteState(msgspec.Struct, rename="camel"):
    """The votes on a card or comment after a vote; `voteType` is the caller's own, null without one."""

    target_id: str
    vote_type: d.VoteType | None
    vote_score: int
    up_count: int
    down_count: int


_CONFLICTS = (AlreadyExists, ConditionFailed, NotFound)


class Votes:
    """Votes on cards and comments."""

    def __init__(self, db: Store) -> None:
        self.db = db

    def on_card(self, user_id: str, card_id: str, vote: Choice) -> VoteState:
        """Vote, change the vote, or withdraw it with None."""
        return self._vote(user_id, card_id, card_id, d.card(card_id), vote)

    def on_comment(self, user_id: str, card_id: str, created_at: datetime, comment_id: str, vote: Choice) -> VoteState:
        """Vote on a comment of a published card, change the vote, or withdraw it with None."""
        return self._vote(user_id, card_id, comment_id, d.comment(card_id, created_at, comment_id), vote)

    def _vote(self, user_id: str, card_id: str, target_id: str, call: Get[Target], vote: Choice) -> VoteState:
        for _ in self.db.retrying("Vote"):
            target = self.db.update(call, _no_change)
            if isinstance(target, d.PerfectionCard) and target.status != d.CardStatus.PUBLISHED:
                raise unpublished(self.db, "Vote", card_id)
            if isinstance(target, d.Comment) and target.status == d.CardStatus.REMOVED:
                raise NotFound("Comment", {"comment_id": target_id})
            stored = self.db(d.vote(user_id, target_id), consistent=True)
            before = stored.vote_type if stored else None
            if before == vote:
                return _state(target_id, target, vote, vote)
            if not _is_counted(before, target):
                self.recount(target_id, call)
                continue
            try:
                with self.db.transaction() as transaction:
                    if isinstance(target, d.Comment):
                        transaction.check(d.card(card_id), d.PUBLISHED)
                    self._write(transaction, before, vote, user_id, target_id, target)
                    self._count(transaction, before, vote, call, target)
            except _CONFLICTS as conflict:
                if isinstance(target, d.Comment) and conflict.entity == "PerfectionCard":
                    raise unpublished(self.db, "Vote", card_id) from None
                if isinstance(conflict, NotFound) and conflict.entity != "Vote":
                    raise  # deleted, or being deleted
                continue
            return _state(target_id, target, before, vote)
        raise AssertionError("retrying ends with an error")

    def _write(
        self, transaction: Transaction, before: Choice, vote: Choice, user_id: str, target_id: str, target: Target
    ) -> None:
        """Write the vote, on the condition that it is unchanged."""
        if vote is None:
            transaction.delete(d.vote(user_id, target_id), when=F.vote_type == before)
        elif before is not None:
            transaction.change(d.vote(user_id, target_id), when=F.vote_type == before).vote_type = vote
        else:
            kind = target_type_of(target)
            transaction.create(d.Vote(user_id=user_id, target_id=target_id, target_type=kind, vote_type=vote))

    def _count(self, transaction: Transaction, before: Choice, vote: Choice, call: Get[Target], target: Target) -> None:
        """Write the counters. The controversy depends on both, so they must be unchanged."""
        more_up, more_down = _steps(before, vote)
        unchanged = F.status.is_absent() | (F.status != d.CardStatus.REMOVED.value)
        if isinstance(target, d.PerfectionCard):
            unchanged = _counts_unchanged(target) & d.PUBLISHED
            score = controversy(target.up_count + more_up, target.down_count + more_down)
            transaction.put(d.Controversy(card_id=target.card_id, score=score))
        draft = transaction.change(call, when=unchanged, seen=target)
        draft.up_count += more_up
        draft.down_count += more_down
        draft.vote_score += more_up - more_down

    def recount(self, target_id: str, call: Get[Target]) -> None:
        """Set the counters of an item of other code to the number of stored votes."""
        for _ in self.db.retrying("Vote"):
            target = self.db.one(call, consistent=True)
            votes = Counter(each.vote_type for each in self.db(d.votes_of_target(target_id)))
            up, down = votes[d.VoteType.UP], votes[d.VoteType.DOWN]
            try:
                with self.db.transaction() as transaction:
                    draft = transaction.change(call, when=_counts_unchanged(target), seen=target)
                    draft.up_count, draft.down_count, draft.vote_score = up, down, up - down
                    if isinstance(target, d.PerfectionCard):
                        transaction.put(d.Controversy(card_id=target.card_id, score=controversy(up, down)))
            except ConditionFailed:
                continue
            return

    def delete_all(self, target_id: str) -> None:
        """Delete all votes on a card or comment."""
        votes = [d.vote(each.user_id, target_id) for each in self.db(d.votes_of_target(target_id))]
        self.db.delete_many(votes)


def _steps(before: Choice, vote: Choice) -> tuple[int, int]:
    """How a vote changes the two counters."""
    up = (vote == d.VoteType.UP) - (before == d.VoteType.UP)
    return up, (vote == d.VoteType.DOWN) - (before == d.VoteType.DOWN)


def _state(target_id: str, target: Target, before: Choice, vote: Choice) -> VoteState:
    up, down = _steps(before, vote)
    score = target.vote_score + up - down
    return VoteState(target_id, vote, score, target.up_count + up, target.down_count + down)


def _no_change(target: Target) -> None:
    """An update without changes still moves a comment of other code to the current key format."""


def target_type_of(target: Target) -> d.TargetType:
    return d.TargetType.CARD if isinstance(target, d.PerfectionCard) else d.TargetType.COMMENT


def _is_counted(vote: Choice, target: Target) -> bool:
    """Whether a stored vote can be in the counters; other code has none."""
    counted = {None: 1, d.VoteType.UP: target.up_count, d.VoteType.DOWN: target.down_count}
    return counted[vote] > 0


def _counts_unchanged(target: Target) -> Condition:
    """The counters are unchanged; items of other code have none."""
    up, down = F.up_count == target.up_count, F.down_count == target.down_count
    if target.up_count == target.down_count == 0:
        return (up & down) | (F.up_count.is_absent() & F.down_count.is_absent())
    return up & down


def controversy(up: int, down: int) -> int:
    """High for many votes that are evenly divided: their number, times the smaller side over the larger.

    >>> controversy(100, 100), controversy(100, 50), controversy(100, 0)
    (200, 75, 0)
    """
    return (up + down) * min(up, down) // max(up, down, 1)
