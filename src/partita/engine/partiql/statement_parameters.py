"""A statement with the parameters of its request."""

from collections.abc import Callable
from typing import Any

from partita.dynamodb.canonical import checked_value
from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.expression_nodes import Path
from partita.dynamodb.statements.statement_nodes import Body
from partita.dynamodb.statements.statement_parser import parse_statement
from partita.dynamodb.values import AttributeValue, Item, ResolvedPath
from partita.engine.expressions.scope import Scope
from partita.engine.expressions.tokens import ExpressionError


class StatementScope(Scope):
    """Literals and parameters; names in a statement are names, never placeholders."""

    __slots__ = ()

    def __init__(self, values: Item) -> None:
        super().__init__()
        self.values = {
            name: value if len(value) == 1 and type(value.get("S")) is str else checked_value(value)[0]
            for name, value in values.items()
        }

    def unused_copy(self) -> "StatementScope":
        scope = StatementScope({})
        scope.values = self.values
        return scope

    def path(self, path: Path) -> ResolvedPath:
        return path.parts


class BoundStatement:
    """A statement with its values."""

    __slots__ = ("body", "scope", "table", "text")

    def __init__(self, text: str, parameters: list[AttributeValue] | None) -> None:
        statement = parse_statement(text)
        values = parameters or []
        if len(values) != statement.parameters:
            raise ValidationException("Number of parameters in request and statement don't match.")
        self.text = text
        self.table = statement.table
        self.body: Body = statement.body
        self.scope = StatementScope(statement.literals | {f":?{number}": value for number, value in enumerate(values)})


def run_statement_expression(work: Callable[[], Any]) -> Any:
    """Calls `work`; its expression errors name no parameter."""
    try:
        return work()
    except ExpressionError as error:
        raise ValidationException(str(error)) from None
