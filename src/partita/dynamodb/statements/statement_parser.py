"""Parses statements; they are cached, since programs send few distinct ones."""

from collections import Counter

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.expression_nodes import ConditionNode, FunctionCall, Operand, Path, UpdateAction, Value
from partita.dynamodb.statements.literals import parse_literal, parse_struct_key, starts_literal
from partita.dynamodb.statements.statement_expressions import StatementExpressionParser
from partita.dynamodb.statements.statement_nodes import (
    Body,
    DeleteClause,
    ExistsCheck,
    Insert,
    OrderBy,
    Select,
    Statement,
    UpdateClause,
)
from partita.dynamodb.statements.statement_tokens import NotWellFormed
from partita.dynamodb.text_cache import cached_by_text
from partita.dynamodb.values import Item

_SET_FUNCTIONS = {"set_add": "ADD", "set_delete": "DELETE"}
_ONE_TABLE = "FROM clause may only contain a single table name in data manipulation statements"
_NO_INDEX = "This operation is not supported on an index"


@cached_by_text
def parse_statement(source: str) -> Statement:
    """Parses a statement; raises DynamoDB's error for an invalid one.

    >>> parse_statement("SELECT * FROM notes WHERE id = ?").parameters
    1
    """
    parser = _StatementParser(source)
    body = parser.statement()
    parser.tokens.accept(";")
    if parser.tokens.peek().kind != "end":
        raise parser.tokens.unexpected("Expected end of statement")
    return Statement(body, parser.literals, parser.parameters)


