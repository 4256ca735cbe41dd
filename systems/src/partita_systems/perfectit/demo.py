"""The demo of PerfectIt: what trends, from votes and comments, and full text that finds it."""

from urllib.parse import quote

from partita import Store
from partita_systems.perfectit.service import PerfectIt


def prepare(db: Store, address: str) -> None:
    """The demo data has votes and comments that wait for analytics."""


def sight(db: Store, address: str) -> str | None:
    """The card that trends most, once analytics has counted."""
    card = next(iter(PerfectIt(db).cards.trending(1).items), None)
    if card is None:
        return None
    search = f"{address}/api/perfectit/cards/search?text={quote(card.title.split()[0])}"
    return f"{card.title!r} trends at {address}/api/perfectit/cards/trending, and full text finds it at {search}"
