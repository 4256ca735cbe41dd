"""The items of a table or an index as they are stored: entities in colours, and a builder of queries and scans."""

from typing import Any

import msgspec

from partita.design.tables import VectorIndex
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.values import Item
from partita.errors import InvalidValue
from partita.quantities import quantity
from partita.studio.attribute_display import attribute_cell, columns_of, json_text
from partita.studio.budgets import BudgetExceeded, UsedCapacity
from partita.studio.code_samples import cli_code
from partita.studio.components import (
    chip,
    choice,
    cli_block,
    code_block,
    colour_of,
    details,
    empty,
    field,
    heading,
    left_out,
    notice,
    pages_of,
    text_input,
    used_line,
)
from partita.studio.json_input import InvalidInput, NotJson, json_input
from partita.studio.markup import Child, Markup, el, join
from partita.studio.overview import index_url
from partita.studio.raw_reads import (
    FILTERS,
    OPERATORS,
    SORT_OPERATORS,
    TYPES,
    RawPage,
    RawRead,
    fetch_rows,
    key_names,
    query_of,
    read_of,
    request_of,
)
from partita.studio.shell import page
from partita.studio.visits import Visit

GUARDS, UNEXPLAINED = "guards", "unexplained"


class ItemsView(msgspec.Struct, frozen=True):
    """Items of a table or an index; `request` is the one of the first page."""

    read: RawRead
    key: list[str]
    operation: str
    request: msgspec.Raw
    cli: str
    page: RawPage | None
    error: str
    used: UsedCapacity

    @property
    def status(self) -> int:
        return 422 if self.error else 200


def read_items(visit: Visit) -> ItemsView:
    read = read_of(visit)
    keys = key_names(visit.table(read.table), read.index)
    found: RawPage | None = None
    error = ""
    operation, body, cli = "", msgspec.Raw(b"{}"), ""
    try:
        request = request_of(visit, read, None, read.size)
        operation, body = type(request).__name__, msgspec.Raw(msgspec.json.encode(request))
        cli = cli_code(request, visit.place)
        found = fetch_rows(visit, read, start_of(visit))
    except (InvalidValue, DynamoDBError, BudgetExceeded) as wrong:
        error = str(wrong)
    return ItemsView(read, [*keys.pk, *keys.sk], operation, body, cli, found, error, visit.used)


def start_of(visit: Visit) -> Item | None:
    """The key at which a page begins."""
    text = visit.param("start")
    if not text:
        return None
    try:
        found: Item = json_input(text, dict[str, dict[str, Any]])
        return found
    except NotJson:
        raise InvalidInput("the start of the page is not a key", "start") from None


def render_items(view: ItemsView, visit: Visit) -> Markup:
    read = view.read
    where = f"{read.index} of {read.table}" if read.index else visit.db.table_name(read.table)
    actions: list[Child] = [
        el("a", "Export", href=visit.url("export", **query_of(read)), cls="button"),
    ]
    if visit.place.writable and visit.design.models:
        entity = "" if read.entity in (GUARDS, UNEXPLAINED) else read.entity
        actions.append(el("a", "Import", href=visit.url("import", table=read.table), cls="button"))
        actions.append(el("a", "New item", href=visit.url("new", entity=entity), cls="button primary"))
    return page(
        visit,
        f"Items of {where}",
        heading(where, None, *actions),
        _tabs(view, visit),
        _entities(view, visit),
        notice("bad", view.error) if view.error else None,
        details(
            "Query and scan builder", _builder(view, visit), is_open=bool(read.is_query or read.filters or view.error)
        ),
        _rows(view, visit) if view.page is not None else None,
        used_line(view.used),
        details("Request", code_block(view.operation, _pretty(view.request)), cli_block(view.cli, visit.place))
        if view.operation
        else None,
        section="items",
    )


def _pretty(raw: msgspec.Raw) -> str:
    return msgspec.json.format(bytes(raw), indent=2).decode()


def _tabs(view: ItemsView, visit: Visit) -> Markup:
    """The tables and their indexes."""
    tabs = []
    for table in visit.design.tables:
        here = view.read.table == table.name
        name = visit.db.table_name(table)
        current = "page" if here and not view.read.index else None
        tabs.append(el("li", el("a", name, href=visit.url("items", table=table.name), aria_current=current)))
        for index in table.all_indexes if here else ():
            current = "page" if view.read.index == index.name else None
            url = index_url(visit, table.name, index.name, is_vector=isinstance(index, VectorIndex))
            tabs.append(el("li", el("a", index.name, href=url, aria_current=current)))
    return el("nav", el("ul", tabs, cls="tabs"), aria_label="Tables and indexes")


def _entities(view: ItemsView, visit: Visit) -> Markup:
    """The entities in the table, each a link to its items."""
    read, table = view.read, visit.table(view.read.table)
    names = [each.name for each in table.models if not read.index or read.index in each.indexes]
    other = [] if read.index else [GUARDS, UNEXPLAINED]
    links: list[Child] = [_entity_link(visit, read, "", "All")]
    links += [_entity_link(visit, read, name, name) for name in [*names, *other]]
    return el("nav", el("div", links, cls="chips"), aria_label="Entities", cls="legend")


