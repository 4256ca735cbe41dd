"""The history of an item: its changes, what each of them changed, and staging the way back to an earlier state."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from partita.dynamodb.values import Item
from partita.errors import StoredItemInvalid
from partita.plan.items import key_text
from partita.store.decoding import recogniser_of
from partita.studio.attribute_display import attribute_cell, json_text, plain_values, shortened
from partita.studio.components import empty, heading, hidden, notice, pages_of
from partita.studio.item_page import fetch, key_of_request
from partita.studio.json_input import InvalidInput
from partita.studio.markup import Markup, el
from partita.studio.shell import page
from partita.studio.staged_edits import StagedEdit, check_values, model_named
from partita.studio.visits import PastChange, Redirect, Visit

MAX_NUMBER = (1 << 63) - 1


class ItemChangeView(msgspec.Struct, frozen=True):
    """A change: its number as text, its time, what happened, and the item before and after it."""

    number: str
    at: str
    kind: str
    before: Item | None
    after: Item | None


class HistoryView(msgspec.Struct, frozen=True):
    """The changes of an item, the newest first."""

    table: str
    key: Item
    is_kept: bool
    is_complete: bool
    changes: list[ItemChangeView]


def read_history(visit: Visit) -> HistoryView:
    table = visit.table(visit.param("table"))
    key = key_of_request(visit, table)
    source = visit.opened.history
    if source is None:
        return HistoryView(table.name, key, False, True, [])
    before = visit.number("before", 0, 0, MAX_NUMBER) or None
    found = source(visit.db.table_name(table), key, before)
    return HistoryView(table.name, key, found.is_kept, found.is_complete, [_change(each) for each in found.changes])


def _change(change: PastChange) -> ItemChangeView:
    kind = "created" if change.before is None else "deleted" if change.after is None else "changed"
    at = datetime.fromtimestamp(change.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return ItemChangeView(str(change.number), at, kind, change.before, change.after)


def render_history(view: HistoryView, visit: Visit) -> Markup:
    here = {"table": view.table, "key": json_text(view.key)}
    head = heading(
        "History",
        el("bdi", shortened(key_text(view.key), 200)),
        el("a", "Back to the item", href=visit.url("item", **here), cls="button"),
    )
    if not view.is_kept:
        text = (
            "An item has a history where the data is a file or in memory, and its table has a stream (for 24 hours) or "
            "point-in-time recovery (for up to 35 days)."
        )
        return page(visit, "History", head, empty("No history is kept here", text), section="items")
    if not view.changes:
        shown: Markup = empty("No changes", "The item has not changed within the time that is kept.")
    else:
        shown = el("ol", [_card(each, view, visit) for each in view.changes], cls="timeline")
    older = first = None
    if not view.is_complete and view.changes:
        older = visit.url("history", **here, before=view.changes[-1].number)
    if visit.param("before"):
        first = visit.url("history", **here)
    more = None
    if not view.is_complete and not view.changes:
        more = notice("info", "Older changes may exist; only the latest changes of the table were examined.")
    return page(visit, "History", head, shown, more, pages_of("Pages of changes", older, first), section="items")


def _card(change: ItemChangeView, view: HistoryView, visit: Visit) -> Markup:
    before, after = change.before or {}, change.after or {}
    names = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    rows = [
        el(
            "tr",
            el("th", el("code", name), scope="row"),
            el("td", attribute_cell(before.get(name), 400), cls="old" if name in before else None),
            el("td", attribute_cell(after.get(name), 400), cls="new" if name in after else None),
        )
        for name in names
    ]
    columns = el("tr", [el("th", text, scope="col") for text in ("Attribute", "Before", "After")])
    table = el("table", el("thead", columns), el("tbody", rows), cls="diff")
    undo = None
    if visit.place.writable:
        fields = {"form_token": visit.session.form_token, "table": view.table, "key": json_text(view.key)}
        undo = el(
            "form",
            hidden(**fields, number=change.number, before=visit.param("before") or None),
            el("button", "Stage the state before this change"),
            method="post",
            action=visit.url("undo"),
        )
    return el(
        "li",
        el("h2", change.kind.capitalize(), " ", el("time", change.at, datetime=change.at)),
        el("div", table, cls="grid", role="region", aria_label=f"Change at {change.at}", tabindex="0"),
        undo,
        cls="panel",
    )


def write_undo(visit: Visit) -> None:
    """Stages the edit from the item as it is now to the state before a change."""
    view = read_history(visit)
    chosen = next((each for each in view.changes if each.number == visit.param("number")), None)
    if chosen is None:
        raise InvalidInput("this change is not among the latest ones any more; reload the history", "number")
    wanted = chosen.before
    table = visit.table(view.table)
    current = fetch(visit, table, view.key)
    values = [None if item is None else _values(visit, view.table, item) for item in (current, wanted)]
    known = next((each for each in values if each is not None), None)
    if known is None or values[0] == values[1]:
        raise InvalidInput("the item is in this state already")
    before, after = (None if each is None else each[1] for each in values)
    edit = StagedEdit(known[0], before, after)
    check_values(visit.design, edit)
    visit.staged.add(edit)
    raise Redirect(visit.url("staged"))


def _values(visit: Visit, table: str, item: Item) -> tuple[str, dict[str, Any]]:
    """The entity of an item, and its plain values."""
    model = recogniser_of(visit.table(table)).model_of(msgspec.json.encode(item))
    try:
        entity = visit.db.decode_item(table, item)
    except StoredItemInvalid as error:
        raise InvalidInput(f"the earlier state cannot be read any more: {error}") from None
    if model is None or entity is None or model_named(visit.design, model.name) is None:
        raise InvalidInput("no entity of the design explains this item")
    return model.name, plain_values(entity)
