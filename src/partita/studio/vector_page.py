"""A vector index: its declaration, what it holds, and a search for the items nearest to a vector or to an item."""

from typing import Any

import msgspec

from partita.design.tables import Table, VectorIndex
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.limits import SEARCH_RESULTS
from partita.dynamodb.requests import DescribeTable, SearchVectors
from partita.dynamodb.values import AttributeValue, Item
from partita.errors import NotFound, PartitaError
from partita.plan.items import key_text
from partita.plan.proof.tables import key_types, vector_dimensions
from partita.studio.attribute_display import attribute_cell, attribute_text, columns_of, json_text, shortened
from partita.studio.budgets import UsedCapacity
from partita.studio.code_samples import cli_code
from partita.studio.components import (
    chip,
    cli_block,
    code_block,
    count,
    details,
    empty,
    facts,
    field,
    grid,
    heading,
    hidden,
    left_out,
    notice,
    text_area,
    text_input,
    used_line,
)
from partita.studio.item_page import fetch, key_of_request
from partita.studio.json_input import InvalidInput, NotJson, json_input
from partita.studio.markup import Child, Markup, el, join
from partita.studio.overview import byte_text
from partita.studio.raw_reads import (
    Placeholders,
    RawFilter,
    RawPage,
    RawRead,
    RawRow,
    attribute_of,
    fetch_rows,
    row_of,
)
from partita.studio.search_tabs import search_tabs
from partita.studio.shell import page
from partita.studio.visits import Visit

MEMBERS = 10  # items of the index that are listed


class VectorPlace(msgspec.Struct, frozen=True):
    """A vector index as it is declared, and as its table's description counts it; None where it does not exist."""

    table: str
    name: str
    vector: str
    dimensions: int
    distance: str
    partition: list[str]
    filters: list[str]
    entities: list[str]
    patterns: list[str]
    items: int | None
    bytes: int | None
    status: str


class VectorMatch(msgspec.Struct, frozen=True):
    """An item that a search found, as the index holds it."""

    score: float
    row: RawRow


class VectorsView(msgspec.Struct, frozen=True):
    """A vector index with some of its items, and the matches of a search."""

    index: VectorPlace
    near: Item | None
    vector: str
    equal: dict[str, str]
    count: int
    request: msgspec.Raw | None
    cli: str
    matches: list[VectorMatch] | None
    members: RawPage | None
    error: str
    used: UsedCapacity

    @property
    def status(self) -> int:
        return 422 if self.error else 200


def read_vectors(visit: Visit) -> VectorsView:
    table = visit.table(visit.param("table"))
    index = _index(table, visit.param("index"))
    place = _place(visit, table, index)
    near = key_of_request(visit, table) if visit.param("key") else None
    equal = {name: visit.param(f"equal.{name}") for name in index.search_names}
    size = visit.number("count", 10, 1, SEARCH_RESULTS)
    request = members = matches = None
    error = ""
    try:
        if near is None:
            members = _some_items(visit, table, index)
        if near is not None or visit.param("vector"):
            vector, equal = _searched(visit, table, index, near, equal)
            request = _request(visit, table, index, vector, equal, size)
            found = visit.backend.call(request).search_results or ()
            matches = [VectorMatch(each.score or 0.0, row_of(table, each.item)) for each in found if each.item]
    except (PartitaError, DynamoDBError) as wrong:
        error = str(wrong)
    return VectorsView(
        place,
        near,
        visit.param("vector"),
        equal,
        size,
        None if request is None else msgspec.Raw(msgspec.json.encode(request)),
        "" if request is None else cli_code(request, visit.place),
        matches,
        members,
        error,
        visit.used,
    )


def _index(table: Table, name: str) -> VectorIndex:
    found = next((each for each in table.vector_indexes if each.name == name or not name), None)
    if found is None:
        raise NotFound("VectorIndex", {"name": name})
    return found


