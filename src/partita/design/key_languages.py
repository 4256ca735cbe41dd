"""Languages of key texts: which texts a key part, a key or a range of keys can be.

Every question of the proof is a question about languages, and all of them are answered here:

    can two keys be equal?                     meet(one, other)                     a text that is in both, or None
    can this key lie in that range?            meet(key, *range)                    a range is several languages
    is order kept in front of a separator?     part.continues_at_or_below("#")      "al" and "al b" before "#"

A language is a regular set of texts, kept as a small automaton whose edges are ranges of code points. DynamoDB orders
keys by their UTF-8 bytes, which is the order of code points, so `at_least` and `at_most` are regular as well:

    at_least(A)     every text that is not below some text of A
    at_most(A)      every text that is not above some text of A

A language may be larger than what is really written (folded or normalised text): then a proof may be refused without
need, and is never given without one.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise

import msgspec

LAST = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)

Span = tuple[int, int]  # code points, both ends inside
Edge = tuple[int, int, int]  # a span and the state behind it


class Language(msgspec.Struct, frozen=True, eq=False, dict=True):
    """An automaton: `edges[state]` leave a state, the text ends in an `accepting` one. State 0 is the start."""

    edges: tuple[tuple[Edge, ...], ...]
    accepting: frozenset[int]

    def __contains__(self, text: str) -> bool:
        states = {0}
        for point in map(ord, text):
            states = {to for state in states for low, high, to in self.edges[state] if low <= point <= high}
        return not states.isdisjoint(self.accepting)

    @cached_property
    def alive(self) -> frozenset[int]:
        """The states from which some text ends."""
        back: dict[int, list[int]] = {}
        for state, edges in enumerate(self.edges):
            for _, _, to in edges:
                back.setdefault(to, []).append(state)
        found, waiting = set(self.accepting), list(self.accepting)
        while waiting:
            for state in back.get(waiting.pop(), ()):
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return frozenset(found)

    @cached_property
    def useful_edges(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges behind which some text ends."""
        return tuple(tuple(edge for edge in edges if edge[2] in self.alive) for edges in self.edges)

    @cached_property
    def fewest_bytes(self) -> int | None:
        """The length of its shortest text in UTF-8; None where it has no text."""
        found: dict[int, int] = {}
        waiting = [(0, 0)]
        while waiting:
            length, state = heappop(waiting)
            if state in self.accepting:
                return length
            if state in found:
                continue
            found[state] = length
            for low, _, to in self.edges[state]:
                if to not in found:
                    heappush(waiting, (length + _utf8_bytes(low), to))
        return None

    @property
    def most_needed_bytes(self) -> int:
        """A bound of `fewest_bytes` that costs nothing: a shortest text is in no state twice."""
        return _UTF8_MOST * (len(self.edges) - 1)

    @cached_property
    def least(self) -> str | None:
        """The smallest text, where there is one that no other continues to undercut."""
        return self._extreme(smallest=True)

    @cached_property
    def greatest(self) -> str | None:
        """The largest text, or None where every text has a larger one."""
        return self._extreme(smallest=False)

    def _extreme(self, *, smallest: bool) -> str | None:
        states, text = frozenset({0}), ""
        seen: set[frozenset[int]] = set()
        while states not in seen:
            seen.add(states)
            ended = not states.isdisjoint(self.accepting)
            ahead = [edge for state in states for edge in self.edges[state] if edge[2] in self.alive]
            if (smallest and ended) or not ahead:
                return text if ended else None
            point = min(low for low, _, _ in ahead) if smallest else max(high for _, high, _ in ahead)
            text += chr(point)
            states = frozenset(to for low, high, to in ahead if low <= point <= high)
        return None  # it goes on for ever: aab < ab < b has no smallest text

    def continues_at_or_below(self, separator: str) -> str | None:
        """A text that goes on after a complete one with a character up to `separator`, or None.

        Where there is none, `one + separator + ...` sorts before `other + separator + ...` whenever one < other.
        """
        for text, states in self._complete():
            for state in states:
                for low, high, to in self.edges[state]:
                    if low <= ord(separator) and to in self.alive:
                        return text + _readable_character(low, min(high, ord(separator)))
        return None

    def _complete(self) -> Iterator[tuple[str, frozenset[int]]]:
        """A shortest text to each set of states in which a text is complete."""
        start = frozenset({0})
        waiting, seen = deque([("", start)]), {start}
        while waiting:
            text, states = waiting.popleft()
            if not states.isdisjoint(self.accepting):
                yield text, states
            for low, high in _pieces(self, states):
                after = frozenset(
                    to for state in states for first, last, to in self.edges[state] if first <= low and high <= last
                )
                if after not in seen:
                    seen.add(after)
                    waiting.append((text + _readable_character(low, high), after))


