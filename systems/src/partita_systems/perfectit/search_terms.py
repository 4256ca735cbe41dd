"""Search terms of a card: the words that find it while there is no full-text index."""

import unicodedata
from collections.abc import Iterator

from partita_systems.perfectit.design import MAX_TERMS, PerfectionCard

MAX_TERM_LENGTH = 40


def canonical_name(text: str) -> str:
    """The stored form of a name: NFC, without surrounding white space."""
    return unicodedata.normalize("NFC", text.strip())


def words(text: str) -> Iterator[str]:
    """The words of a text in NFC, case-folded; single ASCII characters are left out.

    >>> list(words("Zu dünn? Ein 2. Öl-Anstrich!"))
    ['zu', 'dünn', 'ein', 'öl', 'anstrich']
    """
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    spaced = "".join(each if unicodedata.category(each)[0] in "LMN" else " " for each in folded)
    return (word for word in spaced.split() if len(word) <= MAX_TERM_LENGTH and (len(word) > 1 or not word.isascii()))


def terms_of(card: PerfectionCard) -> list[str]:
    """The words of title, tags, category, materials and tools, in this order, at most MAX_TERMS."""
    texts = (card.title, *card.tags, card.category or "", *card.materials, *card.tools)
    return list(dict.fromkeys(word for text in texts for word in words(text)))[:MAX_TERMS]
