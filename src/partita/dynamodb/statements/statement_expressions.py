"""Parses the conditions and operands of a statement by recursive descent, to the nodes of expressions."""

from typing import Any

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.expression_nodes import (
    AndNode,
    Arithmetic,
    BetweenNode,
    CompareNode,
    ConditionNode,
    FunctionCall,
    InNode,
    NotNode,
    Operand,
    OrNode,
    Path,
    Value,
)
from partita.dynamodb.limits import EXPRESSION_IN_OPERANDS
from partita.dynamodb.statements.literals import MAX_DEPTH, parse_literal, starts_literal
from partita.dynamodb.statements.statement_tokens import NotWellFormed, StatementToken, StatementTokens
from partita.dynamodb.values import AttributeValue, Item

_COMPARISONS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_CONDITIONS = ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains")
_OPERANDS = ("size", "if_not_exists", "list_append", "set_add", "set_delete")
_FOREIGN = ("*", "/", "%", "||", "LIKE")
_MAX_INDEX_DIGITS = 10
_SEQUENCES = {"[": "]", "(": ")", "<<": ">>"}

Node = Any  # a ConditionNode or an Operand: which one it must be depends on its context


class StatementExpressionParser:
    """Parses expressions from the tokens of one statement, and collects their literals and parameters."""

    def __init__(self, source: str) -> None:
        self.tokens = StatementTokens(source)
        self.literals: Item = {}
        self.parameters = 0
        self._depth = 0

    def value(self, spelled: AttributeValue) -> Value:
        """A placeholder for a literal."""
        name = f":{len(self.literals)}"
        self.literals[name] = spelled
        return Value(name)

    def parameter(self) -> Value:
        """A placeholder for the next `?`."""
        self.parameters += 1
        return Value(f":?{self.parameters - 1}")

    # Conditions

    def condition(self) -> ConditionNode:
        """The condition after WHERE."""
        return _condition(self._disjunction())

    def _disjunction(self) -> Node:
        terms = [self._conjunction()]
        while self.tokens.accept("OR"):
            terms.append(self._conjunction())
        return terms[0] if len(terms) == 1 else OrNode(tuple(map(_condition, terms)))

    def _conjunction(self) -> Node:
        terms = [self._negation()]
        while self.tokens.accept("AND"):
            terms.append(self._negation())
        return terms[0] if len(terms) == 1 else AndNode(tuple(map(_condition, terms)))

    def _negation(self) -> Node:
        if not self.tokens.accept("NOT"):
            return self._comparison()
        self._deeper()
        negated = NotNode(_condition(self._negation()))
        self._depth -= 1
        return negated

    def _comparison(self) -> Node:
        left = self._sum("Condition")
        token = self.tokens.peek()
        if token.text in _COMPARISONS and token.kind == "symbol":
            self.tokens.take()
            return CompareNode(_COMPARISONS[token.text], _operand(left), _operand(self._sum("Condition")))
        negated = token.matches("NOT") and self.tokens.accept("NOT")
        if self.tokens.accept("BETWEEN"):
            low = _operand(self._sum("Condition"))
            self.tokens.expect("AND")
            found: ConditionNode = BetweenNode(_operand(left), low, _operand(self._sum("Condition")))
        elif self.tokens.accept("IN"):
            found = InNode(_path(left), self._choices())
        elif self.tokens.accept("IS"):
            found = self._state(_path(left))
        elif negated:
            raise self.tokens.unexpected("Expected IN or BETWEEN")
        else:
            return left
        return NotNode(found) if negated else found

    def _state(self, path: Operand) -> ConditionNode:
        """`IS [NOT] MISSING` or `IS [NOT] NULL`."""
        negated = self.tokens.accept("NOT")
        if self.tokens.accept("MISSING"):
            return FunctionCall("attribute_exists" if negated else "attribute_not_exists", (path,))
        self.tokens.expect("NULL")
        return CompareNode("<>" if negated else "=", path, self.value({"NULL": True}))

    def _choices(self) -> tuple[Operand, ...]:
        start = self.tokens.peek()
        end = _SEQUENCES.get(start.text) if start.kind == "symbol" else None
        if end is None:
            raise _not_choices()
        self.tokens.take()
        found: list[Operand] = []
        while not self.tokens.peek().matches(end):
            if found:
                self.tokens.expect(",")
            found.append(_operand(self._sum("Condition")))
        self.tokens.expect(end)
        if not found:
            raise _not_choices()
        if len(found) > EXPRESSION_IN_OPERANDS:
            raise ValidationException(
                f"The IN operator is provided with too many operands; number of operands: {len(found)}"
            )
        return tuple(found)

    # Operands

    def operand(self) -> Operand:
        """The right side of an assignment in SET."""
        return _operand(self._sum("Update"))

    def _sum(self, where: str) -> Node:
        left, depth = self._single(where), self._depth
        while True:
            token = self.tokens.peek()
            if token.matches("+") or token.matches("-"):
                if where == "Condition":
                    raise _unsupported_operator(where, token.text)
                self.tokens.take()
                self._deeper()  # each operator nests those before it
                left = Arithmetic(token.text, _operand(left), _operand(self._single(where)))
            elif any(token.matches(word) for word in _FOREIGN):
                raise _unsupported_operator(where, token.text.lower())
            else:
                self._depth = depth
                return left

    def _single(self, where: str) -> Node:
        token = self.tokens.peek()
        if token.matches("?"):
            self.tokens.take()
            return self.parameter()
        if token.matches("MISSING"):
            raise ValidationException("MISSING must be compared using IS operator")
        if starts_literal(self.tokens):
            return self.value(parse_literal(self.tokens))
        if token.matches("("):
            return self._in_parentheses(where)
        if token.kind == "word" and self.tokens.peek(1).matches("("):
            return self._call(token)
        return self.path()

    def _in_parentheses(self, where: str) -> Node:
        start = self.tokens.take()
        inside = self.tokens.peek()
        if inside.matches("SELECT"):
            raise ValidationException(f"Unsupported token in expression: SELECT at {inside.location}")
        self._deeper()
        node = self._sum(where) if where == "Update" else self._disjunction()
        self._depth -= 1
        if not self.tokens.accept(")"):
            raise NotWellFormed(f"Expected ) for the parenthesis at {start.location}")
        return node

    def _call(self, token: StatementToken) -> FunctionCall:
        name = token.text.lower()
        if name == "exists" and self.tokens.peek(2).matches("SELECT"):
            raise ValidationException(f"Unsupported token in expression: SELECT at {self.tokens.peek(2).location}")
        if name not in (*_CONDITIONS, *_OPERANDS):
            raise ValidationException(f"Unrecognized function: {token.text}")
        self.tokens.take()
        self.tokens.take()
        self._deeper()
        arguments: list[Operand] = []
        while not self.tokens.peek().matches(")"):
            if arguments:
                self.tokens.expect(",")
            arguments.append(_operand(self._sum("Update")))
        self.tokens.expect(")")
        self._depth -= 1
        return FunctionCall(name, tuple(arguments))

    def path(self) -> Path:
        """`name`, `"quoted name"`, `map.name`, `list[0]`, `map['name']`."""
        parts: list[str | int] = [self.name()]
        while True:
            if self.tokens.accept("."):
                parts.append(self.name())
            elif self.tokens.accept("["):
                parts.append(self._step())
                self.tokens.expect("]")
            else:
                return Path(tuple(parts))

    def _step(self) -> str | int:
        token = self.tokens.take()
        if token.kind == "number" and token.text.isdigit() and len(token.text) <= _MAX_INDEX_DIGITS:
            return int(token.text)
        if token.kind == "string":
            return token.text
        raise NotWellFormed(f"Expected a list index at {token.location}")

    def name(self) -> str:
        token = self.tokens.peek()
        if not token.is_identifier:
            raise self.tokens.unexpected("Expected identifier")
        if not token.text:
            raise ValidationException("Path component cannot be an empty string")
        return self.tokens.take().text

    def _deeper(self) -> None:
        """Limits the depth, and so the parser's stack."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ValidationException(f"The expression is nested too deeply; nesting limit: {MAX_DEPTH}")


def _condition(node: Node) -> ConditionNode:
    if isinstance(node, Path | Value | Arithmetic) or (
        isinstance(node, FunctionCall) and node.function not in _CONDITIONS
    ):
        raise ValidationException("WHERE clause must contain an expression that resolves to a boolean")
    return node  # type: ignore[no-any-return]


def _operand(node: Node) -> Operand:
    if isinstance(node, Path | Value | Arithmetic) or (isinstance(node, FunctionCall) and node.function in _OPERANDS):
        return node
    raise ValidationException("A condition cannot be an operand of another operator or function")


def _path(node: Node) -> Path:
    if isinstance(node, Path):
        return node
    raise _not_choices()


def _not_choices() -> ValidationException:
    return ValidationException(
        "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq "
        "with at least one member"
    )


def _unsupported_operator(where: str, operator: str) -> ValidationException:
    return ValidationException(f"Unsupported operator in {where} Expression. Operator: {operator}")
