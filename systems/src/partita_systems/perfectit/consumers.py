"""Reactions to changes of PerfectIt: notifications, daily metrics with trends, and full text.

One stream, three consumers, each with its own position. Metrics equal a count of what is stored, by its day: a comment
that is deleted is not counted any more.
"""

import os
from datetime import UTC, date, datetime, timedelta
from math import log2

from partita import Change, Consumer, Created, Deleted, HandlerTransaction, OpenSearch, TextFields, TextIndex, Updated
from partita_systems.perfectit import design as d
from partita_systems.service_base import derived_id

notifications = Consumer("perfectit-notifications")
analytics = Consumer("perfectit-analytics")


def search_index() -> TextIndex[d.PerfectionCard]:
    """Full text of published cards: beside the database, or in the cluster that `PERFECTIT_SEARCH` names.

    `PERFECTIT_SEARCH` is the address of an OpenSearch; `PERFECTIT_SEARCH_USER` and `PERFECTIT_SEARCH_PASSWORD` are its
    credentials, unless it is a domain of Amazon, whose requests are signed.
    """
    address = os.environ.get("PERFECTIT_SEARCH")
    user, password = (os.environ.get(f"PERFECTIT_SEARCH_{each}") for each in ("USER", "PASSWORD"))
    return TextIndex(
        "perfectit-search",
        TextFields(
            d.PerfectionCard,
            {"title": 4, "tags": 2, "description": 1, "instructions": 1, "materials": 1, "tools": 1},
            when=d.PUBLISHED,
            filters=("category", "difficulty"),
        ),
        language="en",
        place=OpenSearch(address, user=user, password=password) if address else None,
    )


search = search_index()

HALF_LIFE = timedelta(days=1)
COMMENT_WEIGHT, VOTE_WEIGHT, COLLECTION_WEIGHT, VIEW_WEIGHT = 3.0, 2.0, 3.0, 0.1
_SCALE = 10_000
_START = datetime(2020, 1, 1, tzinfo=UTC)


# Notifications


@notifications.on(d.Comment)
def on_comment(change: Change[d.Comment], t: HandlerTransaction) -> None:
    """The author of a card learns of comments."""
    comment = change.before if isinstance(change, Deleted) else change.after
    if not isinstance(change, Updated):
        cause = d.NotificationType.COMMENTED, comment.author_id, comment.card_id, comment.created_at
        _notify(t, *cause, comment.comment_id, exists=isinstance(change, Created))


@notifications.on(d.Vote)
def on_vote(change: Change[d.Vote], t: HandlerTransaction) -> None:
    """The author of a card learns of votes, once for each voter."""
    vote = change.before if isinstance(change, Deleted) else change.after
    if not isinstance(change, Updated) and vote.target_type != d.TargetType.COMMENT:
        cause = d.NotificationType.VOTED, vote.user_id, vote.target_id, vote.created_at
        _notify(t, *cause, vote.user_id, exists=isinstance(change, Created))


@notifications.on(d.CardInCollection)
def on_collected(change: Change[d.CardInCollection], t: HandlerTransaction) -> None:
    """The author of a card learns that somebody has collected it."""
    entry = change.before if isinstance(change, Deleted) else change.after
    if not isinstance(change, Updated) and entry.user_id is not None:
        cause = d.NotificationType.COLLECTED, entry.user_id, entry.card_id, entry.created_at
        _notify(t, *cause, entry.collection_id, exists=isinstance(change, Created))


def _notify(
    t: HandlerTransaction,
    kind: d.NotificationType,
    actor_id: str,
    card_id: str,
    at: datetime,
    cause: str,
    *,
    exists: bool,
) -> None:
    """Create a notification of the card's author, or delete it with its cause."""
    card = t.get(d.card(card_id), fenced=False)
    if card is None or card.author_id == actor_id:
        return
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)  # as the id has it, so that the id gives the key
    notification = d.Notification(
        notification_id=derived_id("n", at, kind.value, card_id, cause),
        user_id=card.author_id,
        notification_type=kind,
        actor_id=actor_id,
        card_id=card_id,
        created_at=at,
    )
    key = d.notification(card.author_id, at, notification.notification_id)
    found = t.get(key)
    if found is not None and not exists:
        t.delete(key)
    elif found is None and exists and t.get(d.user(card.author_id), fenced=False) is not None:
        t.create(notification)