class _StatementParser(StatementExpressionParser):
    def statement(self) -> Body:
        if self.tokens.accept("SELECT"):
            return self._select()
        if self.tokens.accept("INSERT"):
            return self._insert()
        if self.tokens.accept("UPDATE"):
            return self._update()
        if self.tokens.accept("DELETE"):
            return self._delete()
        if self.tokens.accept("EXISTS", "("):
            self.tokens.expect("SELECT")
            inner = self._select()
            self.tokens.expect(")")
            return ExistsCheck(inner)
        first, second = self.tokens.peek(), self.tokens.peek(1)
        if first.matches("CREATE") or first.matches("DROP"):
            raise ValidationException(f"Unsupported operation: {first.text.capitalize()}{second.text.capitalize()}")
        raise self.tokens.unexpected("Expected data manipulation")

    # SELECT

    def _select(self) -> Select:
        if self.tokens.peek().matches("DISTINCT"):
            raise ValidationException("Unsupported token in expression: DISTINCT")
        if self.tokens.peek().matches("VALUE") or self.tokens.peek().matches("PIVOT"):
            raise ValidationException("Select projection doesn't support value or pivot keywords")
        paths = None if self.tokens.accept("*") else self._projection()
        self.tokens.expect("FROM")
        table, index = self._source()
        where = self.condition() if self.tokens.accept("WHERE") else None
        order = self._order(where) if self.tokens.accept("ORDER", "BY") else ()
        self._reject_clauses()
        return Select(table, index, paths, where, order)

    def _projection(self) -> tuple[Path, ...]:
        found: list[Path] = []
        while True:
            found.append(self._projected_path())
            if self.tokens.peek().matches("AS"):
                raise ValidationException("Aliasing is not supported")
            if not self.tokens.accept(","):
                break
        names = Counter(str(path.parts[0]) for path in found if len(path.parts) == 1)
        for name, count in names.items():
            if count > 1:
                raise ValidationException(f"Duplicate identifiers in select clause: {name}")
        return tuple(found)

    def _projected_path(self) -> Path:
        """Parses a document path; a value, function or sum cannot be selected."""
        token, following = self.tokens.peek(), self.tokens.peek(1)
        if token.matches("?") or starts_literal(self.tokens) or (token.kind == "word" and following.matches("(")):
            raise ValidationException(f"Unexpected path component at {token.location}")
        path = self.path()
        token = self.tokens.peek()
        if token.kind == "symbol" and token.text != ",":
            raise ValidationException(f"Unexpected path component at {token.location}")
        return path

    def _source(self) -> tuple[str, str | None]:
        table = self.name()
        index = self.name() if self.tokens.accept(".") else None
        token = self.tokens.peek()
        if token.matches(","):
            raise ValidationException("Only select from a single table or index is supported.")
        if token.is_identifier or token.matches("AS"):
            raise ValidationException("Aliasing is not supported")
        return table, index

    def _order(self, where: ConditionNode | None) -> tuple[OrderBy, ...]:
        if where is None:
            raise ValidationException("Must have WHERE clause in the statement when using ORDER BY clause.")
        found: list[OrderBy] = []
        while True:
            name = self.name()
            descending = self.tokens.accept("DESC")
            if not descending:
                self.tokens.accept("ASC")
            found.append(OrderBy(name, descending))
            if not self.tokens.accept(","):
                return tuple(found)

    def _reject_clauses(self) -> None:
        for words in (("LIMIT",), ("GROUP", "BY"), ("HAVING",), ("OFFSET",)):
            if self.tokens.accept(*words):
                place = f" at {self.tokens.peek().location}" if words == ("LIMIT",) else ""
                raise ValidationException(f"Unsupported clause: {' '.join(words)}{place}")

    # INSERT

    def _insert(self) -> Insert:
        self.tokens.expect("INTO")
        table = self.name()
        if self.tokens.accept("."):
            raise ValidationException(_ONE_TABLE)
        if self.tokens.peek().matches("{"):
            raise ValidationException("Unsupported operation: InsertOp")
        self.tokens.expect("VALUE")
        members = self._members()
        if self.tokens.peek().matches("RETURNING"):
            raise ValidationException("RETURNING is not supported in INSERT")
        return Insert(table, members)

    def _members(self) -> tuple[tuple[str, Value], ...]:
        start = self.tokens.take()
        if not start.matches("{"):
            raise ValidationException(
                "Unsupported format in item expression. Please use struct format {...} to express item values for "
                f"insert statement. at {start.location}"
            )
        found: dict[str, Value] = {}
        names: Item = {}
        if self.tokens.accept("}"):
            return ()
        while True:
            name = parse_struct_key(self.tokens, "root", names)
            names[name] = {}
            found[name] = self.parameter() if self.tokens.accept("?") else self.value(parse_literal(self.tokens))
            if not self.tokens.accept(","):
                self.tokens.expect("}")
                return tuple(found.items())

    # UPDATE and DELETE

    def _update(self) -> UpdateClause:
        table = self._target_table()
        actions: list[UpdateAction] = []
        while True:
            if self.tokens.accept("SET"):
                actions.append(self._assignment())
                while self.tokens.accept(","):
                    actions.append(self._assignment())
            elif self.tokens.accept("REMOVE"):
                actions.append(UpdateAction("REMOVE", self.path(), None))
            else:
                break
        if not actions:
            raise self.tokens.unexpected("Expected SET or REMOVE")
        where = self.condition() if self.tokens.accept("WHERE") else None
        return UpdateClause(table, tuple(actions), where, self._returning())

    def _assignment(self) -> UpdateAction:
        path = self.path()
        self.tokens.expect("=")
        operand = self.operand()
        if isinstance(operand, FunctionCall) and operand.function in _SET_FUNCTIONS:
            return self._set_change(path, operand)
        return UpdateAction("SET", path, operand)

    def _set_change(self, path: Path, call: FunctionCall) -> UpdateAction:
        """`SET s = set_add(s, <<...>>)` is ADD in an update expression, and set_delete is DELETE."""
        name, arguments = call.function.upper(), call.arguments
        if len(arguments) != 2:
            raise ValidationException(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {name}, number of operands: {len(arguments)}"
            )
        if arguments[0] != path:
            raise ValidationException(f"The first argument to {name} must equal the assignment value")
        if not self._is_set(arguments[1]):
            raise ValidationException(f"The second argument to {name} must be a value with type SET")
        return UpdateAction(_SET_FUNCTIONS[call.function], path, arguments[1])

    def _is_set(self, operand: Operand) -> bool:
        if not isinstance(operand, Value):
            return False
        spelled = self.literals.get(operand.name)
        return spelled is None or not spelled.keys().isdisjoint(("SS", "NS", "BS"))

    def _delete(self) -> DeleteClause:
        self.tokens.expect("FROM")
        table = self._target_table()
        where = self.condition() if self.tokens.accept("WHERE") else None
        returning = self._returning()
        if returning not in (None, "ALL_OLD"):
            words = returning.replace("UPDATED", "MODIFIED").replace("_", " ")
            raise ValidationException(
                f"Invalid returning clause: RETURNING {words} *. Only RETURNING ALL OLD * is allowed in DELETE "
                "statements."
            )
        return DeleteClause(table, where, returning)

    def _target_table(self) -> str:
        table = self.name()
        if self.tokens.accept("."):
            raise ValidationException(_NO_INDEX)
        return table

    def _returning(self) -> str | None:
        """`RETURNING ALL OLD *` is ReturnValues ALL_OLD, and MODIFIED is UPDATED."""
        if not self.tokens.accept("RETURNING"):
            return None
        extent = self.tokens.take().text.upper()
        age = self.tokens.take().text.upper()
        if extent not in ("ALL", "MODIFIED") or age not in ("OLD", "NEW"):
            raise NotWellFormed("Expected ( MODIFIED | ALL ) ( NEW | OLD ) after RETURNING")
        if not self.tokens.take().matches("*"):
            raise ValidationException("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
        return f"{'ALL' if extent == 'ALL' else 'UPDATED'}_{age}"
