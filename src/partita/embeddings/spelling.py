"""The known word that a misspelt one stands for: a letter or jamo or two away, and no other word as near."""

from collections.abc import Iterable

from partita.embeddings.jamo import letters_of

_ONE_EDIT, _TWO_EDITS = 4, 9  # from so many letters on
_MOST_EDITS = 2


class Spelling:
    """The words of a vocabulary, by their first and last letters."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words: dict[str, list[tuple[str, str]]] = {}
        self._longest = 0
        for word in words:
            letters = letters_of(word)
            if len(letters) >= _ONE_EDIT:
                self._longest = max(self._longest, len(letters))
                for end in _ends(letters):
                    self._words.setdefault(end, []).append((word, letters))

    def nearest(self, word: str) -> str | None:
        """The nearest word of the vocabulary; None if each is too far, or if two are equally near.

        >>> spelling = Spelling(["인버터", "inverter", "contactor", "leaf"])
        >>> [spelling.nearest(each) for each in ("인벌터", "invertor", "contacter", "leef", "lead", "pump")]
        ['인버터', 'inverter', 'contactor', 'leaf', None, None]
        """
        letters = letters_of(word)
        if not _ONE_EDIT <= len(letters) <= self._longest + _MOST_EDITS:
            return None
        candidates = {found for end in _ends(letters) for found in self._words.get(end, ())}
        near = sorted(
            (distance, known)
            for known, known_letters in candidates
            if abs(len(letters) - len(known_letters)) <= _MOST_EDITS
            and (distance := edits(letters, known_letters)) <= _allowed_edits(letters, known_letters)
        )
        if not near or (len(near) > 1 and near[0][0] == near[1][0]):
            return None
        return near[0][1]


def _ends(letters: str) -> tuple[str, str]:
    return f"{letters[:2]}...", f"...{letters[-2:]}"


def _allowed_edits(letters: str, known: str) -> int:
    """The first letter is rarely wrong; in a word of four the last must be right too."""
    shorter = min(len(letters), len(known))
    if letters[0] != known[0]:
        return 0
    if shorter >= _TWO_EDITS:
        return 2
    return 1 if shorter > _ONE_EDIT or letters[-1] == known[-1] else 0


def edits(one: str, other: str) -> int:
    """The least number of letters to insert, delete, replace or swap with their neighbour.

    >>> edits("presure", "pressure"), edits("instrumnet", "instrument")
    (1, 1)
    """
    before = row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        following = [i + 1]
        for j, known in enumerate(other):
            least = min(row[j + 1] + 1, following[j] + 1, row[j] + (letter != known))
            if i > 0 and j > 0 and letter == other[j - 1] and one[i - 1] == known:
                least = min(least, before[j - 1] + 1)
            following.append(least)
        before, row = row, following
    return row[-1]
