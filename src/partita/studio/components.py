"""Parts that several pages have: headings, notices, tables, code to copy, chips of entities."""

from collections.abc import Iterable, Mapping, Sequence

from partita.plan.design import Design
from partita.studio.budgets import UsedCapacity
from partita.studio.code_samples import code_hint
from partita.studio.markup import NOTHING, Child, Markup, Value, el, join
from partita.studio.write_policy import DataPlace

COLOURS = 12
LEFT_OUT = 500  # names of attributes without a column


def heading(title: Child, about: Child = None, *actions: Child) -> Markup:
    """The title of a page, a sentence about it, and what can be done there."""
    return el(
        "div",
        el("div", el("h1", title), el("p", about, cls="about") if about else None),
        el("div", actions, cls="actions") if actions else None,
        cls="heading",
    )


def count(number: int, one: str, several: str = "") -> str:
    """`1 table`, `2 tables`."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def notice(kind: str, *content: Child) -> Markup:
    """A sentence in a box; `kind` is info, good, warn or bad, and an alert where it is bad."""
    return el("div", content, cls=f"notice {kind}", role="alert" if kind == "bad" else "status")


def empty(title: str, text: Child, *actions: Child) -> Markup:
    """The place of a list that has nothing in it."""
    return el(
        "div",
        el("p", title, cls="empty-title"),
        el("p", text),
        el("p", actions) if actions else None,
        cls="empty",
    )


def grid(label: str, head: Sequence[Child], rows: Iterable[Sequence[Child]], kinds: Sequence[str] = ()) -> Markup:
    """A table that scrolls by itself; `kinds` are the classes of its columns."""
    classes = [*kinds, *[""] * (len(head) - len(kinds))]
    return el(
        "div",
        el(
            "table",
            el(
                "thead",
                el("tr", [el("th", each, scope="col", cls=kind or None) for each, kind in _pairs(head, classes)]),
            ),
            el(
                "tbody",
                [el("tr", [el("td", cell, cls=kind or None) for cell, kind in _pairs(row, classes)]) for row in rows],
            ),
        ),
        cls="grid",
        role="region",
        aria_label=label,
        tabindex="0",
    )


def _pairs(cells: Sequence[Child], classes: Sequence[str]) -> Iterable[tuple[Child, str]]:
    return zip(cells, classes, strict=True)


def left_out(names: Sequence[str]) -> Markup:
    """The attributes that a table has no column for."""
    if not names:
        return NOTHING
    text = f"{count(len(names), 'further attribute')} without a column; the page of an item and the JSON view have all"
    return details(text, el("p", [[el("code", each, dir="auto"), " "] for each in names[:LEFT_OUT]], cls="faint"))


def code_block(label: str, text: str) -> Markup:
    """Text to read and to copy."""
    return el(
        "div",
        el("div", el("span", label), el("button", "Copy", type="button", data_copy=True, hidden=True), cls="code-head"),
        el("pre", el("code", text), tabindex="0", aria_label=label, role="region"),
        cls="code",
    )


def cli_block(text: str, place: DataPlace) -> Markup:
    """A command of the AWS CLI, with what it needs in order to run."""
    hint = code_hint(place)
    return join([code_block("AWS CLI", text), el("p", hint, cls="hint") if hint else None])


def facts(pairs: Iterable[tuple[Child, Child]]) -> Markup:
    """Names and their values."""
    return el("dl", [el("div", el("dt", name), el("dd", value)) for name, value in pairs], cls="facts")


def details(summary: Child, *content: Child, is_open: bool = False) -> Markup:
    return el("details", el("summary", summary), content, open=is_open, cls="more")


def colour_of(design: Design, name: str) -> int:
    """The number of an entity's colour."""
    names = [model.name for model in design.models]
    return names.index(name) % COLOURS if name in names else -1


def chip(design: Design, name: str, href: str | None = None) -> Markup:
    """The name of an entity in its colour."""
    kind = f"chip e{colour_of(design, name)}" if any(each.name == name for each in design.models) else "chip other"
    return el("a", name, href=href, cls=kind) if href else el("span", name, cls=kind)


def used_line(used: UsedCapacity) -> Markup:
    """What a page has used."""
    parts = [f"{used.requests} request{'' if used.requests == 1 else 's'}"]
    if used.read_units or not used.write_units:
        parts.append(f"{used.read_units:g} read units")
    if used.write_units:
        parts.append(f"{used.write_units:g} write units")
    if used.searched_bytes:
        parts.append(f"{used.searched_bytes:,.0f} bytes searched")
    parts.append(f"{used.seconds * 1000:,.1f} ms")
    return el("p", "Used: ", " · ".join(parts), cls="used")


def field(name: str, label: Child, control: Markup, hint: Child = None) -> Markup:
    """A labelled control of a form; the id of the control is `field-` and its name."""
    return el(
        "div",
        el("label", label, for_=f"field-{name}", cls="label"),
        control,
        el("p", hint, cls="hint", id=f"hint-{name}") if hint else NOTHING,
        cls="field",
    )


def text_input(name: str, value: str = "", *, hint: bool = False, **more: Value) -> Markup:
    return el(
        "input",
        id=f"field-{name}",
        name=name,
        value=value,
        autocomplete="off",
        spellcheck="false",
        aria_describedby=f"hint-{name}" if hint else None,
        **more,
    )


def choice(name: str, options: Mapping[str, str], chosen: str, **more: Value) -> Markup:
    """A select; `options` are values and their texts."""
    return el(
        "select",
        [el("option", text, value=value, selected=value == chosen) for value, text in options.items()],
        id=f"field-{name}",
        name=name,
        **more,
    )


def text_area(name: str, value: str, rows: int = 6, *, hint: bool = False, **more: Value) -> Markup:
    """A textarea; a first line break would be dropped by the browser, so there is always one in front."""
    return el(
        "textarea",
        "\n" + value,
        id=f"field-{name}",
        name=name,
        rows=rows,
        autocomplete="off",
        spellcheck="false",
        aria_describedby=f"hint-{name}" if hint else None,
        **more,
    )


def hidden(**values: str | None) -> Markup:
    """Hidden fields of a form."""
    return join(
        [el("input", type="hidden", name=name, value=each) for name, each in values.items() if each is not None]
    )


def pages_of(label: str, next_url: str | None, first_url: str | None) -> Markup:
    """Links to the next page and to the first one."""
    links: list[Child] = []
    if first_url:
        links.append(el("a", "First page", href=first_url, cls="button"))
    if next_url:
        links.append(el("a", "Next page", href=next_url, cls="button", rel="next"))
    return el("nav", links, aria_label=label, cls="pages") if links else NOTHING


def saved_queries() -> Markup:
    """The place of the queries that this browser has saved; a script fills it."""
    return el("section", el("h2", "Saved queries"), el("ul", cls="list"), id="saved-queries", hidden=True)
