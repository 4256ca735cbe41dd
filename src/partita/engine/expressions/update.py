"""Compiles an update's tree, and binds it to values: a function from the item before to the item after.

Every operand is read from the item before; then REMOVE, SET, ADD and DELETE change a copy. Elements that SET assigns
beyond the end of a list are appended, in the order of their indexes.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from itertools import pairwise
from typing import Any, NamedTuple

from partita.dynamodb.canonical import checked_value
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.expression_nodes import Arithmetic, FunctionCall, Operand, Path, UpdateAction, UpdateNode, Value
from partita.dynamodb.limits import ITEM_BYTES
from partita.dynamodb.numbers import checked_number, plain_text
from partita.dynamodb.values import SETS, AttributeValue, Item, ResolvedPath, type_of, value_at
from partita.engine.expressions.cache import ExpressionCache
from partita.engine.expressions.condition import check_distinct
from partita.engine.expressions.parse import parse_update
from partita.engine.expressions.projection import check_disjoint
from partita.engine.expressions.scope import Scope
from partita.engine.expressions.tokens import ExpressionError

_WRONG_TYPE = "An operand in the update expression has an incorrect data type"
_NO_PATH = "The document path provided in the update expression is invalid for update"
_NO_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"
_TYPE_NAMES = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "NULL": "NULL", "BOOL": "BOOLEAN", "L": "LIST", "M": "MAP"}
_ARGUMENTS = {"if_not_exists": 2, "list_append": 2}
FEW = 16  # actions that together cannot take long, whatever they assign

# The difference of two DynamoDB numbers can have 2 * 126 + 38 digits before its precision is checked.
_EXACT = Context(prec=400, Emin=-999999, Emax=999999)

_SHORT = 30  # digits; integers of so many, like counters, always have a valid sum

Operation = Callable[[Item, Item], AttributeValue]
"""The value of an operand, from the item before and the values of the request."""


class _IncorrectType(ValidationException):
    """An operand has another type than the attribute that it changes."""


class BoundUpdate(NamedTuple):
    """An update with the values of one request."""

    compiled: "CompiledUpdate"
    values: Item

    def apply(self, before: Item) -> Item:
        try:
            return self.compiled.apply(before, self.values)
        except _IncorrectType:
            if not self.compiled.is_legacy:
                raise
            raise ValidationException("Type mismatch for attribute to update") from None


def update_of_text(text: str, scope: Scope) -> BoundUpdate:
    """Parses an UpdateExpression and binds it to the values of a request."""
    return BoundUpdate(_compiled(text, scope), scope.values)


class CompiledUpdate:
    """An update with resolved names and checked operands; `paths` are those that it changes."""

    __slots__ = ("_assignments", "_steps", "is_legacy", "nested_paths", "only_removes", "paths", "touched")

    def __init__(self, tree: UpdateNode, scope: Scope, *, is_legacy: bool = False) -> None:
        """`is_legacy`: of AttributeUpdates, whose ADD appends to a list."""
        self.is_legacy = is_legacy
        self.paths = [scope.path(action.path) for action in tree.actions]
        self.nested_paths = [path for path in self.paths if len(path) > 1]
        self.touched = frozenset(str(path[0]) for path in self.paths)
        self.only_removes = all(action.section in ("REMOVE", "DELETE") for action in tree.actions)
        operands = [_operation(action, scope) for action in tree.actions]
        check_disjoint(self.paths)
        for action in tree.actions:
            if not is_legacy:
                _check_operator(action, scope)
        self._steps = [
            (action.section, path, operand)
            for action, path, operand in zip(tree.actions, self.paths, operands, strict=True)
        ]
        only_sets = all(action.section == "SET" for action in tree.actions) and not self.nested_paths
        self._assignments = [(str(path[0]), operand) for _, path, operand in self._steps if operand and only_sets]

    def apply(self, before: Item, values: Item) -> Item:
        if self._assignments and len(self._assignments) <= FEW:  # whole attributes, as most updates set
            return {**before, **{name: operand(before, values) for name, operand in self._assignments}}
        results = self._results(before, values)
        after = dict(before)
        opened: dict[ResolvedPath, Any] = {}
        lists = _ListChanges()
        for (section, path, _), value in zip(self._steps, results, strict=True):
            parent, last = (after, path[0]) if len(path) == 1 else _open_container(after, path, opened)
            if section == "REMOVE":
                _remove(parent, last, lists)
            elif value is not None:
                _ACT[section](parent, last, value, lists)
        lists.apply()
        return after

    def _results(self, before: Item, values: Item) -> list[AttributeValue | None]:
        """The values of the operands; raises DynamoDB's error as soon as they cannot fit into an item."""
        results: list[AttributeValue | None] = []
        members = 0
        for _, _, operand in self._steps:
            value = operand(before, values) if operand else None
            results.append(value)
            for content in value.values() if value else ():
                members += len(content) if type(content) is list else 0
            if members > ITEM_BYTES:  # each takes a byte at least
                raise item_too_large()
        return results


