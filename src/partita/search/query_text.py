"""What a user types, as terms to look for. Any text is a valid query: nothing in it is syntax of the index.

mesa de carvalho     all of the words
"mesa de carvalho"   the words next to each other, in this order
carv*                words that begin so
e-mail, 3.5          words that are joined without a space stand next to each other
"""

import re
from collections.abc import Iterator, Sequence

import msgspec

from partita.search.words import Analyzer, TextToken

MAX_CHARACTERS = 1000  # the rest of a longer query is ignored
MAX_TERMS = 16
MAX_TOKENS = 32  # of a phrase
MIN_PREFIX = 3  # characters; a shorter one is looked for as a word
MAX_PREFIXES = 3  # of a query; further ones are looked for as words

_QUOTES = str.maketrans("\u201c\u201d\u201e\u00ab\u00bb\uff02", '"' * 6)
_CHUNK = re.compile(r'"([^"]*)"(\*?)|([^\s"]+)')


class Term(msgspec.Struct, frozen=True):
    """Tokens next to each other. With `prefix`, the last one is the beginning of a token, or of a word's form."""

    tokens: tuple[str, ...]
    prefix: bool = False

    def places(self, tokens: Sequence[str], forms: Sequence[str]) -> Iterator[range]:
        """Where it occurs among the tokens of a text."""
        *first, last = self.tokens
        for at in range(len(tokens) - len(first)):
            end = at + len(first)
            if list(tokens[at:end]) == first and self._is_last(last, tokens[end], forms[end], alone=not first):
                yield range(at, end + 1)

    def _is_last(self, wanted: str, token: str, form: str, *, alone: bool) -> bool:
        if not self.prefix:
            return token == wanted
        return token.startswith(wanted) or (alone and form.startswith(wanted))


Alternatives = tuple[Term, ...]  # one of them has to be found


class TextQuery(msgspec.Struct, frozen=True):
    """All of these have to be found in an item."""

    terms: tuple[Alternatives, ...]


def parsed(text: str, analyzer: Analyzer, *, complete: bool = False) -> TextQuery:
    """The terms of a query; with `complete`, its last word may be unfinished, as while somebody types."""
    text = text[:MAX_CHARACTERS].translate(_QUOTES)
    terms: dict[Alternatives, None] = {}
    prefixes = 0
    chunks = list(_CHUNK.finditer(text))
    for number, chunk in enumerate(chunks):
        is_last = number == len(chunks) - 1
        quoted = chunk[1] is not None
        content = chunk[1] if quoted else chunk[3]
        prefix = (bool(chunk[2]) if quoted else content.endswith("*")) and prefixes < MAX_PREFIXES
        prefixes += prefix
        unfinished = complete and is_last and not quoted and chunk.end() == len(text)
        tokens = list(analyzer.tokens(content))[:MAX_TOKENS]
        if tokens:
            terms.setdefault(_alternatives(tokens, prefix=prefix, unfinished=unfinished))
        if len(terms) == MAX_TERMS:
            break
    return TextQuery(tuple(terms))


def _alternatives(tokens: list[TextToken], *, prefix: bool, unfinished: bool) -> Alternatives:
    last = tokens[-1]
    if not last.form:
        return (_pairs(tokens),)
    exact = Term(tuple(each.text for each in tokens))
    if not (prefix or unfinished) or len(last.form) < MIN_PREFIX:
        return (exact,)
    beginning = Term((*exact.tokens[:-1], last.form), prefix=True)
    return (beginning, exact) if unfinished and not prefix else (beginning,)


def _pairs(tokens: list[TextToken]) -> Term:
    """Tokens whose last are pairs: the character alone at the end is left out, since a word may go on."""
    texts = tuple(each.text for each in tokens)
    is_alone = len(tokens) == 1 or tokens[-2].ends
    return Term(texts, prefix=True) if is_alone else Term(texts[:-1])
