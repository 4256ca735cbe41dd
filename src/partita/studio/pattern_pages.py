"""The access patterns of a design: the list of them, and each as a form that is explained before it runs."""

import time
from inspect import cleandoc
from typing import Any

import msgspec

from partita.describe.explain import ReadExplanation, explained, explained_read
from partita.design.models import Model, model_of
from partita.design.patterns import Pattern
from partita.design.reads import Get, Query
from partita.design.tables import Table
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.requests import DescribeTable, Scan
from partita.errors import ConfigurationError, InvalidValue, NotFound, StoreError
from partita.plan.items import key_of, values_of
from partita.quantities import quantity
from partita.store.decoding import recogniser_of
from partita.store.flows import run
from partita.store.reading import QueryPages
from partita.studio.attribute_display import columns_of, json_text, plain_cell, plain_values
from partita.studio.budgets import BudgetExceeded, UsedCapacity
from partita.studio.code_samples import cli_code, code_hint, python_code
from partita.studio.components import (
    chip,
    choice,
    code_block,
    details,
    empty,
    facts,
    field,
    grid,
    heading,
    left_out,
    notice,
    pages_of,
    saved_queries,
    text_input,
    used_line,
)
from partita.studio.markup import Child, Markup, el, join
from partita.studio.pattern_forms import PatternField, arguments_of, fields_by_argument, fields_of, text_of
from partita.studio.shell import page
from partita.studio.visits import Visit
from partita.studio.write_policy import DataPlace

PAGE_SIZE = 25
MAX_PAGE = 500
SAMPLE = 500  # items that are read to find an example


class PatternSummary(msgspec.Struct, frozen=True):
    """A pattern in the list."""

    name: str
    signature: str
    about: str
    returns: list[str]
    operation: str
    where: str


class PatternListView(msgspec.Struct, frozen=True):
    """Every access pattern of a design."""

    patterns: list[PatternSummary]


class RequestView(msgspec.Struct, frozen=True):
    """A request in DynamoDB's words."""

    operation: str
    body: msgspec.Raw


class ExplanationView(msgspec.Struct, frozen=True):
    """What a pattern reads, at what cost, and why that is right; `requests` once it has arguments."""

    where: str
    range: str
    cost: str
    item_bytes: int
    proof: list[str]
    request_count: int
    requests: list[RequestView]


class ResultRow(msgspec.Struct, frozen=True):
    """An entity that a pattern found; `key` is that of its item, None where the result is a view."""

    entity: str
    values: dict[str, Any]
    key: dict[str, Any] | None = None
    score: float | None = None


class ResultsView(msgspec.Struct, frozen=True):
    """A page of results, the cursor of the next one, and the capacity that it used."""

    rows: list[ResultRow]
    cursor: str | None
    used: UsedCapacity
    stopped: str = ""
    """Why the page has fewer results than it may: its budget was used up, and the next page reads on."""


class PatternView(msgspec.Struct, frozen=True):
    """A pattern: its form, its explanation, and its results where it was run."""

    name: str
    about: str
    returns: list[str]
    table: str
    fields: list[PatternField]
    explanation: ExplanationView | None
    error: str
    error_field: str
    results: ResultsView | None
    python: str
    cli: str
    size: int

    @property
    def status(self) -> int:
        return 422 if self.error else 200


def read_patterns(visit: Visit) -> PatternListView:
    return PatternListView([_summary(each) for each in visit.design.patterns.values()])


def _summary(pattern: Pattern[Any, Any]) -> PatternSummary:
    source = pattern.read.sources[0]
    where = source.model.table.name if source.keys.index is None else source.keys.index
    return PatternSummary(
        pattern.name, _signature(pattern), _about(pattern), _returns(pattern), pattern.read.operation, where
    )


def _signature(pattern: Pattern[Any, Any]) -> str:
    return f"{pattern.name}({', '.join(pattern.signature.parameters)})"


def _about(pattern: Pattern[Any, Any]) -> str:
    return " ".join(cleandoc(pattern.__doc__ or "").split())


def _returns(pattern: Pattern[Any, Any]) -> list[str]:
    return [source.model.name for source in pattern.read.sources]


