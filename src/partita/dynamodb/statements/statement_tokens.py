"""Splits a statement into tokens with their locations, for error messages."""

import re

import msgspec

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.statements.keywords import KEYWORDS

# Possessive: a token is matched in one pass, so that the time grows with the length of the statement only.
_TOKEN = re.compile(
    r"""(?P<space>\s++|--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)
      | (?P<open>/\*)
      | (?P<string>'(?:[^']++|'')*+')
      | (?P<quoted>"(?:[^"]++|"")*+")
      | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)
      | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*+)
      | (?P<ion>`[^`]*+`)
      | (?P<symbol><<|>>|<=|>=|<>|!=|\|\||[-+*/%=<>()\[\]{},.:;?])
    """,
    re.VERBOSE | re.DOTALL,
)


class NotWellFormed(ValidationException):
    """A syntax error in a statement."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Statement wasn't well formed, can't be processed: {why}")


class StatementToken(msgspec.Struct, frozen=True):
    """`kind` is word, quoted, string, number, symbol, ion or end; `text` is without quotes."""

    kind: str
    text: str
    line: int = 0
    column: int = 0
    length: int = 0

    @property
    def location(self) -> str:
        """Line, column and length, as in DynamoDB's messages."""
        return f"{self.line}:{self.column}:{self.length}"

    def matches(self, word: str) -> bool:
        """Whether this is the symbol, or the keyword in any case."""
        return (self.kind == "symbol" and self.text == word) or (self.kind == "word" and self.text.upper() == word)

    @property
    def is_identifier(self) -> bool:
        return self.kind == "quoted" or (self.kind == "word" and self.text.upper() not in KEYWORDS)


_END = StatementToken("end", "end of statement")


class StatementTokens:
    """A cursor over the tokens of one statement."""

    def __init__(self, source: str) -> None:
        self._all = _split(source)
        self._at = 0

    def peek(self, ahead: int = 0) -> StatementToken:
        at = self._at + ahead
        return self._all[at] if at < len(self._all) else _END

    def take(self) -> StatementToken:
        token = self.peek()
        if token is _END:
            raise NotWellFormed("Unexpected end of statement")
        self._at += 1
        return token

    def accept(self, *words: str) -> bool:
        """Takes the next tokens when they are exactly these keywords or symbols."""
        if all(self.peek(ahead).matches(word) for ahead, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def expect(self, word: str) -> StatementToken:
        token = self.peek()
        if not self.accept(word):
            raise self.unexpected(f"Expected {word}")
        return token

    def unexpected(self, wanted: str) -> NotWellFormed:
        token = self.peek()
        return NotWellFormed(f"{wanted}, found {token.text} at {token.location}" if token.length else f"{wanted}")


def _split(source: str) -> list[StatementToken]:
    found: list[StatementToken] = []
    at, line, line_start = 0, 1, 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None or match.lastgroup == "open":  # a comment that does not end
            raise NotWellFormed(f"Unexpected character {source[at]} at {line}:{at - line_start + 1}:1")
        kind, text = match.lastgroup or "", match[0]
        if kind != "space":
            found.append(StatementToken(kind, _unquote(kind, text), line, at - line_start + 1, len(text)))
        line += text.count("\n")
        if "\n" in text:
            line_start = at + text.rindex("\n") + 1
        at = match.end()
    return found


def _unquote(kind: str, text: str) -> str:
    if kind == "string":
        return text[1:-1].replace("''", "'")
    return text[1:-1].replace('""', '"') if kind == "quoted" else text
