"""Parses expressions by recursive descent; trees are cached, since programs send few distinct expressions.

Errors are reported in DynamoDB's order: syntax, redundant parentheses, unknown function, misplaced function, reserved
word. Errors that depend on the placeholders (`scope`) come after them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

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
    ProjectionNode,
    UpdateAction,
    UpdateNode,
    Value,
)
from partita.dynamodb.limits import EXPRESSION_BYTES, EXPRESSION_OPERATORS, NESTING_LEVELS
from partita.dynamodb.reserved import RESERVED_WORDS
from partita.dynamodb.text_cache import cached_by_text
from partita.engine.expressions.tokens import EmptyExpression, ExpressionError, Tokens, is_digits

CONDITION_FUNCTIONS = ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size")
UPDATE_FUNCTIONS = ("if_not_exists", "list_append")
COMPARATORS = ("=", "<>", "<", "<=", ">", ">=")
SECTIONS = ("SET", "REMOVE", "ADD", "DELETE")
_KEYWORDS = ("AND", "OR", "NOT", "BETWEEN", "IN")
_FAULTS = ("parentheses", "unknown function", "misplaced function", "reserved word", "section")

_MAX_DEPTH = 64
_MAX_INDEX = (1 << 31) - 1
_MAX_DIGITS = 4000  # Python converts no longer text to an integer

Tree = TypeVar("Tree")


class _ExpressionParser:
    def __init__(self, source: str, functions: tuple[str, ...]) -> None:
        self.tokens = Tokens(source)
        self._functions = functions
        self._faults: dict[str, str] = {}
        self._operators = 0
        self._depth = 0

    def run(self, rule: Callable[["_ExpressionParser"], Tree]) -> Tree:
        tree = rule(self)
        if self.tokens.peek().text != "<EOF>":
            raise self.tokens.unexpected()
        for kind in _FAULTS:
            if kind in self._faults:
                raise ExpressionError(self._faults[kind])
        return tree

    def fault(self, kind: str, message: str) -> None:
        self._faults.setdefault(kind, message)

    def count_operator(self) -> None:
        """Limits the number of operators, and so the work and depth, of one expression."""
        self._operators += 1
        if self._operators > EXPRESSION_OPERATORS:
            raise ExpressionError(f"The expression contains too many operators; operator limit: {EXPRESSION_OPERATORS}")

    @contextmanager
    def parentheses(self) -> Iterator[None]:
        """Takes `(` before the block and `)` after it; limits the depth, and so the parser's stack."""
        self.tokens.expect("(")
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ExpressionError(f"The expression is nested too deeply; nesting limit: {_MAX_DEPTH}")
        yield
        self._depth -= 1
        self.tokens.expect(")")

    # Conditions

    def condition(self) -> ConditionNode:
        terms = [self.conjunction()]
        while self.tokens.accept("OR"):
            self.count_operator()
            terms.append(self.conjunction())
        return terms[0] if len(terms) == 1 else OrNode(tuple(terms))

    def conjunction(self) -> ConditionNode:
        terms = [self.negation()]
        while self.tokens.accept("AND"):
            self.count_operator()
            terms.append(self.negation())
        return terms[0] if len(terms) == 1 else AndNode(tuple(terms))

    def negation(self) -> ConditionNode:
        if self.tokens.peek().text.upper() == "NOT":
            self.tokens.take()
            self.count_operator()
            return NotNode(self.negation())
        return self.comparison()

    def comparison(self) -> ConditionNode:
        if self.tokens.peek().text == "(" and not self._operand_in_parentheses():
            return self._condition_in_parentheses()
        left = self.operand()
        token = self.tokens.peek().text.upper()
        if token in COMPARATORS:
            self.tokens.take()
            return self._check_operands(CompareNode(token, left, self.operand()), left)
        if token == "BETWEEN":
            self.tokens.take()
            low = self.operand()
            self.tokens.expect("AND")
            return self._check_operands(BetweenNode(left, low, self.operand()), left)
        if token == "IN":
            self.tokens.take()
            return self._check_operands(InNode(left, self._arguments()), left)
        if isinstance(left, FunctionCall):
            if left.function == "size":
                self._report_misplaced(left)
            return left
        raise self.tokens.unexpected()

    def _check_operands(self, condition: ConditionNode, *operands: Operand) -> ConditionNode:
        self.count_operator()
        everything = list(operands)
        match condition:
            case CompareNode(_, _, right):
                everything.append(right)
            case BetweenNode(_, low, high):
                everything += [low, high]
            case InNode(_, choices):
                everything += choices
        for operand in everything:
            if isinstance(operand, FunctionCall) and operand.function != "size":
                self._report_misplaced(operand)
        return condition

    def _report_misplaced(self, call: FunctionCall) -> None:
        self.fault(
            "misplaced function",
            f"The function is not allowed to be used this way in an expression; function: {call.function}",
        )

    def _operand_in_parentheses(self) -> bool:
        """Whether the next parentheses enclose an operand, as in `(a) = :v`."""
        behind = self.tokens.after_parenthesis()
        return behind is not None and behind.upper() in (*COMPARATORS, "BETWEEN", "IN", ".", "[")

    def _condition_in_parentheses(self) -> ConditionNode:
        with self.parentheses():
            if self.tokens.peek().text == "(" and self._closes_twice():
                self.fault("parentheses", "The expression has redundant parentheses;")
            return self.condition()

    def _closes_twice(self) -> bool:
        """Whether the next parentheses end right before those around them."""
        return self.tokens.after_parenthesis() == ")"

    # Operands

    def operand(self) -> Operand:
        token = self.tokens.peek()
        if token.text == "(":
            return self._operand_or_path_in_parentheses()
        if token.is_value():
            self.tokens.take()
            return Value(token.text)
        if token.is_name() and self.tokens.peek(1).text == "(" and not token.text.startswith("#"):
            return self._call()
        return self.path()

    def _operand_or_path_in_parentheses(self) -> Operand:
        with self.parentheses():
            if self.tokens.peek().text == "(":
                self.fault("parentheses", "The expression has redundant parentheses;")
            inner = self.operand()
        return self._steps(inner) if isinstance(inner, Path) else inner

    def _call(self) -> FunctionCall:
        name = self.tokens.take().text
        self.count_operator()
        if name not in self._functions:
            self.fault("unknown function", _unknown_function(name))
        call = FunctionCall(name, self._arguments())
        for argument in call.arguments:
            if isinstance(argument, FunctionCall) and argument.function not in ("size", "if_not_exists"):
                self._report_misplaced(argument)
        return call

    def _arguments(self) -> tuple[Operand, ...]:
        with self.parentheses():
            arguments = [self.operand()]
            while self.tokens.accept(","):
                arguments.append(self.operand())
        return tuple(arguments)

    def path(self) -> Path:
        return self._steps(Path((self._name(),)))

    def _steps(self, path: Path) -> Path:
        parts = list(path.parts)
        while self.tokens.peek().text in (".", "["):
            if self.tokens.take().text == ".":
                parts.append(self._name())
                continue
            index = self.tokens.peek()
            if not is_digits(index.text):
                raise self.tokens.unexpected()
            if len(index.text) > _MAX_DIGITS or int(index.text) > _MAX_INDEX:
                raise ExpressionError(f"List index is not within the allowable range; index: [{index.text}]")
            parts.append(int(self.tokens.take().text))
            self.tokens.expect("]")
        if len(parts) > NESTING_LEVELS:
            raise ExpressionError(f"The document path has too many nesting levels; nesting levels: {len(parts)}")
        return Path(tuple(parts))

    def _name(self) -> str:
        token = self.tokens.peek()
        if not token.is_name() or token.text.upper() in _KEYWORDS:
            raise self.tokens.unexpected()
        if token.text.upper() in RESERVED_WORDS:
            self.fault("reserved word", f"Attribute name is a reserved keyword; reserved keyword: {token.text}")
        return self.tokens.take().text

    # Updates and projections

    def update(self) -> UpdateNode:
        actions: list[UpdateAction] = []
        seen: set[str] = set()
        while True:
            section = self.tokens.peek().text.upper()
            if section not in SECTIONS:
                raise self.tokens.unexpected()
            self.tokens.take()
            if section in seen:
                self.fault("section", f'The "{section}" section can only be used once in an update expression;')
            seen.add(section)
            actions.append(self._action(section))
            while self.tokens.accept(","):
                actions.append(self._action(section))
            if self.tokens.peek().text == "<EOF>":
                return UpdateNode(tuple(actions))

    def _action(self, section: str) -> UpdateAction:
        self.count_operator()
        path = self.path()
        if section == "REMOVE":
            return UpdateAction(section, path, None)
        if section == "SET":
            self.tokens.expect("=")
            return UpdateAction(section, path, self._set_value())
        if not self.tokens.peek().is_value():
            raise self.tokens.unexpected()
        return UpdateAction(section, path, Value(self.tokens.take().text))

    def _set_value(self) -> Operand:
        if self.tokens.peek().text == "(" and self._sum_in_parentheses():
            with self.parentheses():
                return self._sum()
        return self._sum()

    def _sum_in_parentheses(self) -> bool:
        depth, ahead, arithmetic = 0, 0, False
        while (text := self.tokens.peek(ahead).text) != "<EOF>":
            depth += (text == "(") - (text == ")")
            arithmetic = arithmetic or (depth == 1 and text in ("+", "-"))
            ahead += 1
            if depth == 0:
                return arithmetic
        return False

    def _sum(self) -> Operand:
        left = self.operand()
        if self.tokens.peek().text not in ("+", "-"):
            return left
        total = Arithmetic(self.tokens.take().text, left, self.operand())
        for operand in (total.left, total.right):
            if isinstance(operand, FunctionCall) and operand.function == "list_append":
                self._report_misplaced(operand)
        return total

    def projection(self) -> ProjectionNode:
        paths = [self.path()]
        while self.tokens.accept(","):
            paths.append(self.path())
        return ProjectionNode(tuple(paths))