# Daily metrics and trends


@analytics.on(d.PerfectionCard)
def count_card(change: Change[d.PerfectionCard], t: HandlerTransaction) -> None:
    """Cards of the day of their publication, and views of the day on which they are counted."""
    published, withdrawn = change.became(d.PUBLISHED), change.stopped(d.PUBLISHED)
    counted: dict[date, d.DailyMetrics] = {}
    if published is not None:
        _metrics(t, published.created_at.date(), counted).cards += 1
    if withdrawn is not None and not isinstance(change, Created):
        _metrics(t, change.before.created_at.date(), counted).cards -= 1
    if isinstance(change, Updated):
        views = change.after.view_count - change.before.view_count
        if views > 0:
            _metrics(t, change.at.date(), counted).views += views
            _attend(t, change.after.card_id, change.at, VIEW_WEIGHT * views)


@analytics.on(d.Comment)
def count_comment(change: Change[d.Comment], t: HandlerTransaction) -> None:
    comment = change.before if isinstance(change, Deleted) else change.after
    if not isinstance(change, Updated):
        _metrics(t, comment.created_at.date(), {}).comments += 1 if isinstance(change, Created) else -1
    if isinstance(change, Created):
        _attend(t, comment.card_id, comment.created_at, COMMENT_WEIGHT)


@analytics.on(d.Vote)
def count_vote(change: Change[d.Vote], t: HandlerTransaction) -> None:
    vote = change.before if isinstance(change, Deleted) else change.after
    if not isinstance(change, Updated):
        _metrics(t, vote.created_at.date(), {}).votes += 1 if isinstance(change, Created) else -1
    on_card = vote.target_type != d.TargetType.COMMENT and vote.vote_type == d.VoteType.UP
    if isinstance(change, Created) and on_card:
        _attend(t, vote.target_id, vote.created_at, VOTE_WEIGHT)


@analytics.on(d.CardInCollection)
def count_collected(change: Change[d.CardInCollection], t: HandlerTransaction) -> None:
    if isinstance(change, Created):
        _attend(t, change.after.card_id, change.after.created_at, COLLECTION_WEIGHT)


def _metrics(t: HandlerTransaction, day: date, counted: dict[date, d.DailyMetrics]) -> d.DailyMetrics:
    """The draft of a day's metrics; `counted` has those of this transaction."""
    if day not in counted:
        counted[day] = t.change(d.metrics(day), create=True)
    return counted[day]


def _attend(t: HandlerTransaction, card_id: str, at: datetime, weight: float) -> None:
    """Raise the trend of a published card."""
    card = t.get(d.card(card_id), fenced=False)
    if card is None or card.status != d.CardStatus.PUBLISHED:
        return
    trend = t.get(d.trend(card_id))
    t.check(d.card(card_id), d.PUBLISHED)
    seen = at if trend is None else max(at, trend.seen_at)
    t.put(d.Trend(card_id=card_id, score=raised(None if trend is None else trend.score, at, weight), seen_at=seen))


def raised(score: int | None, at: datetime, weight: float) -> int:
    """A trend after an event.

    Attention halves every day. A score is the logarithm of what all events so far are worth, each doubled for every day
    since 2020: scores of different times compare as the decayed sums would at any one time, and none has to be
    rewritten when time passes.

    >>> from datetime import UTC
    >>> monday, tuesday = datetime(2025, 1, 6, tzinfo=UTC), datetime(2025, 1, 7, tzinfo=UTC)
    >>> raised(None, tuesday, 2.0) == raised(None, monday, 4.0)
    True
    >>> raised(raised(None, monday, 2.0), monday, 2.0) == raised(None, monday, 4.0)
    True
    """
    event = log2(weight) + (at - _START) / HALF_LIFE
    if score is None:
        return round(event * _SCALE)
    before = score / _SCALE
    high, low = max(before, event), min(before, event)
    return round((high + log2(1 + 2 ** (low - high))) * _SCALE)
