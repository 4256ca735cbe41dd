"""A statement's text to a statement; parsed ones are kept, since programs send few distinct ones."""

from functools import lru_cache

from partita.dynamodb.exceptions import ValidationException
from partita.dynamodb.values import Item
from partita.engine.expressions.nodes import Action, Call, Condition, Operand, Path, Value
from partita.engine.partiql.literals import literal, starts_literal, struct_key
from partita.engine.partiql.statement_expressions import Expressions
from partita.engine.partiql.statement_tokens import NotWellFormed
from partita.engine.partiql.statements import Body, Exists, Insert, Order, Remove, Select, Statement, UpdateClause

_SET_FUNCTIONS = {"set_add": "ADD", "set_delete": "DELETE"}
_ONE_TABLE = "FROM clause may only contain a single table name in data manipulation statements"
_NO_INDEX = "This operation is not supported on an index"


@lru_cache(maxsize=4096)
def parse_statement(source: str) -> Statement:
    """The statement in a text; raises what DynamoDB would say of one that there cannot be.

    >>> parse_statement("SELECT * FROM notes WHERE id = ?").parameters
    1
    """
    parser = _Parser(source)
    body = parser.statement()
    parser.tokens.accept(";")
    if parser.tokens.peek().kind != "end":
        raise parser.tokens.unexpected("Expected end of statement")
    return Statement(body, parser.literals, parser.parameters)


