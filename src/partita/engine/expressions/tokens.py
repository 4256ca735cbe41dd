"""Splits an expression into tokens; syntax errors have DynamoDB's messages."""

import re

import msgspec

from partita.errors import PartitaError

_TOKEN = re.compile(r"[A-Za-z][A-Za-z0-9_]*|[#:][A-Za-z0-9_]+|0|[1-9][0-9]*|<>|<=|>=|[^ \t\r\n]")


class ExpressionError(PartitaError):
    """An error in an expression, without the name of its parameter."""


class EmptyExpression(ExpressionError):
    """An empty expression."""

    def __init__(self) -> None:
        super().__init__("The expression can not be empty;")


class Token(msgspec.Struct, frozen=True):
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def is_name(self) -> bool:
        return self.text[0].isascii() and (self.text[0].isalpha() or (self.text[0] == "#" and len(self.text) > 1))

    def is_value(self) -> bool:
        return self.text[0] == ":" and len(self.text) > 1


END = Token("<EOF>", -1)


class Tokens:
    """A cursor over the tokens of one expression."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._all = _split(source)
        self._at = 0
        self._closings = _closing_parentheses(self._all)

    def after_parenthesis(self, ahead: int = 0) -> str | None:
        """The text after the parenthesis that closes the one `ahead`; None where it is not closed."""
        closed = self._closings.get(self._at + ahead)
        return None if closed is None else self.peek(closed + 1 - self._at).text

    def peek(self, ahead: int = 0) -> Token:
        at = self._at + ahead
        return self._all[at] if at < len(self._all) else END

    def take(self) -> Token:
        token = self.peek()
        if token is END:
            raise self.unexpected()
        self._at += 1
        return token

    def accept(self, text: str) -> bool:
        """Takes the next token when it is this symbol or keyword (in any case)."""
        if self.peek().text.upper() == text:
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.unexpected()

    def unexpected(self) -> ExpressionError:
        """The syntax error at the next token; `near` has its neighbours."""
        token, before, after = self.peek(), self._all[self._at - 1] if self._at else None, self.peek(1)
        if token is END:
            near = self.source[before.start :].strip() if before else self.source
            return ExpressionError(f'Syntax error; token: "{END.text}", near: "{near}"')
        start = token.start if before is None else before.start
        end = token.end if after is END else after.end
        return ExpressionError(f'Syntax error; token: "{token.text}", near: "{self.source[start:end]}"')


def is_digits(text: str) -> bool:
    """Whether a text is a list index; `isdigit` alone accepts other digits, such as a superscript two."""
    return text.isascii() and text.isdigit()


def _split(source: str) -> list[Token]:
    """Splits a source; an unknown character is a token too, which the parser rejects."""
    return [Token(match[0], match.start()) for match in _TOKEN.finditer(source)]


def _closing_parentheses(tokens: list[Token]) -> dict[int, int]:
    """The index of the closing parenthesis for each opening one, in one pass."""
    found: dict[int, int] = {}
    open_ones: list[int] = []
    for at, token in enumerate(tokens):
        if token.text == "(":
            open_ones.append(at)
        elif token.text == ")" and open_ones:
            found[open_ones.pop()] = at
    return found