_UTF8_MOST = 4  # bytes of a character


def _utf8_bytes(point: int) -> int:
    """The length of a character."""
    return 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else _UTF8_MOST


def _pieces(language: Language, states: frozenset[int]) -> Iterator[Span]:
    """The spans into which the edges of some states part the code points."""
    edges = [edge for state in states for edge in language.edges[state]]
    cuts = sorted({low for low, _, _ in edges} | {high + 1 for _, high, _ in edges})
    for low, after in pairwise(cuts):
        if any(first <= low <= last for first, last, _ in edges):
            yield low, after - 1


def _moved(edges: tuple[Edge, ...], by: int) -> tuple[Edge, ...]:
    return tuple((low, high, to + by) for low, high, to in edges)


def characters(*spans: str | Span) -> Language:
    """One character: `characters("09", "af")` is a hexadecimal digit."""
    points = [(ord(span[0]), ord(span[-1])) if isinstance(span, str) else span for span in spans]
    return Language((tuple((low, high, 1) for low, high in points), ()), frozenset({1}))


def literal(text: str) -> Language:
    """This text alone."""
    chain = tuple(((ord(each), ord(each), at + 1),) for at, each in enumerate(text))
    return Language((*chain, ()), frozenset({len(text)}))


def one_of(*languages: Language) -> Language:
    """A text of any of them."""
    edges: list[tuple[Edge, ...]] = [()]
    accepting: set[int] = set()
    for each in languages:
        base = len(edges)
        edges += (_moved(leaving, base) for leaving in each.edges)
        edges[0] += edges[base]
        accepting |= {base + state for state in each.accepting}
        if 0 in each.accepting:
            accepting.add(0)
    return Language(tuple(edges), frozenset(accepting))


def texts(values: Iterable[str]) -> Language:
    """These texts alone."""
    return one_of(*map(literal, values))


def sequence(*languages: Language) -> Language:
    """A text of the first, then one of the second, and so on."""
    edges: list[tuple[Edge, ...]] = [()]
    ends = {0}
    for each in languages:
        base = len(edges)
        edges += (_moved(leaving, base) for leaving in each.edges)
        for state in ends:
            edges[state] += edges[base]
        after = {base + state for state in each.accepting}
        ends = after | ends if 0 in each.accepting else after
    return Language(tuple(edges), frozenset(ends))


def repeated(language: Language) -> Language:
    """One or more of its texts, one after the other."""
    edges = [
        leaving + language.edges[0] if state in language.accepting else leaving
        for state, leaving in enumerate(language.edges)
    ]
    return Language(tuple(edges), language.accepting)


def exactly(count: int, language: Language) -> Language:
    """So many of its texts."""
    return sequence(*[language] * count)


def optional(language: Language) -> Language:
    """One of its texts, or the empty text."""
    return one_of(literal(""), language)


def digits_between(low: str, high: str) -> Language:
    """The numbers from `low` to `high`, all written with as many digits as these two.

    A state is the bounds of the digits that are still to come: `00` and `99` where they are free.
    """
    states = {(low, high): 0}
    waiting = deque(states)
    edges: list[tuple[Edge, ...]] = []
    while waiting:
        leaving: list[Edge] = []
        for first, last, after in _next_digits(*waiting.popleft()):
            if after not in states:
                states[after] = len(states)
                waiting.append(after)
            leaving.append((first, last, states[after]))
        edges.append(tuple(leaving))
    return Language(tuple(edges), frozenset({states["", ""]}))


