"""The words under which a card is found until somebody runs a full-text index."""

import unicodedata
from collections.abc import Iterator

from partita_systems.perfectit.design import MOST_TERMS, PerfectionCard

LONGEST_TERM = 40


def composed(text: str) -> str:
    """A text as it is stored where it is a name: accents and Hangul composed, without surrounding space."""
    return unicodedata.normalize("NFC", text.strip())


def words(text: str) -> Iterator[str]:
    """The words of a text, composed and without case; single Latin letters and digits are none.

    >>> list(words("Zu dünn? Ein 2. Öl-Anstrich!"))
    ['zu', 'dünn', 'ein', 'öl', 'anstrich']
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    spaced = "".join(each if unicodedata.category(each)[0] in "LMN" else " " for each in folded)
    return (word for word in spaced.split() if len(word) <= LONGEST_TERM and (len(word) > 1 or not word.isascii()))


def terms_of(card: PerfectionCard) -> list[str]:
    """Title, tags, category, materials and tools, the most telling first, at most as many as a transaction takes."""
    texts = (card.title, *card.tags, card.category or "", *card.materials, *card.tools)
    return list(dict.fromkeys(word for text in texts for word in words(text)))[:MOST_TERMS]
