"""Drafts take no comments and votes, and are in no collection."""

from partita import ReferenceMissing, Store
from partita_systems.errors import NotPublished
from partita_systems.perfectit import design as d


def unpublished(db: Store, entity: str, card_id: str, user_id: str | None = None) -> NotPublished | ReferenceMissing:
    """The error of a write that needs a published card: NotPublished for a draft, else ReferenceMissing.

    With a `user_id`, a draft of another author is like a card that does not exist.
    """
    card = db(d.card(card_id), consistent=True)
    if card is None or card.status == d.CardStatus.REMOVED or user_id not in (None, card.author_id):
        return ReferenceMissing(entity, d.PerfectionCard.__name__, {"card_id": card_id}, "card_id")
    return NotPublished(d.PerfectionCard.__name__, {"card_id": card_id})
