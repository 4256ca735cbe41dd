"""The map of a design: its tables with their item collections, its indexes, and who writes what where."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from partita.describe.explain import explained_read
from partita.design.condition_text import condition_text, stored_path
from partita.design.markers import CountOf
from partita.design.models import EntityKeys, Model
from partita.design.patterns import Pattern
from partita.design.tables import Table
from partita.errors import NotFound
from partita.plan.design import Design
from partita.studio.components import chip, details, empty, facts, grid, heading
from partita.studio.map_drawing import drawing
from partita.studio.map_views import IndexPlace, ItemCollection, MapEntry, MapTable
from partita.studio.markup import NOTHING, Child, Markup, el
from partita.studio.overview import about_of, templates
from partita.studio.shell import page
from partita.studio.staged_edits import model_named
from partita.studio.visits import Visit


class WrittenPlace(msgspec.Struct, frozen=True):
    """Something that a write of an entity writes or checks."""

    what: str
    where: str
    detail: str


class ProvenPattern(msgspec.Struct, frozen=True):
    """A pattern with its range and its proof."""

    name: str
    where: str
    range: str
    proof: list[str]


class MapSelection(msgspec.Struct, frozen=True):
    """The entity or index that is looked at."""

    kind: str
    name: str
    about: str
    writes: list[WrittenPlace]
    patterns: list[ProvenPattern]


class MapView(msgspec.Struct, frozen=True):
    """The map of a design."""

    tables: list[MapTable]
    selected: MapSelection | None


def read_map(visit: Visit) -> MapView:
    design = visit.design
    return MapView([_table(design, each) for each in design.tables], _selection(visit))


def _table(design: Design, table: Table) -> MapTable:
    collections: dict[str, list[MapEntry]] = {}
    for model in table.models:
        partition, sort = templates(model.key)
        collections.setdefault(partition, []).append(MapEntry(model.name, partition, sort, ""))
    indexes = [
        IndexPlace(
            each.name,
            [*each.pk, *each.sk] or [getattr(each, "vector", "")],
            list(_entries(table, each.name)),
        )
        for each in table.all_indexes
    ]
    found = [ItemCollection(partition, entries) for partition, entries in collections.items()]
    return MapTable(table.name, list(table.key_names), found, indexes)


def _entries(table: Table, index: str) -> Iterator[MapEntry]:
    for model in table.models:
        for keys in model.indexes.get(index, ()):
            partition, sort = templates(keys)
            yield MapEntry(model.name, partition, sort, _when(model, keys))


def _when(model: Model, keys: EntityKeys) -> str:
    return "" if keys.when is None else condition_text(keys.when, stored_path(model))


def _selection(visit: Visit) -> MapSelection | None:
    entity, index = visit.param("entity"), visit.param("index")
    if entity:
        model = model_named(visit.design, entity)
        if model is None:
            raise NotFound("Entity", {"name": entity})
        patterns = _proven(visit, lambda each: any(source.model is model for source in each.read.sources))
        return MapSelection("entity", entity, about_of(model), list(_writes(visit.design, model)), patterns)
    if index:
        table = visit.table(visit.param("table"))
        if index not in [each.name for each in table.all_indexes]:
            raise NotFound("Index", {"name": index})
        writes = [WrittenPlace("index key", each.entity, each.text) for each in _entries(table, index)]
        patterns = _proven(
            visit,
            lambda each: each.read.sources[0].keys.index == index and each.read.sources[0].model.table is table,
        )
        return MapSelection("index", index, "", writes, patterns)
    return None


def _proven(visit: Visit, belongs: Callable[[Pattern[Any, Any]], bool]) -> list[ProvenPattern]:
    found = []
    for name, pattern in visit.design.patterns.items():
        if belongs(pattern):
            explained = explained_read(pattern.read, table_name=visit.db.context.table_name)
            found.append(ProvenPattern(name, explained.where, explained.range, explained.proof))
    return found


def _writes(design: Design, model: Model) -> Iterator[WrittenPlace]:
    """Everything that creating, changing or deleting an entity touches."""
    partition, sort = templates(model.key)
    yield WrittenPlace("item", model.table.name, " / ".join(filter(None, (partition, sort))))
    for name, several in model.indexes.items():
        for keys in several:
            text = " / ".join(filter(None, templates(keys)))
            when = _when(model, keys)
            yield WrittenPlace("index key", name, f"{text}, while {when}" if when else text)
    for unique in model.uniques:
        yield WrittenPlace("guard", model.table.name, f"unique {' and '.join(unique.fields)}")
    for counter in design.counters.get(model, ()):
        kind = "counts" if isinstance(counter.marker, CountOf) else "sums"
        yield WrittenPlace("counter", counter.parent.name, f"{counter.attribute.field} {kind} {model.name}")
    for reference in design.references.get(model, ()):
        yield WrittenPlace("check", reference.target.name, f"{reference.refers} must exist")
    for owned in design.ownerships.get(model, ()):
        yield WrittenPlace("deletes", owned.child.name, "with their owner")
    if model.expires is not None:
        yield WrittenPlace("expiry", model.table.ttl or "", f"by {model.expires.at}")


def render_map(view: MapView, visit: Visit) -> Markup:
    tools = el(
        "div",
        el("input", type="search", placeholder="Find in the map", aria_label="Find in the map", data_map_search=True),
        el("button", "Zoom out", type="button", data_zoom="-1"),
        el("button", "Zoom in", type="button", data_zoom="1"),
        el("button", "Fit", type="button", data_zoom="0"),
        cls="map-tools",
        hidden=True,
        data_map_tools=True,
    )
    about = (
        "Each box is an item collection: the entities that share a partition key. Lines lead to their index keys. "
        "Choose an entity or an index to see who writes there, and the proof of each pattern that reads it."
    )
    drawn: Child = [_drawn(each, view, visit) for each in view.tables]
    if not visit.design.models:
        tools = NOTHING
        drawn = empty("No entities", "The design has no entities yet: declare them beside its tables.")
    return page(
        visit,
        "Map",
        heading("Map", about),
        tools,
        el("div", drawn, _panel(view, visit), cls="map-frame" if view.selected else "map-frame unselected"),
        section="map",
    )


def _drawn(table: MapTable, view: MapView, visit: Visit) -> Markup:
    selected = view.selected
    return el(
        "div",
        drawing(table, visit, (selected.kind, selected.name) if selected else None),
        cls="map",
        tabindex="0",
        role="region",
        aria_label=f"Map of {table.name}",
    )


def _panel(view: MapView, visit: Visit) -> Markup | None:
    selected = view.selected
    if selected is None:
        return None
    title: Child = chip(visit.design, selected.name) if selected.kind == "entity" else el("code", selected.name)
    writes: list[list[Child]] = [[each.what, _place(each, visit), el("code", each.detail)] for each in selected.writes]
    patterns = [_pattern(each, visit) for each in selected.patterns]
    return el(
        "aside",
        el("h2", title),
        el("p", selected.about) if selected.about else None,
        el("h3", "Who writes here" if selected.kind == "index" else "What a write touches"),
        grid("Writes", ["What", "Where", "Detail"], writes, ["", "", "wide"]),
        el("h3", f"Patterns that read it ({len(patterns)})"),
        patterns or el("p", "No pattern reads it.", cls="faint"),
        aria_label="Selection",
        cls="panel",
    )


def _place(each: WrittenPlace, visit: Visit) -> Child:
    known = model_named(visit.design, each.where)
    return each.where if known is None else chip(visit.design, each.where, visit.url("map", entity=each.where))


def _pattern(each: ProvenPattern, visit: Visit) -> Markup:
    known: list[tuple[Child, Child]] = [("Where", each.where), ("Range", el("code", each.range))]
    return details(
        el("code", each.name),
        facts(known),
        el("ul", [el("li", sentence) for sentence in each.proof], cls="proof"),
        el("p", el("a", "Run it", href=visit.url("patterns", each.name))),
    )
