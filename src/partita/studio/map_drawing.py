"""The map of a table as SVG: item collections on the left, one column for each index, and lines between them."""

from collections.abc import Iterator

import msgspec

from partita.studio.attribute_display import shortened
from partita.studio.components import colour_of
from partita.studio.map_views import IndexPlace, MapEntry, MapTable
from partita.studio.markup import Markup, el
from partita.studio.visits import Visit

CHARACTER = 7.3  # the width of a character of the drawing's font
ROW = 26
HEAD = 30
GAP = 18
COLUMN_GAP = 96
PADDING = 12
MOST_CHARACTERS = 58

Selected = tuple[str, str] | None


class Box(msgspec.Struct, frozen=True):
    """A rectangle with a title and rows; rows have an entity and two texts."""

    title: str
    rows: list[tuple[str, str]]
    x: float
    y: float
    width: float

    @property
    def height(self) -> float:
        return HEAD + ROW * len(self.rows) + 6

    def row_y(self, at: int) -> float:
        """The middle of a row."""
        return self.y + HEAD + ROW * at + ROW / 2


def drawing(table: MapTable, visit: Visit, selected: Selected) -> Markup:
    """The map of one table; what is not selected is drawn fainter where something is."""
    left = list(_collections(table))
    width = max((each.width for each in left), default=200)
    columns: list[list[Box]] = []
    x = width + COLUMN_GAP
    for index in table.indexes:
        boxes = list(_index_boxes(index, x))
        columns.append(boxes)
        x += max((each.width for each in boxes), default=160) + COLUMN_GAP
    every = [*left, *(box for boxes in columns for box in boxes)]
    height = max((each.y + each.height for each in every), default=100) + PADDING
    total = x - COLUMN_GAP + PADDING
    lines = [
        line
        for index, boxes in zip(table.indexes, columns, strict=True)
        for line in _lines(left, boxes, index, visit, selected)
    ]
    heads = [_column_head(table.name, table.key, PADDING, None, selected)]
    for index, boxes in zip(table.indexes, columns, strict=True):
        url = visit.url("map", index=index.name, table=table.name)
        heads.append(_column_head(index.name, index.key, boxes[0].x if boxes else 0, url, selected))
    return el(
        "svg",
        lines,
        heads,
        [_drawn(each, visit, selected) for each in every],
        viewBox=f"0 0 {total:.0f} {height:.0f}",
        width=f"{total:.0f}",
        height=f"{height:.0f}",
        role="group",
        aria_label=f"Table {table.name} and its indexes",
        data_width=f"{total:.0f}",
        data_height=f"{height:.0f}",
        cls="drawing",
    )


def _width(title: str, rows: list[tuple[str, str]]) -> float:
    longest = max([len(title), *(len(entity) + len(text) + 4 for entity, text in rows)])
    return min(longest, MOST_CHARACTERS) * CHARACTER + 2 * PADDING


def _collections(table: MapTable) -> Iterator[Box]:
    y = 64.0
    boxes = [(each, [(entry.entity, entry.sort) for entry in each.entries]) for each in table.collections]
    width = max((_width(each.partition, rows) for each, rows in boxes), default=200)
    for each, rows in boxes:
        box = Box(each.partition, rows, PADDING, y, width)
        yield box
        y += box.height + GAP


def _index_boxes(index: IndexPlace, x: float) -> Iterator[Box]:
    """Entities with the same partition key are in one box: they can be read together."""
    groups: dict[str, list[MapEntry]] = {}
    for entry in index.entries:
        groups.setdefault(entry.partition, []).append(entry)
    sized = [
        (partition, [(entry.entity, entry.sort + (" *" if entry.when else "")) for entry in entries])
        for partition, entries in groups.items()
    ]
    width = max((_width(partition, rows) for partition, rows in sized), default=160)
    y = 64.0
    for partition, rows in sized:
        box = Box(partition or index.name, rows, x, y, width)
        yield box
        y += box.height + GAP


def _lines(left: list[Box], boxes: list[Box], index: IndexPlace, visit: Visit, selected: Selected) -> Iterator[Markup]:
    """A curve from each entity's row in the table to its row in the index."""
    starts = {entity: (box.x + box.width, box.row_y(at)) for box in left for at, (entity, _) in enumerate(box.rows)}
    for box in boxes:
        for at, (entity, _) in enumerate(box.rows):
            if entity not in starts:
                continue
            x, y = starts[entity]
            end_x, end_y = box.x, box.row_y(at)
            bend = min(80.0, (end_x - x) / 2)
            path = f"M{x:.0f} {y:.0f} C{x + bend:.0f} {y:.0f} {end_x - bend:.0f} {end_y:.0f} {end_x:.0f} {end_y:.0f}"
            is_dim = selected is not None and selected not in (("entity", entity), ("index", index.name))
            colour = colour_of(visit.design, entity)
            yield el("path", d=path, cls=f"link e{colour}{' dim' if is_dim else ''}", data_entity=entity)


def _column_head(name: str, key: list[str], x: float, url: str | None, selected: Selected) -> Markup:
    """The name of the table, or of an index as a link."""
    texts = [
        el("text", name, x=f"{x:.0f}", y="26", cls="column-name"),
        el("text", shortened(", ".join(key), 40), x=f"{x:.0f}", y="46", cls="column-key"),
    ]
    if url is None:
        return el("g", texts)
    kind = "node chosen" if selected == ("index", name) else "node"
    text = " ".join([name, *key]).lower()
    return el("a", el("g", texts, cls=kind, data_text=text), href=url, aria_label=f"Index {name}")


def _drawn(box: Box, visit: Visit, selected: Selected) -> Markup:
    size = {"width": f"{box.width:.0f}", "height": f"{box.height:.0f}"}
    frame = el("rect", x=f"{box.x:.0f}", y=f"{box.y:.0f}", rx="8", cls="box", **size)
    title = el(
        "text",
        shortened(box.title, MOST_CHARACTERS),
        el("title", box.title),
        x=f"{box.x + PADDING:.0f}",
        y=f"{box.y + 20:.0f}",
        cls="box-title",
    )
    return el("g", frame, title, [_row(box, at, visit, selected) for at in range(len(box.rows))])


def _row(box: Box, at: int, visit: Visit, selected: Selected) -> Markup:
    entity, text = box.rows[at]
    y = box.row_y(at)
    name_width = len(entity) * CHARACTER + 14
    is_dim = selected is not None and selected[0] == "entity" and selected[1] != entity
    chosen = selected == ("entity", entity)
    room = max(4, int((box.width - name_width - 3 * PADDING) / CHARACTER))
    x = box.x + PADDING
    parts = [
        el("rect", x=f"{x:.0f}", y=f"{y - 10:.0f}", width=f"{name_width:.0f}", height="20", rx="10", cls="pill"),
        el("text", entity, x=f"{x + 7:.0f}", y=f"{y + 4:.0f}", cls="pill-text"),
        el(
            "text",
            shortened(text, room),
            el("title", text) if text else None,
            x=f"{x + name_width + 8:.0f}",
            y=f"{y + 4:.0f}",
            cls="row-text",
        ),
    ]
    kind = f"node e{colour_of(visit.design, entity)}{' dim' if is_dim else ''}{' chosen' if chosen else ''}"
    group = el("g", parts, cls=kind, data_text=f"{entity} {box.title} {text}".lower(), data_entity=entity)
    return el("a", group, href=visit.url("map", entity=entity), aria_label=f"{entity} in {box.title}")
