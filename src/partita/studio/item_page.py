"""One item: its entity, its attributes with their types exactly, the indexes that it is in, and its collection."""

from typing import Any

import msgspec

from partita.design.tables import Table, VectorIndex
from partita.dynamodb.canonical import item_size
from partita.dynamodb.requests import GetItem
from partita.dynamodb.values import Item, type_of
from partita.errors import NotFound, StoredItemInvalid
from partita.plan.effects import OWNER
from partita.plan.items import key_text
from partita.store.decoding import recogniser_of
from partita.studio.attribute_display import (
    LONG,
    TYPE_NAMES,
    attribute_text,
    item_json,
    json_text,
    plain_values,
    shortened,
)
from partita.studio.components import chip, code_block, details, facts, grid, heading, notice, used_line
from partita.studio.json_input import InvalidInput, NotJson, json_input
from partita.studio.markup import Child, Markup, el
from partita.studio.overview import byte_text
from partita.studio.shell import page
from partita.studio.visits import Visit


class IndexEntry(msgspec.Struct, frozen=True):
    """An index that an item is in, and its key there."""

    index: str
    key: Item


class ItemView(msgspec.Struct, frozen=True):
    """An item as it is stored, and as the entity that it is; `problem` says why it cannot be read as one."""

    table: str
    key: Item
    entity: str
    is_guard: bool
    item: Item
    values: dict[str, Any] | None
    problem: str
    bytes: int
    indexes: list[IndexEntry]


def key_of_request(visit: Visit, table: Table) -> Item:
    """The key that a parameter has in DynamoDB JSON."""
    try:
        key: Item = json_input(visit.param("key"), dict[str, dict[str, Any]])
    except NotJson:
        raise InvalidInput("the key is not DynamoDB JSON", "key") from None
    if set(key) != set(table.key_names):
        raise InvalidInput(f"the key has the attributes {', '.join(table.key_names)}", "key")
    return key


def fetch(visit: Visit, table: Table, key: Item) -> Item | None:
    """An item, read consistently."""
    request = GetItem(table_name=visit.db.table_name(table), key=key, consistent_read=True)
    raw = visit.backend.call(request).item
    return None if raw is None else msgspec.json.decode(raw)


def read_item(visit: Visit) -> ItemView:
    table = visit.table(visit.param("table"))
    key = key_of_request(visit, table)
    item = fetch(visit, table, key)
    if item is None:
        raise NotFound("Item", {name: attribute_text(value) for name, value in key.items()})
    model = recogniser_of(table).model_of(msgspec.json.encode(item))
    values, problem = None, ""
    try:
        entity = visit.db.decode_item(table.name, item)
        values = None if entity is None else plain_values(entity)
    except StoredItemInvalid as error:
        problem = str(error)
    return ItemView(
        table.name,
        key,
        "" if model is None else model.name,
        OWNER in item,
        item,
        values,
        problem,
        item_size(item),
        list(_entries(table, item)),
    )


def _entries(table: Table, item: Item) -> list[IndexEntry]:
    found = []
    for index in table.indexes:
        names = (*index.pk, *index.sk)
        if not isinstance(index, VectorIndex) and all(name in item for name in names):
            found.append(IndexEntry(index.name, {name: item[name] for name in names}))
    return found


def render_item(view: ItemView, visit: Visit) -> Markup:
    title = "Guard" if view.is_guard else view.entity or "Unexplained item"
    label = "guard" if view.is_guard else view.entity or "unexplained"
    return page(
        visit,
        f"{title} {key_text(view.key)}",
        heading(
            [el("bdi", shortened(key_text(view.key), 200))],
            [chip(visit.design, label), f" {byte_text(view.bytes)} in {visit.db.table_name(view.table)}"],
            *_actions(view, visit),
        ),
        notice("warn", view.problem) if view.problem else None,
        _guard_notice(view),
        el("h2", "Attributes"),
        grid(
            "Attributes",
            ["Name", "Type", "Value"],
            map(_attribute_row, view.item.items()),
            ["", "", "wide"],
        ),
        _places(view, visit),
        details("DynamoDB JSON", code_block("Item", shortened(item_json(view.item), LONG))),
        used_line(visit.used),
        section="items",
    )


def _guard_notice(view: ItemView) -> Markup | None:
    if view.is_guard:
        return notice("info", "This item guards a unique value. It is written and deleted together with its owner.")
    if not view.entity:
        return notice("info", "No entity of the design explains this item. The PartiQL console can change it.")
    return None


def _attribute_row(attribute: tuple[str, dict[str, Any]]) -> list[Child]:
    name, value = attribute
    kind = type_of(value)
    text = attribute_text(value)
    shown: Child = el("bdi", shortened(text, LONG), cls="value", dir="auto" if kind in ("S", "SS") else "ltr")
    if kind in ("L", "M"):
        shown = el("bdi", shortened(json_text(value[kind], indent=2), LONG), cls="value lines", dir="ltr")
    if len(text) > LONG:
        shown = [shown, el("p", f"{len(text):,} characters; the JSON view of this page has all.", cls="hint")]
    return [el("code", name, dir="auto"), el("abbr", kind, title=TYPE_NAMES[kind], cls="type"), shown]


def _actions(view: ItemView, visit: Visit) -> list[Child]:
    here = {"table": view.table, "key": json_text(view.key)}
    actions: list[Child] = [el("a", "History", href=visit.url("history", **here), cls="button")]
    if visit.place.writable and view.values is not None and not view.is_guard:
        actions.append(el("a", "Edit", href=visit.url("edit", **here), cls="button"))
        actions.append(el("a", "Duplicate", href=visit.url("new", entity=view.entity, **here), cls="button"))
        actions.append(el("a", "Delete", href=visit.url("delete", **here), cls="button"))
    return actions


def _places(view: ItemView, visit: Visit) -> Markup:
    """Links to the item's collection in the table, and to its neighbours in each index."""
    names = visit.table(view.table).key_names
    pairs: list[tuple[Child, Child]] = []
    if view.key[names[0]].keys() <= {"S", "N", "B"}:
        partition = attribute_text(view.key[names[0]])
        link = visit.url("items", table=view.table, pk0=partition)
        pairs.append(("Item collection", el("a", el("bdi", shortened(partition, 200)), href=link)))
    for each in view.indexes:
        index = visit.table(view.table).index("studio", each.index)
        query = {f"pk{at}": attribute_text(each.key[name]) for at, name in enumerate(index.pk)}
        link = visit.url("items", table=view.table, index=each.index, **query)
        pairs.append((each.index, el("a", el("bdi", shortened(key_text(each.key), 200)), href=link)))
    return el("section", el("h2", "Where it is"), facts(pairs))
