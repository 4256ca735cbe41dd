"""The PartiQL console: statements that read run at once, statements that write ask first."""

from typing import Any

import msgspec

from partita.dynamodb.exceptions import DynamoDBError, ValidationException
from partita.dynamodb.statement_shapes import ExecuteStatement, only_selects
from partita.dynamodb.statements.statement_parser import parse_statement
from partita.studio.attribute_display import attribute_cell, columns_of
from partita.studio.budgets import BudgetExceeded, UsedCapacity
from partita.studio.components import (
    code_block,
    empty,
    field,
    grid,
    heading,
    hidden,
    left_out,
    notice,
    pages_of,
    text_area,
    text_input,
    used_line,
)
from partita.studio.json_input import InvalidInput
from partita.studio.markup import Child, Markup, el
from partita.studio.shell import page
from partita.studio.visits import Visit
from partita.studio.write_policy import read_only_advice


class StatementView(msgspec.Struct, frozen=True):
    """A PartiQL statement and its items; `asks` is true for one that writes and has not run."""

    statement: str
    size: int
    asks: bool = False
    ran: bool = False
    items: list[dict[str, Any]] = []
    next_token: str | None = None
    error: str = ""
    used: UsedCapacity | None = None

    @property
    def status(self) -> int:
        return 422 if self.error else 200


def read_statement(visit: Visit) -> StatementView:
    statement, size = visit.param("statement").strip(), visit.number("size", 50, 1, 500)
    if not statement:
        return StatementView(statement, size)
    try:
        reads = parse_statement(statement).reads
    except ValidationException as error:
        return StatementView(statement, size, error=str(error))
    if not reads:
        return StatementView(statement, size, asks=True)
    return _ran(visit, statement, size)


def write_statement(visit: Visit) -> StatementView:
    """Runs a statement that writes."""
    statement = visit.param("statement").strip()
    if not statement:
        raise InvalidInput("the statement is empty", "statement")
    visit.check_writable()
    found = _ran(visit, statement, 50)
    visit.record("partiql", [statement], found.error or "done")
    return found


def _ran(visit: Visit, statement: str, size: int) -> StatementView:
    is_read = only_selects(ExecuteStatement(statement=statement))
    request = ExecuteStatement(
        statement=statement, limit=size if is_read else None, next_token=visit.param("next") or None
    )
    try:
        reply = visit.backend.call(request)
    except (DynamoDBError, BudgetExceeded) as error:
        return StatementView(statement, size, error=str(error), used=visit.used)
    items = [msgspec.json.decode(raw) for raw in reply.items or ()]
    return StatementView(
        statement, size, ran=True, items=items, next_token=reply.next_token if is_read else None, used=visit.used
    )


def render_statement(view: StatementView, visit: Visit) -> Markup:
    example = 'SELECT * FROM "{}"'.format(visit.db.table_name(visit.design.tables[0]))  # noqa: S608, UP032 - shown
    form = el(
        "form",
        field("statement", "Statement", text_area("statement", view.statement or example, 5, hint=True), _hint()),
        el(
            "div",
            field("size", "Items a page", text_input("size", str(view.size), type="number", min=1, max=500)),
            el("button", "Run", cls="primary"),
            el("button", "Save query", type="button", data_save_query="PartiQL", data_save_run="no", hidden=True),
            cls="row",
        ),
        action=visit.url("partiql"),
        cls="panel stack",
    )
    about = "DynamoDB's SQL. It knows nothing of the design: keys, counters and guards are yours to keep right."
    return page(
        visit,
        "PartiQL",
        heading("PartiQL", about),
        form,
        notice("bad", view.error) if view.error else None,
        _question(view, visit) if view.asks else None,
        _items(view, visit) if view.ran else None,
        used_line(view.used) if view.used is not None else None,
        section="partiql",
    )


def _hint() -> str:
    return "SELECT runs at once. INSERT, UPDATE and DELETE ask first."


def _question(view: StatementView, visit: Visit) -> Markup:
    if not visit.place.writable:
        return notice("warn", "This statement changes data. ", read_only_advice(visit.place))
    account = f" in account {visit.place.account}" if visit.place.account else ""
    return notice(
        "warn",
        el("p", f"This statement changes data on {visit.place.address}{account}, past the design's invariants."),
        code_block("Statement", view.statement),
        el(
            "form",
            hidden(form_token=visit.session.form_token, statement=view.statement),
            el("button", "Run it", cls="danger"),
            method="post",
            action=visit.url("partiql"),
        ),
    )


def _items(view: StatementView, visit: Visit) -> Markup:
    following = first = None
    if view.next_token:
        following = visit.url("partiql", statement=view.statement, size=view.size, next=view.next_token)
    if visit.param("next"):
        first = visit.url("partiql", statement=view.statement, size=view.size)
    pages = pages_of("Pages of items", following, first)
    if not view.items:
        text = "None of the items that were read so far matches; the next page reads on."
        done = "The statement ran, and returned nothing."
        return el("section", empty("No items", text if following else done), pages)
    names = columns_of(view.items)
    rows: list[list[Child]] = [[attribute_cell(each.get(name)) for name in names.shown] for each in view.items]
    return el(
        "section",
        el("h2", "Items ", el("span", f"{len(rows)} shown", cls="count-text")),
        grid("Items", [*names.shown], rows),
        left_out(names.left_out),
        pages,
    )