def render_patterns(view: PatternListView, visit: Visit) -> Markup:
    if not view.patterns:
        shown = empty("No access patterns", "Declare them with @pattern beside the entities of the design.")
    else:
        shown = el("ul", [_pattern_line(each, visit) for each in view.patterns], cls="list", data_filtered=True)
    about = f"{quantity(len(view.patterns), 'pattern')}, each proven when the design was loaded."
    filter_field = el(
        "input",
        type="search",
        placeholder="Filter by name, entity or index",
        aria_label="Filter patterns",
        data_filter=True,
        hidden=True,
        cls="filter",
    )
    nothing = el("p", "No pattern matches the filter.", data_filter_nothing=True, hidden=True, cls="faint")
    return page(
        visit,
        "Patterns",
        heading("Access patterns", about),
        saved_queries(),
        filter_field,
        shown,
        nothing,
        section="patterns",
    )


def _pattern_line(each: PatternSummary, visit: Visit) -> Markup:
    name, _, parameters = each.signature.partition("(")
    return el(
        "li",
        el("a", el("code", name, el("span", f"({parameters}", cls="faint")), href=visit.url("patterns", name)),
        el("span", [chip(visit.design, entity) for entity in each.returns], cls="chips"),
        el("span", f"{each.operation} on {each.where}", cls="faint small"),
        el("p", each.about, cls="small") if each.about else None,
        data_text=f"{each.signature} {' '.join(each.returns)} {each.where} {each.about}".lower(),
    )


def read_pattern(visit: Visit) -> PatternView:
    pattern = _pattern(visit)
    source = pattern.read.sources[0].model
    given = {each.name: visit.param(f"arg.{each.name}") for each in pattern.arguments}
    error = error_field = ""
    wanted = bool(visit.param("run"))
    if visit.param("fill") and given:
        given |= example_arguments(visit, pattern)
        if not any(given.values()):
            error = f"No {source.name} was found in the first {SAMPLE} items of the table."
            wanted = False
    size = visit.number("size", pattern.read.page_size or PAGE_SIZE, 1, MAX_PAGE)
    explanation: ReadExplanation | None = None
    results: ResultsView | None = None
    python = cli = ""
    item_bytes = average_item_bytes(visit, source.table)
    try:
        if wanted or all(given[each.name] for each in fields_of(pattern, given) if each.required):
            arguments = arguments_of(pattern, given)
            call = pattern(*arguments) if not _by_name(pattern) else pattern(**dict(zip(given, arguments, strict=True)))
            if isinstance(call, Query):
                call = call.page(size)
            explanation = explained(call, item_bytes, visit.db.context.table_name)
            python = python_code(visit.design, pattern, arguments, visit.place)
            cli = "\n\n".join(cli_code(each, visit.place) for each in explanation.requests[:3])
            results = _run(visit, call, size) if wanted else None
    except InvalidValue as wrong:
        error, error_field = str(wrong), str(wrong.argument or (wrong.path[0] if wrong.path else ""))
    except (ConfigurationError, StoreError, DynamoDBError, BudgetExceeded) as wrong:
        error = str(wrong)
    explanation = explanation or explained_read(pattern.read, item_bytes, visit.db.context.table_name)
    return PatternView(
        pattern.name,
        _about(pattern),
        _returns(pattern),
        source.table.name,
        fields_of(pattern, given),
        _explanation(explanation, item_bytes),
        error,
        error_field,
        results,
        python,
        cli,
        size,
    )


def _pattern(visit: Visit) -> Pattern[Any, Any]:
    found = visit.design.patterns.get(visit.arguments["pattern"])
    if found is None:
        raise NotFound("Pattern", {"name": visit.arguments["pattern"]})
    return found


def _by_name(pattern: Pattern[Any, Any]) -> bool:
    return any(each.kind is each.KEYWORD_ONLY for each in pattern.signature.parameters.values())


def _explanation(found: ReadExplanation, item_bytes: int) -> ExplanationView:
    requests = [RequestView(type(each).__name__, msgspec.Raw(msgspec.json.encode(each))) for each in found.requests[:3]]
    return ExplanationView(found.where, found.range, found.cost, item_bytes, found.proof, found.request_count, requests)


