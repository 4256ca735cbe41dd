"""A text index: the attributes that it searches, what it holds, and a search for words."""

from pathlib import Path
from typing import Any, get_args

import msgspec

from partita.design.condition_text import condition_text, stored_path
from partita.design.conditions import Condition, F
from partita.dynamodb.exceptions import DynamoDBError
from partita.errors import PartitaError
from partita.search.text_fields import TextFields
from partita.search.text_index import MAX_PAGE, TextIndex
from partita.studio.attribute_display import json_text
from partita.studio.budgets import UsedCapacity
from partita.studio.components import (
    chip,
    choice,
    count,
    details,
    empty,
    facts,
    field,
    grid,
    heading,
    hidden,
    notice,
    pages_of,
    text_input,
    used_line,
)
from partita.studio.entity_forms import field_choices
from partita.studio.json_input import InvalidInput
from partita.studio.markup import Child, Markup, el
from partita.studio.overview import byte_text
from partita.studio.pattern_forms import is_several
from partita.studio.pattern_pages import ResultRow, result_row
from partita.studio.search_tabs import search_tabs, text_index
from partita.studio.shell import page
from partita.studio.visits import Visit


class TextSource(msgspec.Struct, frozen=True):
    """An entity in a text index: its attributes with their weights, the condition for being found, its filters."""

    entity: str
    weights: dict[str, float]
    when: str
    filters: list[str]


class TextMatchView(msgspec.Struct, frozen=True):
    """An entity that was found; each excerpt is its pieces, with whether they are a match."""

    row: ResultRow
    table: str
    highlights: dict[str, list[list[tuple[str, bool]]]]


class TextView(msgspec.Struct, frozen=True):
    """A text index; `problem` says why it cannot be opened from here."""

    name: str
    languages: list[str]
    sources: list[TextSource]
    place: str
    documents: int
    bytes: int
    is_building: bool
    problem: str
    text: str
    of: str
    equal: dict[str, str]
    size: int
    matches: list[TextMatchView] | None
    total: int
    cursor: str | None
    error: str
    used: UsedCapacity

    @property
    def status(self) -> int:
        return 422 if self.error else 200


def read_text(visit: Visit) -> TextView:
    index = text_index(visit)
    equal = {name: visit.param(f"equal.{name}") for each in index.fields.values() for name in each.filters}
    text, size = visit.param("text"), visit.number("size", 20, 1, MAX_PAGE)
    found: dict[str, Any] = {"place": "", "documents": 0, "bytes": 0, "is_building": False}
    problem = error = ""
    matches, total, cursor = None, 0, None
    try:
        _check_built(visit, index)
        found = msgspec.structs.asdict(index.status(visit.db))
    except PartitaError as wrong:
        problem = str(wrong)
    try:
        if text and not problem:
            options: Any = {"where": _where(index, equal), "size": size, "cursor": visit.param("cursor") or None}
            reply = index.find(visit.db, text, of=_entity(index, visit.param("of")), **options)
            matches, total, cursor = [_match(index, each) for each in reply], reply.total, reply.cursor
    except (PartitaError, DynamoDBError) as wrong:
        error = str(wrong)
    return TextView(
        name=index.name,
        languages=list(index.languages),
        sources=[_source(each) for each in index.fields.values()],
        **found,
        problem=problem,
        text=text,
        of=visit.param("of"),
        equal=equal,
        size=size,
        matches=matches,
        total=total,
        cursor=cursor,
        error=error,
        used=visit.used,
    )


def _check_built(visit: Visit, index: TextIndex[object]) -> None:
    """InvalidValue where opening the index would create its file: the studio only looks."""
    path = index.file_of(visit.backend)
    if path is not None and not Path(path).is_file():
        raise InvalidInput(f"it has not been built here: {path} does not exist; partita work builds it")


def _source(fields: TextFields[Any]) -> TextSource:
    when = "" if fields.when is None else condition_text(fields.when, stored_path(fields.model))
    return TextSource(fields.model.name, fields.weights, when, list(fields.filters))


def _entity(index: TextIndex[object], name: str) -> type[Any] | None:
    if not name:
        return None
    if name not in index.fields:
        raise InvalidInput(f"{name!r} is not in this index", "of")
    return index.fields[name].entity


def _where(index: TextIndex[object], equal: dict[str, str]) -> Condition | None:
    """The condition that attributes have the values that are given; each as its attribute's type."""
    found: Condition | None = None
    for name, text in equal.items():
        if text:
            fields = next(each for each in index.fields.values() if name in each.filters)
            kind = fields.model.attributes[name].kind
            several = get_args(kind)[:1] if is_several(kind) else ()
            try:
                value = msgspec.convert(text, several[0] if several else kind, strict=False)
            except msgspec.ValidationError as error:
                raise InvalidInput(str(error), name) from None
            term = F[name].contains(value) if several else F[name] == value
            found = term if found is None else found & term
    return found