def _next_digits(low: str, high: str) -> Iterator[tuple[int, int, tuple[str, str]]]:
    """The next digits from one to another, and the bounds of those behind them."""
    if not low:
        return
    first, last = ord(low[0]), ord(high[0])
    least, most = "0" * (len(low) - 1), "9" * (len(high) - 1)
    if first == last:
        yield first, last, (low[1:], high[1:])
        return
    after_first, before_last = first + (low[1:] != least), last - (high[1:] != most)
    if after_first <= before_last:
        yield after_first, before_last, (least, most)
    if first < after_first:
        yield first, first, (low[1:], most)
    if before_last < last:
        yield last, last, (least, high[1:])


ANY_CHARACTER = characters((0, _SURROGATES[0] - 1), (_SURROGATES[1] + 1, LAST))
SOME_TEXT = repeated(ANY_CHARACTER)
ANY_TEXT = optional(SOME_TEXT)


def starting_with(language: Language) -> Language:
    """Every text that begins with one of it."""
    return sequence(language, ANY_TEXT)


def at_least(language: Language) -> Language:
    """Every text that is not below some text of the language."""
    return _beside(language, above=True)


def at_most(language: Language) -> Language:
    """Every text that is not above some text of the language."""
    return _beside(language, above=False)


def _beside(language: Language, *, above: bool) -> Language:
    """Texts that leave some text of the language upwards (or downwards), or stop where it goes on (or go on)."""
    free = len(language.edges)  # from here on anything may follow
    anything = tuple((low, high, free) for low, high, _ in ANY_CHARACTER.edges[0])
    edges: list[tuple[Edge, ...]] = []
    for state, leaving in enumerate(language.edges):
        useful = tuple(edge for edge in leaving if edge[2] in language.alive)
        aside: list[Edge] = []
        if above and useful:
            aside = list(_within(min(low for low, _, _ in useful) + 1, LAST, free))
        elif useful:
            aside = list(_within(0, max(high for _, high, _ in useful) - 1, free))
        if above and state in language.accepting:
            aside = list(anything)
        edges.append((*aside, *useful))  # an example leaves the text as soon as it can, and need not resemble it
    stops = language.accepting if above else language.alive
    return Language((*edges, anything), frozenset({*stops, free}))


def _within(low: int, high: int, to: int) -> Iterator[Edge]:
    for first, last, _ in ANY_CHARACTER.edges[0]:
        if max(first, low) <= min(last, high):
            yield max(first, low), min(last, high), to


def meet(*languages: Language) -> str | None:
    """A shortest text that is in all of the languages, or None."""
    start = (0,) * len(languages)
    came_from: dict[tuple[int, ...], tuple[tuple[int, ...], int, int] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        states = waiting.popleft()
        if all(state in each.accepting for state, each in zip(states, languages, strict=True)):
            return _way(came_from, states)
        for low, high, after in _steps(languages, states):
            if after not in came_from:
                came_from[after] = (states, low, high)
                waiting.append(after)
    return None


def _way(came_from: dict[tuple[int, ...], tuple[tuple[int, ...], int, int] | None], states: tuple[int, ...]) -> str:
    """The text that leads to the states."""
    characters: list[str] = []
    step = came_from[states]
    while step is not None:
        before, low, high = step
        characters.append(_readable_character(low, high))
        step = came_from[before]
    return "".join(reversed(characters))


def _steps(languages: tuple[Language, ...], states: tuple[int, ...]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """The spans that leave every one of the states at once, with the states behind."""
    found: list[tuple[int, int, tuple[int, ...]]] = [(0, LAST, ())]
    for language, state in zip(languages, states, strict=True):
        found = [
            (max(first, low), min(last, high), (*behind, to))
            for low, high, behind in found
            for first, last, to in language.useful_edges[state]
            if first <= high and low <= last
        ]
    yield from found


def _readable_character(low: int, high: int) -> str:
    """A character of the span that people can read, where it has one. Of digits it is 1: 1111-11-11 is a date."""
    if high < ord("a") and low <= ord("1") <= high:
        return "1"
    for first, last in (("a", "z"), ("0", "9"), ("A", "Z"), ("!", "~")):
        if max(low, ord(first)) <= min(high, ord(last)):
            return chr(max(low, ord(first)))
    return chr(low)
