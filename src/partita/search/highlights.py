"""Where the words of a query occur in a text, as ranges: the caller decides how they are shown."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

import msgspec

from partita.search.query_text import TextQuery
from partita.search.words import Analyzer

WIDTH = 240  # characters of an excerpt
MAX_EXCERPTS = 3  # of one attribute
MAX_TEXT = 20_000  # characters of a text that are looked at

Range = tuple[int, int]


class Highlight(msgspec.Struct, frozen=True):
    """An excerpt of a text, and the ranges of it that a query has found.

    >>> Highlight("a <b> mesa", ((6, 10),)).html()
    'a &lt;b&gt; <mark>mesa</mark>'
    """

    text: str
    ranges: tuple[Range, ...]

    def parts(self) -> Iterator[tuple[str, bool]]:
        """The text in pieces, each with whether it was found."""
        at = 0
        for start, end in self.ranges:
            if at < start:
                yield self.text[at:start], False
            yield self.text[start:end], True
            at = end
        if at < len(self.text):
            yield self.text[at:], False

    def html(self, tag: str = "mark") -> str:
        """The excerpt as HTML: everything is escaped, and what was found is in an element."""
        pieces = ((escape(text), is_found) for text, is_found in self.parts())
        return "".join(f"<{tag}>{text}</{tag}>" if is_found else text for text, is_found in pieces)


def highlights_of(texts: Iterable[str], query: TextQuery, analyzer: Analyzer) -> tuple[Highlight, ...]:
    """The excerpts of those texts in which something of a query was found, at most three."""
    found: list[Highlight] = []
    for text in texts:
        ranges = found_ranges(text[:MAX_TEXT], query, analyzer)
        if ranges:
            found.append(_excerpt(text, ranges))
        if len(found) == MAX_EXCERPTS:
            break
    return tuple(found)


def found_ranges(text: str, query: TextQuery, analyzer: Analyzer) -> list[Range]:
    """The ranges of a text that terms of a query were found in, joined where they touch."""
    tokens = list(analyzer.tokens(text))
    words, forms = [each.text for each in tokens], [each.form for each in tokens]
    marked: set[Range] = set()
    for term in (each for alternatives in query.terms for each in alternatives):
        for places in term.places(words, forms):
            ranges = [(tokens[at].start, tokens[at].end) for at in places]
            if term.prefix and not forms[places[-1]]:  # one character of a pair was asked for
                ranges[-1] = (ranges[-1][0], min(ranges[-1][0] + 1, ranges[-1][1]))
            marked.update(ranges)
    return _joined(sorted(marked))


def _joined(ranges: Sequence[Range]) -> list[Range]:
    joined: list[Range] = []
    for start, end in ranges:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _excerpt(text: str, ranges: list[Range]) -> Highlight:
    """The text around the first range, cut at spaces, with the ranges that lie in it."""
    if len(text) <= WIDTH:
        return Highlight(text, tuple(ranges))
    first = ranges[0]
    start = max(0, min(first[0] - WIDTH // 4, len(text) - WIDTH))
    if start:
        space = text.find(" ", start, first[0])
        start = start if space < 0 else space + 1
    end = max(start + WIDTH, first[1])
    if end < len(text):
        space = text.rfind(" ", first[1], end)
        end = end if space < 0 else space
    inside = ((low, high) for low, high in ranges if start <= low and high <= end)
    before, after = "…" if start else "", "…" if end < len(text) else ""
    moved = tuple((low - start + len(before), high - start + len(before)) for low, high in inside)
    return Highlight(f"{before}{text[start:end]}{after}", moved)