def average_item_bytes(visit: Visit, table: Table) -> int:
    """The average size of an item, as the table's description has it; 1,024 where it is not known."""
    try:
        found = visit.backend.call(DescribeTable(table_name=visit.db.table_name(table))).table
    except DynamoDBError:
        return 1024
    count = (found.item_count if found else 0) or 0
    return max(1, round((found.table_size_bytes or 0) / count)) if found and count else 1024


def example_arguments(visit: Visit, pattern: Pattern[Any, Any]) -> dict[str, str]:
    """The texts of arguments with which the pattern finds an item that exists."""
    model = pattern.read.sources[0].model
    fields = fields_by_argument(pattern)
    for values in sampled_values(visit, model):
        if all(values.get(_json_name(model, each)) is not None for each in fields.values()):
            types = {each.name: each.type for each in pattern.arguments}
            return {
                name: text_of(values.get(_json_name(model, attribute)), types[name])
                for name, attribute in fields.items()
            }
    return {}


def sampled_values(visit: Visit, model: Model) -> list[dict[str, Any]]:
    """Some entities, from the first items of their table."""
    reply = visit.backend.call(Scan(table_name=visit.db.table_name(model.table), limit=SAMPLE))
    recogniser = recogniser_of(model.table)
    found = []
    for raw in reply.items or ():
        if recogniser.model_of(raw) is model:
            entity = visit.db.decode_item(model.table.name, msgspec.json.decode(raw))
            if entity is not None:
                found.append(plain_values(entity))
    return found


def _json_name(model: Model, name: str) -> str:
    return next((each.encode_name for each in msgspec.structs.fields(model.cls) if each.name == name), name)


def _run(visit: Visit, call: Any, size: int) -> ResultsView:
    if isinstance(call, Get):
        found = visit.db.get(call)
        return ResultsView([] if found is None else [result_row(found)], None, visit.used)
    if isinstance(call, Query):
        return _query_page(visit, call, size)
    return ResultsView([result_row(each.item, each.score) for each in visit.db(call)], None, visit.used)


def _query_page(visit: Visit, call: Query[Any], size: int) -> ResultsView:
    """A page of a query. One with a filter reads any number of items for a result, so it may end early."""
    pages: QueryPages[Any] = QueryPages(visit.db.context, call, visit.param("cursor") or None)
    filtered = call.read.is_filtered
    rows: list[ResultRow] = []
    stopped = ""
    try:
        while len(rows) < size and not pages.is_done:
            found = run(
                pages.fetch(1 if filtered else size), visit.backend, time.sleep
            )  # what was fetched is not lost by an error
            rows += [result_row(each) for each in found]
            if not filtered:
                break
    except BudgetExceeded as error:
        if not filtered:
            raise
        stopped = str(error)
    return ResultsView(rows, pages.cursor(), visit.used, stopped)


def result_row(entity: Any, score: float | None = None) -> ResultRow:
    """An entity that was found, as plain values with the key of its item."""
    values = plain_values(entity)
    kind = type(entity)
    if getattr(kind, "__model__", None) is None:
        return ResultRow(kind.__name__, values, None, score)
    model = model_of(kind)
    return ResultRow(model.name, values, key_of(model, values_of(model, entity)), score)


def render_pattern(view: PatternView, visit: Visit) -> Markup:
    title = el("code", view.name)
    returns = [chip(visit.design, each, visit.url("items", table=view.table, entity=each)) for each in view.returns]
    results = _results(view, visit)
    return page(
        visit,
        view.name,
        heading(title, view.about or None),
        el("p", el("span", "Returns ", returns, cls="chips"), cls="returns"),
        notice("bad", view.error) if view.error else None,
        el("div", _form(view, visit), _explained(view), cls="columns"),
        results,
        _code(view, visit.place),
        section="patterns",
    )


def _form(view: PatternView, visit: Visit) -> Markup:
    fields = [_control(each, view.error_field == each.name) for each in view.fields]
    return el(
        "form",
        el("h2", "Arguments"),
        fields or el("p", "This pattern has no parameters.", cls="faint"),
        None if visit.design.patterns[view.name].read.single else _size(view.size),
        el(
            "div",
            el("button", "Run", name="run", value="1", cls="primary"),
            el("button", "Explain"),
            el("a", "Fill from data", href=visit.url("patterns", view.name, fill="1"), cls="button quiet")
            if view.fields
            else None,
            el("button", "Save query", type="button", data_save_query=view.name, hidden=True, cls="quiet"),
            cls="buttons",
        ),
        action=visit.url("patterns", view.name),
        cls="panel stack",
        data_query_form=True,
    )


