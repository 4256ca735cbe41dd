"""The search indexes of a design: its vector indexes and its text indexes, each with a page of its own."""

import msgspec

from partita.errors import NotFound
from partita.search.text_index import TextIndex
from partita.studio.components import empty, heading
from partita.studio.markup import NOTHING, Markup, el
from partita.studio.shell import page
from partita.studio.visits import Redirect, Visit


class SearchIndexSummary(msgspec.Struct, frozen=True):
    """A search index: "vectors" or "text", its table (of a vector index) and its name."""

    kind: str
    table: str
    name: str


class SearchIndexesView(msgspec.Struct, frozen=True):
    """The search indexes of a design."""

    indexes: list[SearchIndexSummary]


def text_indexes(visit: Visit) -> dict[str, TextIndex[object]]:
    """The text indexes among the consumers of the design."""
    return {each.name: each for each in visit.opened.consumers if isinstance(each, TextIndex)}


def text_index(visit: Visit) -> TextIndex[object]:
    """The text index that a request names; the first one without a name."""
    found = text_indexes(visit)
    name = visit.param("index") or next(iter(found), "")
    if name not in found:
        raise NotFound("TextIndex", {"name": name})
    return found[name]


def read_search(visit: Visit) -> SearchIndexesView:
    vectors = [
        SearchIndexSummary("vectors", table.name, index.name)
        for table in visit.design.tables
        for index in table.vector_indexes
    ]
    return SearchIndexesView([*vectors, *(SearchIndexSummary("text", "", name) for name in text_indexes(visit))])


def render_search(view: SearchIndexesView, visit: Visit) -> Markup:
    """Leads to the first index; a browser has no use for the list alone."""
    if view.indexes:
        raise Redirect(_url(visit, view.indexes[0]))
    text = "Declare vectors with Table(..., vector_indexes=...), and words with TextIndex among the consumers."
    shown = empty("No search indexes", text)
    return page(visit, "Search indexes", heading("Search indexes"), shown, section="search")


def _url(visit: Visit, index: SearchIndexSummary) -> str:
    return visit.url(index.kind, table=index.table, index=index.name)


def search_tabs(visit: Visit, kind: str, name: str) -> Markup:
    """The search indexes, of which one is shown; nothing where the design has no other."""
    indexes = read_search(visit).indexes
    if len(indexes) == 1:
        return NOTHING
    tabs = [
        el("li", el("a", each.name, href=_url(visit, each), aria_current="page" if chosen else None))
        for each in indexes
        for chosen in [(each.kind, each.name) == (kind, name)]
    ]
    return el("nav", el("ul", tabs, cls="tabs"), aria_label="Search indexes")