def _place(visit: Visit, table: Table, index: VectorIndex) -> VectorPlace:
    try:
        described = visit.backend.call(DescribeTable(table_name=visit.db.table_name(table))).table
    except DynamoDBError:  # the table does not exist, or may not be described
        described = None
    several = (described.vector_indexes if described is not None else None) or ()
    found = next((each for each in several if each.index_name == index.name), None)
    return VectorPlace(
        table.name,
        index.name,
        index.vector,
        vector_dimensions(table, index),
        index.distance,
        list(index.pk),
        list(index.filters),
        [each.name for each in table.models if index.name in each.indexes],
        [
            name
            for name, each in visit.design.patterns.items()
            if each.read.sources[0].keys.index == index.name and each.read.sources[0].model.table is table
        ],
        None if found is None else found.item_count,
        None if found is None else found.index_size_bytes,
        "" if found is None else (found.index_status or "").lower(),
    )


def _some_items(visit: Visit, table: Table, index: VectorIndex) -> RawPage:
    """The first items of the table that are in the index: those with a vector and its partition key."""
    filters = [RawFilter(name, "attribute_exists", "S", "") for name in (index.vector, *index.pk)]
    read = RawRead(table=table.name, partition=[], sort=[], filters=filters, size=MEMBERS)
    return fetch_rows(visit, read, None)


def _searched(
    visit: Visit, table: Table, index: VectorIndex, near: Item | None, equal: dict[str, str]
) -> tuple[list[AttributeValue], dict[str, str]]:
    """The vector to search for, and the values to compare: an item gives its own partition key."""
    if near is None:
        return _vector(visit.param("vector")), equal
    item = fetch(visit, table, near)
    if item is None:
        raise NotFound("Item", {name: attribute_text(value) for name, value in near.items()})
    vector = item.get(index.vector, {}).get("L")
    if not vector:
        raise InvalidInput(f"the item has no vector {index.vector}", "key")
    own = {name: attribute_text(item[name]) for name in index.pk if name in item and not equal[name]}
    return vector, {**equal, **own}


def _vector(text: str) -> list[AttributeValue]:
    try:
        numbers: list[float] = json_input(text, list[float])
    except NotJson:
        raise InvalidInput("the vector is not a list of numbers in JSON", "vector") from None
    return [{"N": repr(each)} for each in numbers]


def _request(
    visit: Visit, table: Table, index: VectorIndex, vector: list[AttributeValue], equal: dict[str, str], size: int
) -> SearchVectors:
    for name in index.pk:
        if not equal[name]:
            raise InvalidInput(f"every search of {index.name} gives a value for {name}", f"equal.{name}")
    text, types = Placeholders(), key_types(table)
    terms = [
        f"{text.name(name)} = {text.value(attribute_of(types.get(name, 'S'), value, f'equal.{name}'))}"
        for name, value in equal.items()
        if value
    ]
    return SearchVectors(
        table_name=visit.db.table_name(table),
        index_name=index.name,
        search_vector=vector,
        top_k=size,
        search_condition_expression=" AND ".join(terms) or None,
        expression_attribute_names=text.names or None,
        expression_attribute_values=text.values or None,
    )


def render_vectors(view: VectorsView, visit: Visit) -> Markup:
    index = view.index
    about = f"A vector index of {visit.db.table_name(index.table)}: the items nearest to a vector, by meaning."
    return page(
        visit,
        f"{index.name} · Search indexes",
        heading(el("code", index.name), about),
        search_tabs(visit, "vectors", index.name),
        el("div", _form(view, visit), _declaration(index, visit), cls="columns"),
        notice("bad", view.error) if view.error else None,
        _matches(view, visit) if view.matches is not None else None,
        _member_table(view, visit) if view.members is not None else None,
        used_line(view.used),
        details("Request", _code("SearchVectors", view.request), cli_block(view.cli, visit.place))
        if view.request
        else None,
        section="search",
    )


def _code(label: str, raw: msgspec.Raw | None) -> Markup:
    return code_block(label, msgspec.json.format(bytes(raw or b""), indent=2).decode())