def item_too_large() -> ValidationException:
    return ValidationException("Item size to update has exceeded the maximum allowed size")


class _ListChanges:
    """Removals and appends of list elements, made after all actions, so that indexes mean the elements before."""

    __slots__ = ("appended", "removed")

    def __init__(self) -> None:
        self.appended: list[tuple[list[Any], int, AttributeValue]] = []
        self.removed: list[tuple[list[Any], int]] = []

    def apply(self) -> None:
        if not self.removed and not self.appended:
            return
        for members, index in sorted(self.removed, key=lambda each: -each[1]):
            del members[index]
        for members, _, value in sorted(self.appended, key=lambda each: each[1]):
            members.append(value)


def _operation(action: UpdateAction, scope: Scope) -> Operation | None:
    return None if action.operand is None else _getter(action.operand, scope)


def _getter(operand: Operand, scope: Scope) -> Operation:
    match operand:
        case Value(name):
            scope.value(name)
            return lambda item, values: values[name]
        case Path():
            path = scope.path(operand)
            return lambda item, values: _require_value(value_at(item, path))
        case Arithmetic(operator, left, right):
            first, second = _getter(left, scope), _getter(right, scope)
            _check_static(operator, (left, right), "N", scope)
            return lambda item, values: _sum(operator, first(item, values), second(item, values))
        case FunctionCall(function, arguments):
            return _call(function, arguments, scope)


def _call(function: str, arguments: tuple[Operand, ...], scope: Scope) -> Operation:
    if function not in _ARGUMENTS:
        raise _unknown_function(function)
    getters = [_getter(argument, scope) for argument in arguments]
    if len(arguments) != _ARGUMENTS[function]:
        raise ExpressionError(
            "Incorrect number of operands for operator or function; "
            f"operator or function: {function}, number of operands: {len(arguments)}"
        )
    first, second = getters
    if function == "list_append":
        _check_static(function, arguments, "L", scope)
        return lambda item, values: _concatenated(first(item, values), second(item, values))
    target = arguments[0]
    if not isinstance(target, Path):
        raise ExpressionError(f"Operator or function requires a document path; operator or function: {function}")
    check_distinct(function, arguments, scope)
    path = scope.path(target)

    def existing_or_default(item: Item, values: Item) -> AttributeValue:
        instead = second(item, values)  # evaluated in any case: its attributes must exist (DynamoDB Local)
        return instead if (value := value_at(item, path)) is None else value

    return existing_or_default


def _unknown_function(function: str) -> ExpressionError:
    """The error for a function of conditions, or one that PartiQL has as the whole of an assignment alone."""
    if function == "size":
        return ExpressionError(f"The function is not allowed in an update expression; function: {function}")
    return ExpressionError(f"Unrecognized function: {function}")


def _check_static(name: str, operands: tuple[Operand, ...], wanted: str, scope: Scope) -> None:
    for operand in operands:
        if isinstance(operand, Value) and (kind := scope.type_of_value(operand.name)) != wanted:
            raise ExpressionError(
                f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {kind}"
            )


