"""Compiles a condition's tree to a test, and binds it to values: `bind_condition(tree, scope).keep(item)`.

Errors that need no item (wrong operand types, an inverted BETWEEN) are raised while compiling, as in DynamoDB.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from partita.dynamodb import conditions
from partita.dynamodb.conditions import Test
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.expression_nodes import (
    AndNode,
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
from partita.dynamodb.values import SETS, TYPES, AttributeValue, Item, ResolvedPath, sort_value, type_of
from partita.engine.expressions.cache import ExpressionCache
from partita.engine.expressions.parse import parse_condition
from partita.engine.expressions.scope import Scope, path_text
from partita.engine.expressions.tokens import ExpressionError

Predicate: TypeAlias = Callable[[Item], bool]

_ARGUMENTS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
MAX_WORK = 2_000_000  # of a condition for one item: about a tenth of a second
TEXT_OF_MEMBER = 200  # characters that are searched or decoded in the time of one member
_TYPE_ORDER = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"


class BoundCondition(NamedTuple):
    """A condition with the values of one request, the paths that it reads, and what it takes for one item."""

    keep: Predicate
    paths: list[ResolvedPath]
    work: int = 1  # the operands, and the members of values that are searched
    searches: int = 0  # for members of lists and sets that are stored


class CompiledCondition(NamedTuple):
    """A condition with resolved names, for every request with values of the same types."""

    test: Test
    paths: list[ResolvedPath]
    operands: int
    searched: list[str]  # the placeholders whose values are searched or decoded for each item
    searches: int

    def bind(self, values: Item) -> BoundCondition:
        """Raises an error where the values are too large to be searched as often as the condition does."""
        test, work = self.test, self.operands + sum([_members(values[name]) for name in self.searched])
        if work > MAX_WORK:
            raise ValidationException(
                f"The values in ExpressionAttributeValues are too large for this expression; values compared: {work}, "
                f"limit: {MAX_WORK}"
            )
        return BoundCondition(lambda item: test(item, values), self.paths, work, self.searches)


def _members(value: AttributeValue) -> int:
    """How many members a value has; text and binary count as if they had some."""
    ((_, content),) = value.items()
    return len(content) // TEXT_OF_MEMBER if type(content) is str else len(content)


def condition_of_text(text: str, scope: Scope) -> BoundCondition:
    """Parses a condition and binds it to the values of a request."""
    return _compiled(text, scope).bind(scope.values)


def bind_condition(tree: ConditionNode, scope: Scope) -> BoundCondition:
    return compile_condition(tree, scope).bind(scope.values)


def compile_condition(tree: ConditionNode, scope: Scope) -> CompiledCondition:
    operands = list(_operands(tree))
    paths = [scope.path(operand) for operand in operands if isinstance(operand, Path)]
    test = _test(tree, scope)
    searched = [name for call in _calls(tree) for name in _searched(call, scope)]
    searches = sum(call.function == "contains" for call in _calls(tree))
    texts = [each.name for each in operands if isinstance(each, Value) and scope.type_of_value(each.name) in ("S", "B")]
    return CompiledCondition(test, paths, len(operands), searched + texts, searches)


def _searched(call: FunctionCall, scope: Scope) -> Iterator[str]:
    """The placeholder of a list or a set that a call searches."""
    first = call.arguments[0] if call.arguments else None
    if call.function == "contains" and isinstance(first, Value) and scope.type_of_value(first.name) in ("L", *SETS):
        yield first.name


def _calls(tree: ConditionNode | Operand) -> Iterator[FunctionCall]:
    match tree:
        case FunctionCall():
            yield tree
        case AndNode(parts) | OrNode(parts):
            for part in parts:
                yield from _calls(part)
        case NotNode(condition):
            yield from _calls(condition)


def _operands(tree: ConditionNode | Operand) -> Iterator[Path | Value]:
    """The paths and values of a condition, in order."""
    match tree:
        case Path() | Value():
            yield tree
            return
        case AndNode(parts) | OrNode(parts) | FunctionCall(_, parts):
            inner: Iterable[ConditionNode | Operand] = parts
        case NotNode(condition):
            inner = (condition,)
        case CompareNode(_, left, right):
            inner = (left, right)
        case BetweenNode(operand, low, high):
            inner = (operand, low, high)
        case InNode(operand, choices):
            inner = (operand, *choices)
        case _:
            inner = ()
    for each in inner:
        yield from _operands(each)


def _test(tree: ConditionNode, scope: Scope) -> Test:
    match tree:
        case AndNode(parts):
            return conditions.every([_test(each, scope) for each in parts])
        case OrNode(parts):
            return conditions.some([_test(each, scope) for each in parts])
        case NotNode(condition):
            return conditions.negation(_test(condition, scope))
        case CompareNode(operator, left, right):
            return _comparison(operator, left, right, scope)
        case BetweenNode(operand, low, high):
            return _between(operand, low, high, scope)
        case InNode(operand, choices):
            return _membership(operand, choices, scope)
        case FunctionCall(name, arguments):
            operands = [_operand(argument, scope) for argument in arguments]
            _check_call(tree, scope)
            return conditions.function(name, operands)


def _comparison(operator: str, left: Operand, right: Operand, scope: Scope) -> Test:
    operands = _operand(left, scope), _operand(right, scope)
    check_distinct(operator, (left, right), scope)
    if operator not in ("=", "<>"):
        for operand in (left, right):
            kind = _static_type(operand, scope)
            if kind is not None and kind not in ("S", "N", "B"):
                raise _unordered(operator, kind)
    return conditions.comparison(operator, *operands)


def _between(operand: Operand, low: Operand, high: Operand, scope: Scope) -> Test:
    operands = _operand(operand, scope), _operand(low, scope), _operand(high, scope)
    check_distinct("BETWEEN", (operand, low, high), scope)
    for each in (operand, low, high):
        kind = _static_type(each, scope)
        if kind not in (None, "S", "N", "B"):
            raise _unordered("BETWEEN", kind)
    if isinstance(low, Value) and isinstance(high, Value):
        first, last = low.name, high.name
        scope.check_values(lambda values: check_between(values[first], values[last]))
    return conditions.between(*operands)


def _unordered(operator: str, kind: str | None) -> ExpressionError:
    return ExpressionError(
        f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"
    )


def check_between(low: AttributeValue, high: AttributeValue) -> None:
    """Rejects bounds of two types, of a type without an order, or in the wrong order."""
    bounds = (
        f"lower bound operand: AttributeValue: {{{_printed(low)}}}, "
        f"upper bound operand: AttributeValue: {{{_printed(high)}}}"
    )
    if type_of(low) != type_of(high):
        raise ExpressionError(f"The BETWEEN operator requires same data type for lower and upper bounds; {bounds}")
    if sort_value(low) is None:
        raise _unordered("BETWEEN", type_of(low))
    if sort_value(low) > sort_value(high):
        raise ExpressionError(
            f"The BETWEEN operator requires upper bound to be greater than or equal to lower bound; {bounds}"
        )


def _membership(operand: Operand, choices: tuple[Operand, ...], scope: Scope) -> Test:
    value = _operand(operand, scope)
    listed = [_operand(choice, scope) for choice in choices]
    if len(choices) > EXPRESSION_IN_OPERANDS:
        raise ExpressionError(
            "Too many operands for operator or function; "
            f"operator: IN, number of operands: {len(choices)}, limit: {EXPRESSION_IN_OPERANDS}"
        )
    check_distinct("IN", (operand, *choices), scope)
    return conditions.membership(value, listed)


def _operand(operand: Operand, scope: Scope) -> conditions.Operand:
    match operand:
        case Value(name):
            scope.value(name)
            return conditions.placeholder(name)
        case Path():
            return conditions.attribute(scope.path(operand))
        case FunctionCall("size", arguments):
            measured = [_operand(argument, scope) for argument in arguments]
            _check_call(operand, scope)
            return conditions.size_of(measured[0])
        case FunctionCall(function, _):
            raise ExpressionError(
                f"The function is not allowed to be used this way in an expression; function: {function}"
            )
        case _:
            raise ExpressionError("Syntax error; arithmetic is not allowed in a condition")


def _check_call(call: FunctionCall, scope: Scope) -> None:
    name, arguments = call.function, call.arguments
    if len(arguments) != _ARGUMENTS[name]:
        raise ExpressionError(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {name}, number of operands: {len(arguments)}"
        )
    check_distinct(name, arguments, scope)
    if name in ("attribute_exists", "attribute_not_exists") and not isinstance(arguments[0], Path):
        raise ExpressionError(f"Operator or function requires a document path; operator or function: {name}")
    kinds = [_static_type(argument, scope) for argument in arguments]
    if name == "begins_with":
        _reject_types(name, [kind for kind in kinds if kind not in (None, "S", "B")])
    elif name == "size":
        _reject_types(name, [kind for kind in kinds if kind in ("N", "BOOL", "NULL")])
    elif name == "attribute_type":
        _check_type_name(arguments[1], kinds[1], scope)


def _reject_types(name: str, wrong: list[str | None]) -> None:
    if wrong:
        raise ExpressionError(
            f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {wrong[0]}"
        )


def _check_type_name(argument: Operand, kind: str | None, scope: Scope) -> None:
    if kind != "S" or not isinstance(argument, Value):
        _reject_types("attribute_type", [kind or "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"])
        return
    placeholder = argument.name
    scope.check_values(lambda values: _check_type(values[placeholder]["S"]))


def _check_type(named: str) -> None:
    if named not in TYPES:
        raise ExpressionError(f"Invalid attribute type name found; type: {named}, valid types: {_TYPE_ORDER}")


def check_distinct(name: str, operands: tuple[Operand, ...], scope: Scope) -> None:
    """Rejects a comparison of an attribute with itself."""
    if not isinstance(operands[0], Path):
        return
    first = scope.path(operands[0])
    for operand in operands[1:]:
        if isinstance(operand, Path) and first == scope.path(operand):
            raise ExpressionError(
                "The first operand must be distinct from the remaining operands for this operator or function; "
                f"operator: {name}, first operand: {path_text(first)}"
            )


def _static_type(operand: Operand, scope: Scope) -> str | None:
    if isinstance(operand, Value):
        return scope.type_of_value(operand.name)
    return "N" if isinstance(operand, FunctionCall) and operand.function == "size" else None


def _printed(value: AttributeValue) -> str:
    kind = type_of(value)
    content = value[kind]
    return f"{kind}:[{', '.join(content)}]" if kind in SETS else f"{kind}:{content}"


_compiled = ExpressionCache(lambda text, scope: compile_condition(parse_condition(text), scope))
