"""The pages of the studio: method and path, the function that reads a page's struct, and the one that renders it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from partita.studio import (
    design_map,
    edit_pages,
    health_page,
    history_page,
    item_list,
    item_page,
    overview,
    partiql_console,
    pattern_pages,
    search_tabs,
    stream_page,
    text_page,
    transfer_pages,
    vector_page,
)
from partita.studio.markup import Markup
from partita.studio.visits import Visit


class StudioPage(NamedTuple):
    """A page; `{name}` in its path is any text without a slash."""

    method: str
    path: str
    read: Callable[[Visit], Any]
    render: Callable[[Any, Visit], Markup]
    writes: bool = False


def no_page(view: Any, visit: Visit) -> Markup:
    """For what is sent as it is: downloads and events."""
    raise NotImplementedError


ROUTES = (
    StudioPage("GET", "", overview.read_home, overview.render_home),
    StudioPage("GET", "/{design}", overview.read_design, overview.render_design),
    StudioPage("GET", "/{design}/map", design_map.read_map, design_map.render_map),
    StudioPage("GET", "/{design}/patterns", pattern_pages.read_patterns, pattern_pages.render_patterns),
    StudioPage("GET", "/{design}/patterns/{pattern}", pattern_pages.read_pattern, pattern_pages.render_pattern),
    StudioPage("GET", "/{design}/items", item_list.read_items, item_list.render_items),
    StudioPage("GET", "/{design}/item", item_page.read_item, item_page.render_item),
    StudioPage("GET", "/{design}/new", edit_pages.read_new, edit_pages.render_edit),
    StudioPage("GET", "/{design}/edit", edit_pages.read_edit, edit_pages.render_edit),
    StudioPage("GET", "/{design}/delete", edit_pages.read_delete, edit_pages.render_edit),
    StudioPage("POST", "/{design}/stage", edit_pages.write_stage, edit_pages.render_edit, writes=True),
    StudioPage("GET", "/{design}/staged", edit_pages.read_staged, edit_pages.render_staged),
    StudioPage("POST", "/{design}/commit", edit_pages.write_commit, edit_pages.render_staged, writes=True),
    StudioPage("POST", "/{design}/discard", edit_pages.write_discard, edit_pages.render_staged),
    StudioPage("GET", "/{design}/partiql", partiql_console.read_statement, partiql_console.render_statement),
    StudioPage(
        "POST", "/{design}/partiql", partiql_console.write_statement, partiql_console.render_statement, writes=True
    ),
    StudioPage("GET", "/{design}/search", search_tabs.read_search, search_tabs.render_search),
    StudioPage("GET", "/{design}/vectors", vector_page.read_vectors, vector_page.render_vectors),
    StudioPage("GET", "/{design}/text", text_page.read_text, text_page.render_text),
    StudioPage("GET", "/{design}/export", transfer_pages.read_export, transfer_pages.render_export),
    StudioPage("GET", "/{design}/export/lines", transfer_pages.read_lines, no_page),
    StudioPage("GET", "/{design}/import", transfer_pages.read_import, transfer_pages.render_import),
    StudioPage("POST", "/{design}/import", transfer_pages.write_import, transfer_pages.render_import, writes=True),
    StudioPage("GET", "/{design}/history", history_page.read_history, history_page.render_history),
    StudioPage("POST", "/{design}/undo", history_page.write_undo, no_page, writes=True),
    StudioPage("GET", "/{design}/stream", stream_page.read_stream, stream_page.render_stream),
    StudioPage("GET", "/{design}/stream/events", stream_page.read_events, no_page),
    StudioPage("GET", "/{design}/health", health_page.read_health, health_page.render_health),
    StudioPage("POST", "/{design}/backup", health_page.write_backup, no_page, writes=True),
    StudioPage("POST", "/{design}/restore", health_page.write_restore, no_page, writes=True),
    StudioPage("POST", "/{design}/letter", health_page.write_letter, no_page, writes=True),
)


def matching_route(method: str, path: str) -> tuple[StudioPage, dict[str, str]] | None:
    """The page at a path, and the values of its placeholders."""
    segments = path.split("/")[1:] if path else []
    for route in ROUTES:
        wanted = route.path.split("/")[1:] if route.path else []
        if route.method == method and len(wanted) == len(segments):
            pairs = list(zip(wanted, segments, strict=True))
            if all(each.startswith("{") or each == given for each, given in pairs):
                return route, {each[1:-1]: given for each, given in pairs if each.startswith("{")}
    return None