def _form(view: VectorsView, visit: Visit) -> Markup:
    index = view.index
    here = {"table": index.table, "index": index.name}
    if view.near is None:
        hint = f"A list of {index.dimensions:,} numbers in JSON, or choose an item below."
        source: Child = field("vector", "Near the vector", text_area("vector", view.vector, 4, hint=True), hint)
    else:
        back = el("a", "Give a vector instead", href=visit.url("vectors", **here))
        source = el("p", "Near the vector of ", el("bdi", shortened(key_text(view.near), 200)), ". ", back)
    compared = [
        field(f"equal.{name}", el("code", name), text_input(f"equal.{name}", value, hint=True, dir="auto"), hint)
        for name, value in view.equal.items()
        for hint in ["the partition key, which every search gives" if name in index.partition else "a filter; optional"]
    ]
    return el(
        "form",
        el("h2", "Try a search"),
        hidden(**here, key=None if view.near is None else json_text(view.near)),
        source,
        compared,
        field("count", "Results", text_input("count", str(view.count), type="number", min=1, max=SEARCH_RESULTS)),
        el("div", el("button", "Search", cls="primary"), cls="buttons"),
        action=visit.url("vectors"),
        cls="panel stack",
    )


def _declaration(index: VectorPlace, visit: Visit) -> Markup:
    size = "The table has no such index yet."
    if index.items is not None:
        size = f"{count(index.items, 'item')} · {byte_text(index.bytes or 0)} · {index.status}"
    links: list[Child] = [[el("a", each, href=visit.url("patterns", each)), " "] for each in index.patterns]
    known: list[tuple[Child, Child]] = [
        ("Holds", size),
        ("Vector", [el("code", index.vector), f", {index.dimensions:,} numbers"]),
        ("Distance", index.distance.lower().replace("_", " ")),
        ("Partition key", el("code", ", ".join(index.partition)) if index.partition else "none"),
        ("Filters", el("code", ", ".join(index.filters)) if index.filters else "none"),
        ("Entities", el("span", [chip(visit.design, each) for each in index.entities], cls="chips")),
        ("Patterns", links or "No pattern searches it."),
    ]
    return el("section", el("h2", "Index"), facts(known), cls="panel")


def _matches(view: VectorsView, visit: Visit) -> Markup:
    found = view.matches or []
    title = el("h2", "Nearest ", el("span", count(len(found), "match", "matches"), cls="count-text"))
    if not found:
        text = "No item of the index has these values. Without filters, a search compares all items of the partition."
        return el("section", title, empty("Nothing found", text), aria_live="polite")
    names = columns_of([each.row.item for each in found], visit.table(view.index.table).key_names)
    rows: list[list[Child]] = [
        [
            _entity(view, each.row, visit),
            f"{each.score:.4f}",
            _near_link(view, each.row, visit),
            *(attribute_cell(each.row.item.get(name)) for name in names.shown),
        ]
        for each in found
    ]
    shown = grid("Nearest items", ["Entity", "Score", "Search", *names.shown], rows, ["", "end"])
    return el("section", title, shown, left_out(names.left_out), aria_live="polite")


def _member_table(view: VectorsView, visit: Visit) -> Markup:
    members = view.members
    assert members is not None
    title = el("h2", "Some items of the index")
    if not members.rows:
        text = "The table has no items with a vector." if members.start is None else "No vector was found so far."
        return el("section", title, empty("No vectors", text))
    rows: list[list[Child]] = [
        [
            _entity(view, each, visit),
            el("bdi", shortened(key_text(each.key), 100), cls="value"),
            attribute_cell(each.item.get(view.index.vector), 40),
            _near_link(view, each, visit),
        ]
        for each in members.rows
    ]
    shown = grid("Items of the index", ["Entity", "Key", view.index.vector, "Search"], rows)
    return join([el("section", title, shown)])


def _entity(view: VectorsView, row: RawRow, visit: Visit) -> Markup:
    link = visit.url("item", table=view.index.table, key=json_text(row.key))
    return chip(visit.design, row.entity or "unexplained", link)


def _near_link(view: VectorsView, row: RawRow, visit: Visit) -> Markup:
    own: dict[str, Any] = {"table": view.index.table, "index": view.index.name, "key": json_text(row.key)}
    label = f"Nearest to {shortened(key_text(row.key), 100)}"
    return el("a", "Nearest", href=visit.url("vectors", **own), aria_label=label)
