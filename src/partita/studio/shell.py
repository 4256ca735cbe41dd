"""The frame of every page: head, navigation, the place of the data, and the pages of errors and of signing in."""

import msgspec

from partita.studio.assets import asset_url
from partita.studio.components import notice
from partita.studio.markup import NOTHING, Child, Markup, el, join
from partita.studio.visits import Visit
from partita.studio.write_policy import DataPlace

SECTIONS = (
    ("", "Overview", "o"),
    ("map", "Map", "m"),
    ("patterns", "Patterns", "p"),
    ("items", "Items", "i"),
    ("search", "Search indexes", "x"),
    ("partiql", "PartiQL", "q"),
    ("stream", "Stream", "s"),
    ("health", "Health", "h"),
    ("staged", "Staged edits", "e"),
)
"""The pages of a design: path, name, and the key that opens it after `g`."""


class ErrorView(msgspec.Struct, frozen=True):
    """An error: the status of HTTP, a title, and a sentence that says what to do."""

    status: int
    title: str
    detail: str


def document(title: str, body: Child, root: str, theme: str, **attributes: str) -> Markup:
    """A whole HTML document."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width,initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("link", rel="icon", href=asset_url(root, "icon.svg"), type="image/svg+xml"),
        el("link", rel="stylesheet", href=asset_url(root, "studio.css")),
        el("script", type="module", src=asset_url(root, "studio.js")),
        el("title", title),
    )
    return Markup(f"<!doctype html>{el('html', head, el('body', body, **attributes), lang='en', data_theme=theme)}")


def page(visit: Visit, title: str, *content: Child, section: str | None = None) -> Markup:
    """A page of a design, or of the studio itself where the address names no design."""
    named = "design" in visit.arguments
    heading = f"{title} · {visit.opened.name} · Partita" if named else f"{title} · Partita"
    body = join(
        [
            el("a", "Skip to the content", cls="skip", href="#content"),
            _top(visit),
            el(
                "div",
                _navigation(visit, section) if named else None,
                el("main", *content, id="content", tabindex="-1"),
                cls="frame" if named else "frame alone",
            ),
            _shortcuts(visit),
        ]
    )
    base = visit.url() if named else visit.root
    return document(heading, body, visit.root, visit.theme, data_root=visit.root, data_design=base)


def _top(visit: Visit) -> Markup:
    names = list(visit.designs)
    current = visit.arguments.get("design", "")
    links: list[Child] = [el("a", el("span", "Partita", cls="brand"), href=visit.root, cls="home")]
    if current:
        links.append(el("span", "/", cls="slash", aria_hidden="true"))
        links.append(el("a", current, href=visit.studio_url(current), cls="current-design", dir="auto"))
    others = [el("a", each, href=visit.studio_url(each)) for each in names if each != current]
    menu: Child = None
    if others and current:
        menu = el("details", el("summary", "Switch"), el("div", others, cls="menu"), cls="switch")
    return el(
        "header",
        el("div", links, menu, cls="crumbs"),
        place_badge(visit.place),
        el(
            "div",
            el("button", "Search", el("kbd", "/", aria_hidden="true"), type="button", data_open="finder", hidden=True),
            el("button", "Theme", type="button", data_theme_toggle=True, hidden=True),
            el("button", "Keys", type="button", data_open="shortcuts", hidden=True),
            cls="tools",
        ),
        cls="top",
    )


def place_badge(place: DataPlace) -> Markup:
    """Where the data is, and whether the studio may change it."""
    account = f" · account {place.account}" if place.account else ""
    mode = "writable" if place.writable else "read-only"
    kind = "badge danger" if place.writable and place.is_amazon else "badge warm" if place.writable else "badge"
    return el(
        "div",
        el("code", place.address, account, cls="address", dir="ltr"),
        el("span", mode, cls=kind),
        cls="place",
        title=f"{place.address}{account}, {mode}",
    )


def _navigation(visit: Visit, section: str | None) -> Markup:
    links = []
    staged = len(visit.staged) if visit.session.is_kept else 0
    for path, name, _ in SECTIONS:
        if path == "staged" and not visit.place.writable:
            continue
        count = el("span", staged, cls="count", aria_label=f"{staged} edits") if path == "staged" and staged else None
        current = "page" if section == path else None
        links.append(
            el("li", el("a", name, count, href=visit.url(path) if path else visit.url(), aria_current=current))
        )
    return el("nav", el("ul", links), aria_label="Pages of the design", cls="side")


def _shortcuts(visit: Visit) -> Markup:
    """Dialogs that scripts open: the keys, and the finder of pages."""
    named = "design" in visit.arguments
    rows = [("/", "Search for a page, an entity or a pattern"), ("t", "Switch between dark and light")]
    rows += [(f"g {key}", name) for _, name, key in SECTIONS] if named else []
    rows.append(("?", "Show this list"))
    listed = [el("div", el("dt", el("kbd", key)), el("dd", text)) for key, text in rows]
    keys = el(
        "dialog",
        el("h2", "Keyboard", id="shortcuts-title"),
        el("dl", listed, cls="keys"),
        el("label", el("input", type="checkbox", id="use-shortcuts"), " Use these keys"),
        el("form", el("button", "Close", cls="primary"), method="dialog"),
        id="shortcuts",
        aria_labelledby="shortcuts-title",
    )
    if not named:
        return keys
    finder = el(
        "dialog",
        el("label", "Search pages, entities and patterns", for_="finder-text", cls="label"),
        el("input", id="finder-text", type="search", autocomplete="off", spellcheck="false"),
        el("ul", id="finder-list"),
        el("p", "Nothing matches.", id="finder-nothing", hidden=True, cls="faint"),
        id="finder",
        aria_label="Search",
    )
    return join([keys, finder])


def error_page(view: ErrorView, visit: Visit | None, root: str, theme: str) -> Markup:
    """An error inside the frame of the page where it occurred."""
    content = [el("h1", view.title), notice("bad", view.detail)]
    if visit is None:
        return document(view.title, el("main", content, id="content", cls="lonely"), root, theme)
    if visit.arguments.get("design") not in visit.designs:
        visit.arguments = {}
    back = el("p", el("a", "Back to the overview", href=visit.url() if visit.arguments else root))
    return page(visit, view.title, content, back)


def sign_in_page(root: str, wrong: str, theme: str) -> Markup:
    """Asks for the token."""
    form = el(
        "form",
        el("label", "Token", for_="token", cls="label"),
        el("input", id="token", name="token", type="password", autocomplete="off", required=True, autofocus=True),
        el("button", "Open the studio", cls="primary"),
        action=root,
        cls="stack",
    )
    content = el(
        "main",
        el("h1", "Partita studio"),
        el("p", "The command that started this server has printed an address with a token. Open that address, or "),
        el("p", "paste the token here. It is never stored in the address of a page."),
        notice("bad", wrong) if wrong else NOTHING,
        form,
        id="content",
        cls="lonely",
    )
    return document("Sign in · Partita", content, root, theme)
