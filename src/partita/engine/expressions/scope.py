"""The placeholders of one request: resolves names and values, and knows which were used."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from partita.dynamodb.canonical import check_attribute_name, checked_value
from partita.dynamodb.exceptions import (
    NestingTooDeep,
    RequestValidationException,
    SerializationException,
    ValidationException,
)
from partita.dynamodb.expression_nodes import Path
from partita.dynamodb.values import AttributeValue, Item, ResolvedPath, type_of
from partita.engine.expressions.tokens import EmptyExpression, ExpressionError

MAX_SHORT_NAME = 255  # characters; a longer name is measured in bytes
_NAME = re.compile(r"#[0-9a-zA-Z_]+\Z").match
_VALUE = re.compile(r":[0-9a-zA-Z_]+\Z").match

Shape = tuple[tuple[tuple[str, str], ...], tuple[tuple[str, ...], ...]]
Check = Callable[[Item], None]


class Scope:
    """`ExpressionAttributeNames` and `ExpressionAttributeValues`, checked and in canonical form."""

    __slots__ = ("checks", "names", "used", "values")

    def __init__(self, names: dict[str, str] | None = None, values: Item | None = None) -> None:
        self.names = _checked_names(names)
        self.values = _checked_values(values)
        self.used: set[str] = set()
        self.checks: list[Check] = []

    @property
    def shape(self) -> Shape:
        """Everything that a compiled expression depends on: the names, and the types of the values."""
        return tuple(self.names.items()), tuple([(name, *value) for name, value in self.values.items()])

    def unused_copy(self) -> "Scope":
        """The same placeholders, none of them used."""
        scope = Scope()
        scope.names, scope.values = self.names, self.values
        return scope

    def path(self, path: Path) -> ResolvedPath:
        return tuple(self.name(part) if isinstance(part, str) and part.startswith("#") else part for part in path.parts)

    def name(self, placeholder: str) -> str:
        try:
            name = self.names[placeholder]
        except KeyError:
            raise ExpressionError(
                f"An expression attribute name used in the document path is not defined; attribute name: {placeholder}"
            ) from None
        self.used.add(placeholder)
        return name

    def value(self, placeholder: str) -> AttributeValue:
        try:
            value = self.values[placeholder]
        except KeyError:
            raise ExpressionError(
                f"An expression attribute value used in expression is not defined; attribute value: {placeholder}"
            ) from None
        self.used.add(placeholder)
        return value

    def type_of_value(self, placeholder: str) -> str:
        return type_of(self.value(placeholder))

    def check_values(self, check: Check) -> None:
        """Checks the values beyond their types, now and on every use of the cached expression."""
        check(self.values)
        self.checks.append(check)

    def check_all_used(self) -> None:
        """Rejects placeholders that no expression uses, as DynamoDB does."""
        if len(self.used) == len(self.names) + len(self.values):
            return
        for kind, given in (("Names", self.names), ("Values", self.values)):
            if unused := [placeholder for placeholder in given if placeholder not in self.used]:
                raise ValidationException(
                    f"Value provided in ExpressionAttribute{kind} unused in expressions: keys: {{{', '.join(unused)}}}"
                )


def run_expression(parameter: str, work: Callable[[], Any]) -> Any:
    """Calls `work`, and names the parameter of the request in its errors."""
    try:
        return work()
    except EmptyExpression as error:
        raise ValidationException(f"Invalid {parameter}: {error}") from None
    except ExpressionError as error:
        raise RequestValidationException(f"Invalid {parameter}: {error}") from None


def path_text(path: Iterable[str | int]) -> str:
    """A path as DynamoDB's messages show it: `[a, [0], b]`."""
    return "[" + ", ".join(f"[{part}]" if isinstance(part, int) else part for part in path) + "]"


def _checked_names(names: dict[str, str] | None) -> dict[str, str]:
    if names is None:
        return {}
    if not names:
        raise ValidationException("ExpressionAttributeNames must not be empty")
    for placeholder in names:
        if not _NAME(placeholder):
            raise ValidationException(
                f'ExpressionAttributeNames contains invalid key: Syntax error; key: "{placeholder}"'
            )
    for placeholder, name in names.items():
        if not name or len(name) > MAX_SHORT_NAME:
            _check_name(placeholder, name)
    return names


def _check_name(placeholder: str, name: str) -> None:
    try:
        check_attribute_name(name)
    except ValidationException as error:
        raise ValidationException(
            f"ExpressionAttributeNames contains invalid value: {error.message} for key {placeholder}"
        ) from None


def _checked_values(values: Item | None) -> Item:
    if values is None:
        return {}
    if not values:
        raise ValidationException("ExpressionAttributeValues must not be empty")
    for placeholder in values:
        if not _VALUE(placeholder):
            raise ValidationException(
                f'ExpressionAttributeValues contains invalid key: Syntax error; key: "{placeholder}"'
            )
    return {
        placeholder: value if len(value) == 1 and type(value.get("S")) is str else _check_value(placeholder, value)
        for placeholder, value in values.items()
    }


def _check_value(placeholder: str, value: AttributeValue) -> AttributeValue:
    try:
        return checked_value(value)[0]
    except (SerializationException, NestingTooDeep):
        raise
    except ValidationException as error:
        raise error.with_message(
            f"ExpressionAttributeValues contains invalid value: {error.message} for key {placeholder}"
        ) from None