class _Parser(Expressions):
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
            return Exists(inner)
        first, second = self.tokens.peek(), self.tokens.peek(1)
        if first.says("CREATE") or first.says("DROP"):
            raise ValidationException(f"Unsupported operation: {first.text.capitalize()}{second.text.capitalize()}")
        raise self.tokens.unexpected("Expected data manipulation")

    # SELECT

    def _select(self) -> Select:
        if self.tokens.peek().says("DISTINCT"):
            raise ValidationException("Unsupported token in expression: DISTINCT")
        if self.tokens.peek().says("VALUE") or self.tokens.peek().says("PIVOT"):
            raise ValidationException("Select projection doesn't support value or pivot keywords")
        paths = None if self.tokens.accept("*") else self._projection()
        self.tokens.expect("FROM")
        table, index = self._source()
        where = self.condition() if self.tokens.accept("WHERE") else None
        order = self._order(where) if self.tokens.accept("ORDER", "BY") else ()
        self._refuse_clauses()
        return Select(table, index, paths, where, order)

    def _projection(self) -> tuple[Path, ...]:
        found: list[Path] = []
        while True:
            found.append(self._projected())
            if self.tokens.peek().says("AS"):
                raise ValidationException("Aliasing is not supported")
            if not self.tokens.accept(","):
                break
        shown = [str(path.parts[0]) for path in found if len(path.parts) == 1]
        for name in shown:
            if shown.count(name) > 1:
                raise ValidationException(f"Duplicate identifiers in select clause: {name}")
        return tuple(found)

    def _projected(self) -> Path:
        """Only document paths can be selected: no value, function or sum."""
        token, following = self.tokens.peek(), self.tokens.peek(1)
        if token.says("?") or starts_literal(self.tokens) or (token.kind == "word" and following.says("(")):
            raise ValidationException(f"Unexpected path component at {token.place}")
        path = self.path()
        token = self.tokens.peek()
        if token.kind == "symbol" and token.text != ",":
            raise ValidationException(f"Unexpected path component at {token.place}")
        return path

    def _source(self) -> tuple[str, str | None]:
        table = self.name()
        index = self.name() if self.tokens.accept(".") else None
        token = self.tokens.peek()
        if token.says(","):
            raise ValidationException("Only select from a single table or index is supported.")
        if token.is_identifier or token.says("AS"):
            raise ValidationException("Aliasing is not supported")
        return table, index

    def _order(self, where: Condition | None) -> tuple[Order, ...]:
        if where is None:
            raise ValidationException("Must have WHERE clause in the statement when using ORDER BY clause.")
        found: list[Order] = []
        while True:
            name = self.name()
            descending = self.tokens.accept("DESC")
            if not descending:
                self.tokens.accept("ASC")
            found.append(Order(name, descending))
            if not self.tokens.accept(","):
                return tuple(found)

    def _refuse_clauses(self) -> None:
        for words in (("LIMIT",), ("GROUP", "BY"), ("HAVING",), ("OFFSET",)):
            if self.tokens.accept(*words):
                place = f" at {self.tokens.peek().place}" if words == ("LIMIT",) else ""
                raise ValidationException(f"Unsupported clause: {' '.join(words)}{place}")

    # INSERT

    def _insert(self) -> Insert:
        self.tokens.expect("INTO")
        table = self.name()
        if self.tokens.accept("."):
            raise ValidationException(_ONE_TABLE)
        if self.tokens.peek().says("{"):
            raise ValidationException("Unsupported operation: InsertOp")
        self.tokens.expect("VALUE")
        members = self._members()
        if self.tokens.peek().says("RETURNING"):
            raise ValidationException("RETURNING is not supported in INSERT")
        return Insert(table, members)

    def _members(self) -> tuple[tuple[str, Value], ...]:
        start = self.tokens.take()
        if not start.says("{"):
            raise ValidationException(
                "Unsupported format in item expression. Please use struct format {...} to express item values for "
                f"insert statement. at {start.place}"
            )
        found: dict[str, Value] = {}
        names: Item = {}
        if self.tokens.accept("}"):
            return ()
        while True:
            name = struct_key(self.tokens, "root", names)
            names[name] = {}
            found[name] = self.parameter() if self.tokens.accept("?") else self.value(literal(self.tokens))
            if not self.tokens.accept(","):
                self.tokens.expect("}")
                return tuple(found.items())

    # UPDATE and DELETE

    def _update(self) -> UpdateClause:
        table = self._written_table()
        actions: list[Action] = []
        while True:
            if self.tokens.accept("SET"):
                actions.append(self._assignment())
                while self.tokens.accept(","):
                    actions.append(self._assignment())
            elif self.tokens.accept("REMOVE"):
                actions.append(Action("REMOVE", self.path(), None))
            else:
                break
        if not actions:
            raise self.tokens.unexpected("Expected SET or REMOVE")
        where = self.condition() if self.tokens.accept("WHERE") else None
        return UpdateClause(table, tuple(actions), where, self._returning())

    def _assignment(self) -> Action:
        path = self.path()
        self.tokens.expect("=")
        operand = self.operand()
        if isinstance(operand, Call) and operand.function in _SET_FUNCTIONS:
            return self._set_change(path, operand)
        return Action("SET", path, operand)

    def _set_change(self, path: Path, call: Call) -> Action:
        """`SET s = set_add(s, <<...>>)` is what ADD is in an update expression, and set_delete is DELETE."""
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
        return Action(_SET_FUNCTIONS[call.function], path, arguments[1])

    def _is_set(self, operand: Operand) -> bool:
        if not isinstance(operand, Value):
            return False
        spelled = self.literals.get(operand.name)
        return spelled is None or not spelled.keys().isdisjoint(("SS", "NS", "BS"))

    def _delete(self) -> Remove:
        self.tokens.expect("FROM")
        table = self._written_table()
        where = self.condition() if self.tokens.accept("WHERE") else None
        returning = self._returning()
        if returning not in (None, "ALL_OLD"):
            words = returning.replace("UPDATED", "MODIFIED").replace("_", " ")
            raise ValidationException(
                f"Invalid returning clause: RETURNING {words} *. Only RETURNING ALL OLD * is allowed in DELETE "
                "statements."
            )
        return Remove(table, where, returning)

    def _written_table(self) -> str:
        table = self.name()
        if self.tokens.accept("."):
            raise ValidationException(_NO_INDEX)
        return table

    def _returning(self) -> str | None:
        """`RETURNING ALL OLD *` is ReturnValues ALL_OLD; what is modified there is updated here."""
        if not self.tokens.accept("RETURNING"):
            return None
        extent = self.tokens.take().text.upper()
        age = self.tokens.take().text.upper()
        if extent not in ("ALL", "MODIFIED") or age not in ("OLD", "NEW"):
            raise NotWellFormed("Expected ( MODIFIED | ALL ) ( NEW | OLD ) after RETURNING")
        if not self.tokens.take().says("*"):
            raise ValidationException("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
        return f"{'ALL' if extent == 'ALL' else 'UPDATED'}_{age}"