def _size(size: int) -> Markup:
    return field("size", "Page size", text_input("size", str(size), type="number", min=1, max=MAX_PAGE))


def _control(each: PatternField, is_wrong: bool) -> Markup:
    name = f"arg.{each.name}"
    about = each.about if each.required else f"{each.about}; optional"
    more = {"aria_invalid": "true" if is_wrong else None, "hint": True}
    if each.choices and not each.is_open:
        options = {"": "", **{value: value for value in each.choices}}
        control = choice(name, options, each.value, aria_describedby=f"hint-{name}", aria_invalid=more["aria_invalid"])
    else:
        listed = f"list-{name}" if each.choices else None
        control = text_input(name, each.value, hint=True, aria_invalid=more["aria_invalid"], dir="auto", list=listed)
        if listed:
            control = join([control, el("datalist", [el("option", value=value) for value in each.choices], id=listed)])
    return field(name, el("code", each.name), control, about)


def _explained(view: PatternView) -> Markup:
    found = view.explanation
    assert found is not None
    times = f", in {found.request_count} requests" if found.request_count > 1 else ""
    known: list[tuple[Child, Child]] = [
        ("Where", found.where),
        ("Range", el("code", found.range)),
        ("Expected cost", f"{found.cost}{times}"),
    ]
    requests = [
        details(each.operation, code_block(each.operation, msgspec.json.format(bytes(each.body), indent=2).decode()))
        for each in found.requests
    ]
    return el(
        "section",
        el("h2", "Explanation"),
        facts(known),
        el("h3", "Proof"),
        el("ul", [el("li", each) for each in found.proof], cls="proof"),
        el("h3", "Request") if requests else None,
        requests or el("p", "Give the arguments to see the request.", cls="faint"),
        cls="panel",
    )


def _results(view: PatternView, visit: Visit) -> Markup | None:
    found = view.results
    if found is None:
        return None
    if not found.rows:
        nothing = "The request was answered, and no item is in its range."
        shown = empty("Nothing found", "Nothing so far: the next page reads on." if found.stopped else nothing)
    else:
        shown = _result_table(view, found.rows, visit)
    arguments = {f"arg.{each.name}": each.value for each in view.fields}
    here = {**arguments, "size": view.size, "run": "1"}
    next_url = visit.url("patterns", view.name, **here, cursor=found.cursor) if found.cursor else None
    first_url = visit.url("patterns", view.name, **here) if visit.param("cursor") else None
    count = f"{len(found.rows)} result{'' if len(found.rows) == 1 else 's'}{' on this page' if next_url else ''}"
    return el(
        "section",
        el("h2", "Results ", el("span", count, cls="count-text")),
        notice("info", found.stopped) if found.stopped else None,
        shown,
        pages_of("Pages of results", next_url, first_url),
        used_line(found.used),
        aria_live="polite",
    )


def _result_table(view: PatternView, rows: list[ResultRow], visit: Visit) -> Markup:
    names = columns_of([each.values for each in rows])
    scored = any(each.score is not None for each in rows)
    head: list[Child] = ["Entity", *(["Score"] if scored else []), *names.shown]
    table: list[list[Child]] = []
    for each in rows:
        link = None
        if each.key is not None:
            link = visit.url("item", table=view.table, key=json_text(each.key))
        cells: list[Child] = [chip(visit.design, each.entity, link)]
        if scored:
            cells.append(f"{each.score:.4f}")
        table.append([*cells, *(plain_cell(each.values.get(name)) for name in names.shown)])
    return join([grid("Results", head, table), left_out(names.left_out)])


def _code(view: PatternView, place: DataPlace) -> Markup | None:
    if not view.python:
        return None
    hint = code_hint(place)
    return el(
        "section",
        el("h2", "Code"),
        el("p", hint, cls="hint") if hint else None,
        el("div", code_block("Python", view.python), code_block("AWS CLI", view.cli), cls="columns"),
    )
