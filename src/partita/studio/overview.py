"""The list of designs, and the overview of one: its tables, entities and patterns."""

from inspect import cleandoc

import msgspec

from partita.design.models import EntityKeys, Model
from partita.design.tables import Table, VectorIndex
from partita.dynamodb.exceptions import DynamoDBError
from partita.dynamodb.requests import DescribeTable
from partita.quantities import quantity
from partita.studio.components import chip, count, empty, grid, heading, saved_queries, used_line
from partita.studio.markup import Child, Markup, el
from partita.studio.shell import page
from partita.studio.visits import Redirect, StudioDesign, Visit


class DesignSummary(msgspec.Struct, frozen=True):
    """A design in the list."""

    name: str
    about: str
    tables: int
    entities: int
    patterns: int


class HomeView(msgspec.Struct, frozen=True):
    """The designs that the studio has open."""

    designs: list[DesignSummary]


class IndexSummary(msgspec.Struct, frozen=True):
    """An index and the entities in it."""

    name: str
    partition_key: list[str]
    sort_key: list[str]
    entities: list[str]
    is_vector: bool = False


class TableSummary(msgspec.Struct, frozen=True):
    """A table; `items` and `bytes` are None where it does not exist."""

    name: str
    actual_name: str
    key: list[str]
    items: int | None
    bytes: int | None
    indexes: list[IndexSummary]


class EntitySummary(msgspec.Struct, frozen=True):
    """An entity: the templates of its key, and the patterns that return it."""

    name: str
    about: str
    table: str
    partition_key: str
    sort_key: str
    indexes: list[str]
    patterns: list[str]


class DesignView(msgspec.Struct, frozen=True):
    """The overview of a design."""

    name: str
    about: str
    tables: list[TableSummary]
    entities: list[EntitySummary]
    patterns: list[str]


def read_home(visit: Visit) -> HomeView:
    if len(visit.designs) == 1:
        raise Redirect(visit.studio_url(*visit.designs))
    return HomeView([_summary(each) for each in visit.designs.values()])


def _summary(opened: StudioDesign) -> DesignSummary:
    design = opened.design
    return DesignSummary(opened.name, opened.about, len(design.tables), len(design.models), len(design.patterns))


def render_home(view: HomeView, visit: Visit) -> Markup:
    cards = [
        el(
            "li",
            el("h2", el("a", each.name, href=visit.studio_url(each.name))),
            el("p", each.about) if each.about else None,
            el("p", " · ".join(_counts(each.entities, each.patterns, each.tables)), cls="faint"),
            cls="card",
        )
        for each in view.designs
    ]
    listed = el("ul", cards, cls="cards") if cards else empty("No designs", "Name a design: partita studio shop.design")
    return page(visit, "Designs", heading("Designs", "Each with its data, on this server."), listed)


def read_design(visit: Visit) -> DesignView:
    design = visit.design
    return DesignView(
        visit.opened.name,
        visit.opened.about,
        [_table(visit, each) for each in design.tables],
        [_entity(visit, each) for each in design.models],
        list(design.patterns),
    )


def _table(visit: Visit, table: Table) -> TableSummary:
    actual = visit.db.table_name(table)
    try:
        found = visit.backend.call(DescribeTable(table_name=actual)).table
    except DynamoDBError:  # it does not exist, or may not be described
        found = None
    indexes = [
        IndexSummary(
            each.name,
            list(each.pk),
            list(each.sk),
            [m.name for m in table.models if each.name in m.indexes],
            isinstance(each, VectorIndex),
        )
        for each in table.all_indexes
    ]
    items, size = (None, None) if found is None else (found.item_count or 0, found.table_size_bytes or 0)
    return TableSummary(table.name, actual, list(table.key_names), items, size, indexes)


