"""Creating, editing, duplicating and deleting entities: forms, the list of staged edits, and their commit."""

from typing import Any, Literal

import msgspec

from partita.design.models import Model
from partita.dynamodb.exceptions import DynamoDBError
from partita.errors import InvalidValue, NoReply, NotFound, OutcomeUnknown, PartitaError, StoreError
from partita.store.decoding import recogniser_of
from partita.studio.attribute_display import json_text, plain_cell, plain_values
from partita.studio.components import (
    chip,
    choice,
    code_block,
    count,
    details,
    empty,
    field,
    grid,
    heading,
    hidden,
    notice,
    text_area,
    text_input,
    used_line,
)
from partita.studio.entity_forms import NULL, EntityField, entity_fields, entity_from, entity_of
from partita.studio.item_page import fetch, key_of_request
from partita.studio.json_input import InvalidInput, NotJson, json_input
from partita.studio.markup import Child, Markup, Value, el
from partita.studio.shell import page
from partita.studio.staged_edits import (
    MAX_EDITS,
    StagedEdit,
    check_values,
    commit,
    describe_edit,
    explained,
    model_named,
)
from partita.studio.visits import Redirect, Visit

PREFIX = "field."
Outcome = Literal["nothing", "part", "unknown"]
OUTCOMES: dict[Outcome, str] = {
    "nothing": "Nothing was written. The edits below are still staged.",
    "part": "A part was written: items that the deleted one owns are gone. Commit again to delete the rest.",
    "unknown": "Whether they were written is not known. Look at the items before you commit again.",
}


class EditView(msgspec.Struct, frozen=True):
    """A form for one entity; `before` is None for a new one."""

    entity: str
    kind: str
    fields: list[EntityField]
    before: dict[str, Any] | None
    entities: list[str]
    error: str = ""
    error_field: str = ""

    @property
    def status(self) -> int:
        return 422 if self.error else 200


class AttributeDifference(msgspec.Struct, frozen=True):
    """An attribute before and after an edit."""

    name: str
    before: Any
    after: Any


class StagedView(msgspec.Struct, frozen=True):
    """One staged edit, with what it changes and what it writes."""

    id: int
    entity: str
    kind: str
    description: str
    differences: list[AttributeDifference]
    explanation: str


class StagedEditsView(msgspec.Struct, frozen=True):
    """The edits that a commit writes as one transaction."""

    edits: list[StagedView]
    committed: int = 0
    error: str = ""
    outcome: Outcome = "nothing"
    """What a commit that failed has written; an owner is deleted in several requests, of which some may be done."""

    @property
    def status(self) -> int:
        return 409 if self.error else 200


def read_new(visit: Visit) -> EditView:
    """A new entity, empty or with the values of another one."""
    visit.check_writable()
    names = [each.name for each in visit.design.models]
    name = visit.param("entity") or next(iter(names), "")
    model = _model(visit, name)
    values = stored_values(visit)[1] if visit.param("key") else None
    return EditView(name, "create", entity_fields(model, values, None), None, names)


def read_edit(visit: Visit) -> EditView:
    visit.check_writable()
    model, values = stored_values(visit)
    return EditView(model.name, "change", entity_fields(model, values, None), values, [])


def read_delete(visit: Visit) -> EditView:
    visit.check_writable()
    model, values = stored_values(visit)
    return EditView(model.name, "delete", entity_fields(model, values, None), values, [])


def stored_values(visit: Visit) -> tuple[Model, dict[str, Any]]:
    """The entity of the item that a request names, as plain values."""
    table = visit.table(visit.param("table"))
    item = fetch(visit, table, key_of_request(visit, table))
    model = None if item is None else recogniser_of(table).model_of(msgspec.json.encode(item))
    entity = None if item is None else visit.db.decode_item(table.name, item)
    if model is None or entity is None:
        raise NotFound("Item", {"key": visit.param("key")})
    return model, plain_values(entity)


def _model(visit: Visit, name: str) -> Model:
    found = model_named(visit.design, name)
    if found is None:
        raise NotFound("Entity", {"name": name})
    return found


def render_edit(view: EditView, visit: Visit) -> Markup:
    titles = {"create": f"New {view.entity}", "change": f"Edit {view.entity}", "delete": f"Delete {view.entity}"}
    title = titles[view.kind]
    about = "The edit is staged first. A commit writes all staged edits as one transaction, or none."
    shown: list[Child] = []
    if view.kind == "delete":
        shown.append(_values_table(view))
    else:
        order = sorted(view.fields, key=lambda each: (each.automatic, not each.in_key))
        visible = [each for each in order if not each.automatic or view.kind == "change"]
        shown.append(el("div", [_control(each, view) for each in visible], cls="fields"))
    form = el(
        "form",
        hidden(
            form_token=visit.session.form_token,
            entity=view.entity,
            kind=view.kind,
            before=None if view.before is None else json_text(view.before),
        ),
        shown,
        el(
            "div",
            el("button", "Stage the deletion" if view.kind == "delete" else "Stage the edit", cls="primary"),
            el("a", "Cancel", href=visit.url("items"), cls="button"),
            cls="buttons",
        ),
        method="post",
        action=visit.url("stage"),
        cls="panel stack",
    )
    error = notice("bad", view.error) if view.error else None
    return page(visit, title, heading(title, about), _entity_choice(view, visit), error, form, section="items")