def _unknown_function(name: str) -> str:
    """The fault for a function that the expression may not use: one of the other kind of expression, or none at all."""
    if name in CONDITION_FUNCTIONS:
        return f"The function is not allowed in an update expression; function: {name}"
    if name in UPDATE_FUNCTIONS:
        return f"The function is not allowed in a condition expression; function: {name}"
    return f"Invalid function name; function: {name}"


def _check_text(source: str) -> None:
    if not source:
        raise EmptyExpression
    if len(source.encode()) > EXPRESSION_BYTES:
        raise ExpressionError(
            f"Expression size has exceeded the maximum allowed size; expression size: {len(source.encode())}"
        )


@cached_by_text
def parse_condition(source: str) -> ConditionNode:
    """Parses a condition, filter or key condition.

    >>> parse_condition("a = :x").operator
    '='
    """
    _check_text(source)
    return _ExpressionParser(source, CONDITION_FUNCTIONS).run(_ExpressionParser.condition)


@cached_by_text
def parse_update(source: str) -> UpdateNode:
    _check_text(source)
    return _ExpressionParser(source, UPDATE_FUNCTIONS).run(_ExpressionParser.update)


@cached_by_text
def parse_projection(source: str) -> ProjectionNode:
    _check_text(source)
    return _ExpressionParser(source, ()).run(_ExpressionParser.projection)