def _match(index: TextIndex[object], match: Any) -> TextMatchView:
    row = result_row(match.entity, match.score)
    excerpts = {path: [list(each.parts()) for each in several] for path, several in match.highlights.items()}
    return TextMatchView(row, index.fields[row.entity].model.table.name, excerpts)


def render_text(view: TextView, visit: Visit) -> Markup:
    about = "A text index: the entities with all words of a text, the best first."
    return page(
        visit,
        f"{view.name} · Search indexes",
        heading(el("code", view.name), about),
        search_tabs(visit, "text", view.name),
        notice("warn", view.problem) if view.problem else None,
        el("div", _form(view, visit), _declaration(view, visit), cls="columns"),
        notice("bad", view.error) if view.error else None,
        _matches(view, visit) if view.matches is not None else None,
        used_line(view.used),
        section="search",
    )


def _form(view: TextView, visit: Visit) -> Markup:
    hint = 'Words, "a phrase", or the beginning of a word with * behind it.'
    entities = {"": "All", **{each.entity: each.entity for each in view.sources}}
    index = text_index(visit)
    return el(
        "form",
        el("h2", "Try a search"),
        hidden(index=view.name),
        field("text", "Text", text_input("text", view.text, hint=True, dir="auto", type="search"), hint),
        field("of", "Entity", choice("of", entities, view.of)) if len(view.sources) > 1 else None,
        [_filter(index, name, value) for name, value in view.equal.items()],
        field("size", "Page size", text_input("size", str(view.size), type="number", min=1, max=MAX_PAGE)),
        el("div", el("button", "Search", cls="primary", disabled=bool(view.problem)), cls="buttons"),
        action=visit.url("text"),
        cls="panel stack",
    )


def _filter(index: TextIndex[object], name: str, value: str) -> Markup:
    fields = next(each for each in index.fields.values() if name in each.filters)
    choices, is_open = field_choices(fields.model.attributes[name].kind)
    control = text_input(f"equal.{name}", value, dir="auto")
    if choices and not is_open:
        control = choice(f"equal.{name}", {"": "", **{each: each for each in choices}}, value)
    return field(f"equal.{name}", [el("code", name), el("span", " filter", cls="faint small")], control)


def _declaration(view: TextView, visit: Visit) -> Markup:
    state = "being built" if view.is_building else "complete"
    size = f"{count(view.documents, 'document')} · {byte_text(view.bytes)} · {state}"
    known: list[tuple[Child, Child]] = [
        ("Holds", "not known" if view.problem else size),
        ("Languages", ", ".join(view.languages) or "none set: words are compared as they are"),
    ]
    if view.place:
        known.append(("Place", el("bdi", Path(view.place).name or view.place)))
    rows: list[list[Child]] = [
        [chip(visit.design, each.entity), el("code", path), f"{weight:g}"]
        for each in view.sources
        for path, weight in each.weights.items()
    ]
    conditions = [
        el("p", f"{each.entity} only while ", el("code", each.when), cls="faint") for each in view.sources if each.when
    ]
    return el(
        "section",
        el("h2", "Index"),
        facts(known),
        details("Attributes and weights", grid("Attributes", ["Entity", "Attribute", "Weight"], rows, ["", "", "end"])),
        conditions,
        cls="panel",
    )


def _matches(view: TextView, visit: Visit) -> Markup:
    found = view.matches or []
    title = el("h2", "Matches ", el("span", f"{len(found):,} of {view.total:,}", cls="count-text"))
    if not found:
        text = "No entity has all of these words. Try fewer words, or the beginning of one with * behind it."
        return el("section", title, empty("Nothing found", text), aria_live="polite")
    rows: list[list[Child]] = [
        [_link(each, visit), f"{each.row.score or 0:.3f}", _excerpts(each.highlights)] for each in found
    ]
    here = {f"equal.{name}": value for name, value in view.equal.items()}
    here |= {"index": view.name, "text": view.text, "of": view.of, "size": str(view.size)}
    following = visit.url("text", **here, cursor=view.cursor) if view.cursor else None
    first = visit.url("text", **here) if visit.param("cursor") else None
    return el(
        "section",
        title,
        grid("Matches", ["Entity", "Score", "Found in"], rows, ["", "end", "wide"]),
        pages_of("Pages of matches", following, first),
        aria_live="polite",
    )


def _link(match: TextMatchView, visit: Visit) -> Markup:
    key = match.row.key
    return chip(
        visit.design, match.row.entity, visit.url("item", table=match.table, key=json_text(key)) if key else None
    )


def _excerpts(highlights: dict[str, list[list[tuple[str, bool]]]]) -> Markup:
    """Each attribute with its excerpts, the words that were found marked."""
    return el(
        "dl",
        [
            el("div", el("dt", path), [el("dd", el("bdi", map(_piece, parts), dir="auto")) for parts in several])
            for path, several in highlights.items()
        ],
        cls="excerpts",
    )


def _piece(piece: tuple[str, bool]) -> Child:
    text, is_found = piece
    return el("mark", text) if is_found else text
