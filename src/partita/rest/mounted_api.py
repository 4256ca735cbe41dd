"""An API on a store: its service, its tree of paths, its caches, its pages."""

from collections.abc import Callable
from typing import Any, NamedTuple

from partita.design.json_codec import encoded
from partita.rest.api import Api
from partita.rest.error_mapping import ErrorMapping, RequestNames
from partita.rest.openapi import openapi
from partita.rest.pages.docs_page import docs_page
from partita.rest.problems import Problem
from partita.rest.response_cache import RenderedItem, RenderedPage, TwoGenerationCache
from partita.rest.routes import JsonReply, Route, RouteCall
from partita.store.store import Store


class CachedReply(NamedTuple):
    """A reply, and the version of the data that it was made from."""

    reply: JsonReply
    route: Route
    arguments: dict[str, Any]
    version: int


class ParsedAddress(NamedTuple):
    """The route of an address, the arguments in its path, and all of its arguments."""

    route: Route
    in_path: dict[str, Any]
    arguments: dict[str, Any]


ADDRESS_CACHE_BYTES = 4 * 1024 * 1024  # bytes
PARSED_ADDRESS_BYTES = 1024  # of one, beside the address itself


class MountedApi:
    """`version` changes with every write; a backend that has one is embedded, so reads run on the event loop."""

    def __init__(self, api: Api[Any], db: Store, version: Callable[[], int] | None = None) -> None:
        described = openapi(api)
        self.api = api
        self.db = db
        self.version = version
        self.service = api.service(db)
        self.item_cache: TwoGenerationCache[RenderedItem] = TwoGenerationCache()
        self.page_cache: TwoGenerationCache[RenderedPage] = TwoGenerationCache()
        self.address_cache: TwoGenerationCache[ParsedAddress] = TwoGenerationCache(ADDRESS_CACHE_BYTES)
        self.reply_cache: TwoGenerationCache[CachedReply] = TwoGenerationCache()
        self.root = f"/api/{api.name}"
        self.openapi_json = encoded(described)
        self.docs_html = docs_page(api.title, described).encode()
        self._tree: dict[Any, Any] = {}
        for route in api.routes:
            self._add_route(route)
        self._errors = ErrorMapping(db.design)

    def _add_route(self, route: Route) -> None:
        branch = self._tree
        for segment in route.segments:
            branch = branch.setdefault(None if segment.startswith("{") else segment, {})
        branch.setdefault("", {})[route.method] = route

    def find(self, tail: str) -> tuple[dict[str, Route], list[str]] | None:
        """The routes at a path, by method, and the values of its placeholders; constants go before placeholders."""
        return _walk(self._tree, tail.split("/"), 0, [])

    def problem(
        self, error: Exception, route: Route | None, call: RouteCall | None, *, matching: bool
    ) -> Problem | None:
        """The problem that an error is, in the names of the request; None where the fault is the server's."""
        return self._errors.problem(error, RequestNames(route, call), matching=matching)


def _walk(
    branch: dict[Any, Any], segments: list[str], at: int, values: list[str]
) -> tuple[dict[str, Route], list[str]] | None:
    if at == len(segments):
        methods = branch.get("")
        return (methods, values) if methods else None
    head = segments[at]
    if not head:
        return None
    constant, placeholder = branch.get(head), branch.get(None)
    if constant is not None:
        found = _walk(constant, segments, at + 1, values)
        if found is not None or placeholder is None:
            return found
    return _walk(placeholder, segments, at + 1, [*values, head]) if placeholder is not None else None