def _entity_choice(view: EditView, visit: Visit) -> Markup | None:
    if not view.entities:
        return None
    links = [
        el(
            "a",
            each,
            href=visit.url("new", entity=each),
            cls=f"chip e{at % 12}",
            aria_current="true" if each == view.entity else None,
        )
        for at, each in enumerate(view.entities)
    ]
    return el("nav", el("div", links, cls="chips"), aria_label="Entities", cls="legend")


def _values_table(view: EditView) -> Markup:
    assert view.before is not None
    rows: list[list[Child]] = [[el("code", name), plain_cell(value, 400)] for name, value in view.before.items()]
    return grid("Values", ["Attribute", "Value"], rows, ["", "wide"])


def _control(each: EntityField, view: EditView) -> Markup:
    name = PREFIX + each.name
    label: list[Child] = [el("code", each.name)]
    if each.in_key:
        label.append(el("span", " in the key", cls="faint small"))
    if each.automatic:
        label.append(el("span", " set by the store", cls="faint small"))
        return el("div", el("p", label, cls="label"), el("p", each.text or "-", cls="value"))
    invalid = "true" if view.error_field == each.name else None
    if each.choices and not each.is_open:
        options = {"": "", **{value: value for value in each.choices}}
        control = choice(name, options, each.text, aria_describedby=f"hint-{name}", aria_invalid=invalid)
    elif _needs_lines(each):
        rows = min(14, max(3, len(each.text) // 80 + each.text.count("\n") + 1))
        control = text_area(name, each.text, rows, hint=True, aria_invalid=invalid, dir="auto")
    else:
        control = text_input(name, each.text, hint=True, aria_invalid=invalid, dir="auto")
    null: Child = None
    if each.optional:
        known: dict[str, Value] = {"checked": each.is_null, "id": f"null-{name}", "data_null_of": f"field-{name}"}
        box = el("input", type="checkbox", name=NULL + name, value="1", **known)
        null = el("label", box, f" no value for {each.name}", for_=f"null-{name}", cls="null small")
    return el("div", field(name, label, control, f"{each.about}{', as JSON' if each.is_json else ''}"), null)


def _needs_lines(each: EntityField) -> bool:
    """Whether a text is long, or would lose its line breaks in a single line."""
    has_breaks = "\r" in each.text or "\n" in each.text
    return has_breaks or len(each.text) > 60 or (each.is_json and each.text[:1] in ("[", "{"))


def write_stage(visit: Visit) -> EditView:
    """Adds an edit to the staged ones; the form again, where it is not valid."""
    model = _model(visit, visit.param("entity"))
    kind = visit.param("kind")
    before = _before(visit, model)
    if kind not in ("create", "change", "delete") or (before is None) != (kind == "create"):
        raise InvalidInput("the form is not complete; open it again")
    texts = {
        (NULL + name.removeprefix(NULL + PREFIX)) if name.startswith(NULL) else name.removeprefix(PREFIX): value
        for name, value in visit.form
        if name.startswith((PREFIX, NULL + PREFIX))
    }
    texts = {name: value.replace("\r\n", "\n") for name, value in texts.items()}  # a form sends every break as both
    staged = visit.staged
    try:
        after = None if kind == "delete" else plain_values(entity_of(model, texts, before))
        if after is not None and after == before:
            raise InvalidValue(model.name, "nothing has been changed")
        edit = StagedEdit(model.name, before, after)
        check_values(visit.design, edit)
        explained(visit.db, edit)  # rejects values that the store would reject
        staged.add(edit)
    except InvalidValue as wrong:
        names = {each.name: each.encode_name for each in msgspec.structs.fields(model.cls)}
        name = names.get(str(wrong.path[0]), str(wrong.path[0])) if wrong.path else ""
        return EditView(model.name, kind, entity_fields(model, before, texts), before, [], str(wrong), name)
    except StoreError as wrong:
        return EditView(model.name, kind, entity_fields(model, before, texts), before, [], str(wrong))
    raise Redirect(visit.url("staged"))


def _before(visit: Visit, model: Model) -> dict[str, Any] | None:
    """The plain values of the entity that the form was made from."""
    text = visit.param("before")
    if not text:
        return None
    try:
        return plain_values(entity_from(model, json_input(text, dict[str, Any])))
    except NotJson:
        raise InvalidInput("the form is not complete; open it again") from None


def read_staged(visit: Visit) -> StagedEditsView:
    return _staged_view(visit, committed=visit.number("committed", 0, 0, MAX_EDITS))


def _staged_view(visit: Visit, *, committed: int = 0, error: str = "", outcome: Outcome = "nothing") -> StagedEditsView:
    return StagedEditsView([_staged(visit, *each) for each in visit.staged.all().items()], committed, error, outcome)


def _staged(visit: Visit, number: int, edit: StagedEdit) -> StagedView:
    names = dict.fromkeys([*(edit.before or {}), *(edit.after or {})])
    differences = [
        AttributeDifference(name, (edit.before or {}).get(name), (edit.after or {}).get(name))
        for name in names
        if (edit.before or {}).get(name) != (edit.after or {}).get(name)
    ]
    try:
        explanation = explained(visit.db, edit)
    except PartitaError as error:
        explanation = str(error)
    return StagedView(number, edit.entity, edit.kind, describe_edit(visit.design, edit), differences, explanation)


def render_staged(view: StagedEditsView, visit: Visit) -> Markup:
    about = f"One transaction on {visit.place.address}: all of them are written, or none."
    if visit.place.account:
        about += f" Account {visit.place.account}."
    head = heading("Staged edits", about)
    notes: list[Child] = []
    if view.error:
        notes.append(notice("bad", view.error, el("p", OUTCOMES[view.outcome])))
    if view.committed:
        notes.append(notice("good", f"Committed {count(view.committed, 'edit')}."))
    if not view.edits:
        nothing = empty("No staged edits", "Edit an item, or create one; it is listed here until you commit it.")
        return page(visit, "Staged edits", head, notes, nothing, section="staged")
    ids = ",".join(str(each.id) for each in view.edits)
    forms = el(
        "div",
        _form(visit, "commit", "Commit", "primary", confirm=_question(view, visit), edits=ids),
        _form(visit, "discard", "Discard all", "danger", confirm="Discard all staged edits?", edits=ids),
        cls="actions",
    )
    listed = [_edit_card(at, each, visit) for at, each in enumerate(view.edits, 1)]
    return page(visit, "Staged edits", head, notes, forms, listed, used_line(visit.used), section="staged")


def _question(view: StagedEditsView, visit: Visit) -> str:
    where = f"{visit.place.address}{f' (account {visit.place.account})' if visit.place.account else ''}"
    return f"Write {count(len(view.edits), 'edit')} to {where}?"


def _form(visit: Visit, path: str, text: str, cls: str, *, confirm: str = "", **fields: str) -> Markup:
    return el(
        "form",
        hidden(form_token=visit.session.form_token, **fields),
        el("button", text, cls=cls),
        method="post",
        action=visit.url(path),
        data_confirm=confirm or None,
    )


def _edit_card(at: int, each: StagedView, visit: Visit) -> Markup:
    rows = [
        el(
            "tr",
            el("th", el("code", one.name), scope="row"),
            el("td", plain_cell(one.before, 400), cls=None if each.kind == "create" else "old"),
            el("td", plain_cell(one.after, 400), cls=None if each.kind == "delete" else "new"),
        )
        for one in each.differences
    ]
    head = el("tr", [el("th", text, scope="col") for text in ("Attribute", "Before", "After")])
    table = el("table", el("thead", head), el("tbody", rows), cls="diff")
    return el(
        "section",
        el(
            "div",
            el("h2", el("span", each.kind.capitalize(), " ", chip(visit.design, each.entity))),
            _form(visit, "discard", "Remove", "quiet", edits=str(each.id)),
            cls="heading",
        ),
        el("p", el("bdi", each.description), cls="faint"),
        el("div", table, cls="grid", role="region", aria_label=f"Differences of edit {at}", tabindex="0"),
        details("What it writes", code_block("Explanation", each.explanation)),
        cls="panel staged",
    )


def write_commit(visit: Visit) -> StagedEditsView:
    """Writes the edits that the request names, and no others; they stay staged where that fails."""
    staged = visit.staged
    try:
        with staged.take_out(_ids(visit)) as edits:
            targets = [describe_edit(visit.design, each) for each in edits]
            visit.recorded("commit", targets, lambda: commit(visit.db, edits))
    except (PartitaError, DynamoDBError) as error:
        visit.record_rejected(f"{type(error).__name__}: {error}")
        is_unknown = isinstance(error, NoReply | OutcomeUnknown)
        outcome: Outcome = "unknown" if is_unknown else "part" if visit.backend.writes else "nothing"
        return _staged_view(visit, error=str(error), outcome=outcome)
    raise Redirect(visit.url("staged", committed=len(edits)))


def write_discard(visit: Visit) -> None:
    """Removes the staged edits that the request names."""
    visit.staged.discard(_ids(visit))
    raise Redirect(visit.url("staged"))


def _ids(visit: Visit) -> list[int]:
    """The ids of edits, separated by commas."""
    try:
        return [int(each) for each in visit.param("edits").split(",")]
    except ValueError:
        raise InvalidInput("name the edits by their ids, separated by commas", "edits") from None