def _check_operator(action: UpdateAction, scope: Scope) -> None:
    """Checks that ADD has a number or a set, and DELETE a set."""
    if action.section in ("ADD", "DELETE") and isinstance(action.operand, Value):
        kind = scope.type_of_value(action.operand.name)
        if kind in _TYPE_NAMES and not (action.section == "ADD" and kind == "N"):
            raise ExpressionError(
                "Incorrect operand type for operator or function; "
                f"operator: {action.section}, operand type: {_TYPE_NAMES[kind]}, "
                f"typeSet: ALLOWED_FOR_{action.section}_OPERAND"
            )


def _require_value(value: AttributeValue | None) -> AttributeValue:
    if value is None:
        raise ValidationException(_NO_ATTRIBUTE)
    return value


def _sum(operator: str, left: AttributeValue, right: AttributeValue) -> AttributeValue:
    if "N" not in left or "N" not in right:
        raise _IncorrectType(_WRONG_TYPE)
    one, other = left["N"], right["N"]
    if len(one) <= _SHORT and len(other) <= _SHORT and "." not in one and "." not in other:
        return {"N": str(int(one) + int(other) if operator == "+" else int(one) - int(other))}
    first, second = Decimal(one), Decimal(other)
    total = _EXACT.add(first, second) if operator == "+" else _EXACT.subtract(first, second)
    return {"N": plain_text(checked_number(total))}


def _concatenated(first: AttributeValue, second: AttributeValue) -> AttributeValue:
    if "L" not in first or "L" not in second:
        raise _IncorrectType(_WRONG_TYPE)
    return {"L": first["L"] + second["L"]}


def _open_container(item: Item, path: ResolvedPath, opened: dict[ResolvedPath, Any]) -> tuple[Any, str | int]:
    """The container of the path's last part, and that part.

    Containers on the path are copied, each once, so that the old item is unchanged. `opened` has the copies, which
    several actions may share.
    """
    parent: Any = item
    for at, (part, following) in enumerate(pairwise(path), 1):
        members = opened.get(path[:at])
        if members is None:
            kind = "L" if isinstance(following, int) else "M"
            try:
                members = opened[path[:at]] = parent[part][kind].copy()
            except (KeyError, IndexError):
                raise ValidationException(_NO_PATH) from None
            parent[part] = {kind: members}
        parent = members
    return parent, path[-1]


def _remove(parent: Any, last: str | int, lists: _ListChanges) -> None:
    if isinstance(last, str):
        parent.pop(last, None)
    elif last < len(parent):
        lists.removed.append((parent, last))


def _set(parent: Any, last: str | int, value: AttributeValue, lists: _ListChanges) -> None:
    if isinstance(last, int) and last >= len(parent):
        lists.appended.append((parent, last, value))
    else:
        parent[last] = value


def _existing(parent: Any, last: str | int) -> AttributeValue | None:
    if isinstance(last, int):
        return parent[last] if last < len(parent) else None
    return parent.get(last)  # type: ignore[no-any-return]


def _add(parent: Any, last: str | int, value: AttributeValue, lists: _ListChanges) -> None:
    existing, kind = _existing(parent, last), type_of(value)
    if existing is not None and type_of(existing) != kind:
        raise _IncorrectType(_WRONG_TYPE)
    if existing is None:
        _set(parent, last, value, lists)
    elif kind == "N":
        parent[last] = _sum("+", existing, value)
    elif kind == "L":
        parent[last] = _concatenated(existing, value)
    else:
        there = set(existing[kind])
        new = [each for each in value[kind] if each not in there]
        parent[last] = checked_value({kind: existing[kind] + new})[0]


def _delete(parent: Any, last: str | int, value: AttributeValue, lists: _ListChanges) -> None:
    existing, kind = _existing(parent, last), type_of(value)
    if existing is None:
        return
    if type_of(existing) != kind or kind not in SETS:
        raise _IncorrectType(_WRONG_TYPE)
    gone = set(value[kind])
    left = [each for each in existing[kind] if each not in gone]
    if left:
        parent[last] = {kind: left}
    else:
        _remove(parent, last, lists)


_compiled = ExpressionCache(lambda text, scope: CompiledUpdate(parse_update(text), scope))

_ACT: dict[str, Callable[[Any, str | int, AttributeValue, _ListChanges], None]] = {
    "SET": _set,
    "ADD": _add,
    "DELETE": _delete,
}