def _entity_link(visit: Visit, read: RawRead, entity: str, text: str) -> Markup:
    colour = colour_of(visit.design, entity)
    return el(
        "a",
        text,
        href=visit.url("items", table=read.table, index=read.index, entity=entity),
        cls=f"chip e{colour}" if colour >= 0 else "chip other",
        aria_current="true" if read.entity == entity else None,
    )


def _builder(view: ItemsView, visit: Visit) -> Markup:
    read = view.read
    keys = key_names(visit.table(read.table), read.index)
    parts = [
        field(f"pk{at}", el("code", name), text_input(f"pk{at}", (read.partition or [""] * 4)[at], dir="auto"))
        for at, name in enumerate(keys.pk)
    ]
    if keys.sk:
        parts.append(field("sort_op", "Sort key", choice("sort_op", SORT_OPERATORS, read.sort_operator)))
        parts += [
            field(f"sk{at}", el("code", name), text_input(f"sk{at}", ([*read.sort] + [""] * 4)[at], dir="auto"))
            for at, name in enumerate(keys.sk)
        ]
    filters = [_filter_row(at, view) for at in range(FILTERS)]
    order = {"": "Ascending", "1": "Descending"}
    return el(
        "form",
        el("input", type="hidden", name="table", value=read.table),
        el("input", type="hidden", name="index", value=read.index),
        el("input", type="hidden", name="entity", value=read.entity),
        el("div", parts, cls="row"),
        el("p", "With a partition key it is a query, without one a scan of everything.", cls="hint"),
        filters,
        el(
            "div",
            field("descending", "Order", choice("descending", order, "1" if read.descending else "")),
            field("size", "Page size", text_input("size", str(read.size), type="number", min=1, max=500)),
            el("button", "Read", cls="primary"),
            el("button", "Save query", type="button", data_save_query=read.table, data_save_run="no", hidden=True),
            cls="row",
        ),
        action=visit.url("items"),
        cls="panel stack",
    )


def _filter_row(at: int, view: ItemsView) -> Markup:
    known = view.read.filters[at] if at < len(view.read.filters) else None
    name, operator = (known.attribute, known.operator) if known else ("", "=")
    kind, value = (known.type, known.value) if known else ("S", "")
    return el(
        "fieldset",
        el("legend", f"Filter {at + 1}", cls="label"),
        field(f"f{at}", "Attribute", text_input(f"f{at}", name)),
        field(f"f{at}op", "Condition", choice(f"f{at}op", OPERATORS, operator)),
        field(f"f{at}type", "Type", choice(f"f{at}type", TYPES, kind)),
        field(f"f{at}value", "Value", text_input(f"f{at}value", value, dir="auto")),
        cls="row",
    )


def _rows(view: ItemsView, visit: Visit) -> Markup:
    found = view.page
    assert found is not None
    read = view.read
    following = visit.url("items", **query_of(read), start=json_text(found.start)) if found.start else None
    first = visit.url("items", **query_of(read)) if visit.param("start") else None
    pages = pages_of("Pages of items", following, first)
    if not found.rows:
        if following:
            examined = quantity(found.examined, "item that was read so far", "items that were read so far")
            text = f"None of the {examined} belongs here; the next page reads on."
        else:
            text = "The range has no items."
        return el("section", el("h2", "Items"), empty("No items", text), pages)
    count = f"{len(found.rows):,} shown"
    if found.examined > len(found.rows):
        count += f", {found.examined:,} read"
    return el("section", el("h2", "Items ", el("span", count, cls="count-text")), _table(view, visit), pages)


def _table(view: ItemsView, visit: Visit) -> Markup:
    found, read = view.page, view.read
    assert found is not None
    table = visit.table(read.table)
    names = columns_of([each.item for each in found.rows], (*view.key, *table.key_names))
    head = [el("th", each, scope="col") for each in ("Entity", *names.shown)]
    body, before = [], None
    for row in found.rows:
        colour = colour_of(visit.design, row.entity)
        link = visit.url("item", table=read.table, key=json_text(row.key))
        label = "guard" if row.is_guard else row.entity or "unexplained"
        cells = [el("td", chip(visit.design, label, link))]
        partition = row.item.get(view.key[0])
        for at, name in enumerate(names.shown):
            kind = "same" if at == 0 and partition == before else None
            cells.append(el("td", attribute_cell(row.item.get(name)), cls=kind))
        before = partition
        body.append(el("tr", cells, cls=f"e{colour}" if colour >= 0 and not row.is_guard else None))
    content = el("table", el("thead", el("tr", head)), el("tbody", body))
    return join(
        [el("div", content, cls="grid", role="region", aria_label="Items", tabindex="0"), left_out(names.left_out)]
    )