def _entity(visit: Visit, model: Model) -> EntitySummary:
    partition, sort = templates(model.key)
    patterns = [
        name
        for name, each in visit.design.patterns.items()
        if any(source.model is model for source in each.read.sources)
    ]
    return EntitySummary(model.name, about_of(model), model.table.name, partition, sort, list(model.indexes), patterns)


def about_of(model: Model) -> str:
    """The first paragraph of an entity's docstring."""
    text = cleandoc(model.cls.__doc__ or "")
    return "" if text.startswith(model.name + "(") else " ".join(text.partition("\n\n")[0].split())


def templates(keys: EntityKeys) -> tuple[str, str]:
    """The templates of the partition key and of the sort key, as they are declared."""
    return _template(keys.partition), _template(keys.sort)


def _template(attributes: tuple[object, ...]) -> str:
    sources = [
        each.template.source if each.template is not None else f"{{{each.field}}}"  # type: ignore[attr-defined]
        for each in attributes
    ]
    return ", ".join(sources)


def render_design(view: DesignView, visit: Visit) -> Markup:
    counts = ", ".join(_counts(len(view.entities), len(view.patterns), len(view.tables)))
    entities = empty("No entities", "The design has no entities yet: declare them beside its tables.")
    if view.entities:
        entities = grid(
            "Entities",
            ["Entity", "Partition key", "Sort key", "Indexes", "Patterns"],
            [_entity_row(each, visit) for each in view.entities],
            ["", "", "", "", "wide"],
        )
    return page(
        visit,
        "Overview",
        heading(view.name, view.about or counts, el("a", "Open the map", href=visit.url("map"), cls="button")),
        el("p", counts, cls="faint") if view.about else None,
        el("h2", "Tables"),
        el("div", [_table_card(each, visit) for each in view.tables], cls="cards"),
        saved_queries(),
        el("h2", "Entities"),
        entities,
        used_line(visit.used),
        section="",
    )


def _entity_row(each: EntitySummary, visit: Visit) -> list[Child]:
    return [
        chip(visit.design, each.name, visit.url("items", table=each.table, entity=each.name)),
        el("code", each.partition_key),
        el("code", each.sort_key) if each.sort_key else "-",
        ", ".join(each.indexes) or "-",
        [[el("a", name, href=visit.url("patterns", name)), " "] for name in each.patterns[:4]]
        + [el("span", f"and {len(each.patterns) - 4} more", cls="faint") if len(each.patterns) > 4 else None],
    ]


def _table_card(table: TableSummary, visit: Visit) -> Markup:
    size = (
        "does not exist yet"
        if table.items is None
        else f"{quantity(table.items, 'item')} · {byte_text(table.bytes or 0)}"
    )
    indexes = [
        el(
            "li",
            el("a", each.name, href=index_url(visit, table.name, each.name, is_vector=each.is_vector)),
            el(
                "span",
                f" {'vectors' if each.is_vector else ', '.join([*each.partition_key, *each.sort_key])}",
                cls="faint",
            ),
        )
        for each in table.indexes
    ]
    return el(
        "section",
        el("h3", el("a", table.actual_name, href=visit.url("items", table=table.name))),
        el("p", size, cls="figure"),
        el("p", el("code", ", ".join(table.key)), cls="faint"),
        el("ul", indexes, cls="plain") if indexes else None,
        cls="card",
    )


def index_url(visit: Visit, table: str, index: str, *, is_vector: bool) -> str:
    """The items of an index; of a vector index, which has no order, the page that searches it."""
    return visit.url("vectors" if is_vector else "items", table=table, index=index)


def byte_text(size: int) -> str:
    """A size in bytes, as people read it.

    >>> byte_text(512), byte_text(2048), byte_text(3_500_000)
    ('512 B', '2.0 KB', '3.3 MB')
    """
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return ""


def _counts(entities: int, patterns: int, tables: int) -> tuple[str, str, str]:
    return count(entities, "entity", "entities"), count(patterns, "access pattern"), count(tables, "table")
