"""An API on a store: its service, its tree of paths, its caches, its pages."""

from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

from partita.design.json_codec import encoded
from partita.rest.api import Api
from partita.rest.auth.identity import Caller
from partita.rest.demo_values import demo_values
from partita.rest.error_mapping import ErrorMapping, RequestNames
from partita.rest.etags import IfMatch
from partita.rest.openapi import openapi
from partita.rest.pages.docs_page import docs_page
from partita.rest.problems import Problem
from partita.rest.response_cache import RenderedItem, RenderedPage, TwoGenerationCache
from partita.rest.routes import JsonReply, Route, RouteCall
from partita.rest.visibility import nested
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


MAX_OUTDATED = 16
ADDRESS_CACHE_BYTES = 4 * 1024 * 1024  # bytes
PARSED_ADDRESS_BYTES = 1024  # of one, beside the address itself


class StaticPages(NamedTuple):
    """The OpenAPI description and the documentation page of an API."""

    openapi_json: bytes
    docs_html: bytes


@runtime_checkable
class EmbeddedBackend(Protocol):
    """A backend in this process: its reads never wait, and its `version` changes with every write."""

    def version(self) -> int: ...


class MountedApi:
    """`path` is where the API is found in the application; on an embedded engine, reads run on the event loop."""

    def __init__(self, api: Api[Any], db: Store, path: str, demo_token: str | None = None) -> None:
        self.api = api
        self.demo_token = demo_token
        self.db = db
        self.path = path
        self.version = db.backend.version if isinstance(db.backend, EmbeddedBackend) else None
        self.service = api.service(db)
        self.item_cache: TwoGenerationCache[RenderedItem] = TwoGenerationCache()
        self.page_cache: TwoGenerationCache[RenderedPage] = TwoGenerationCache()
        self.address_cache: TwoGenerationCache[ParsedAddress] = TwoGenerationCache(ADDRESS_CACHE_BYTES)
        self.reply_cache: TwoGenerationCache[CachedReply] = TwoGenerationCache()
        self.static_pages = lru_cache(maxsize=8)(self._static_pages)
        self.static_pages("")  # a route that cannot be described is an error now
        self._tree: dict[Any, Any] = {}
        for route in api.routes:
            self._add_route(nested(route, api.routes))
        self._errors = ErrorMapping(db.design, api.registration)
        self._demo_values: dict[str, str] = {}
        self._outdated = 0  # cached replies in a row that were out of date
        self._skipped = 0

    def version_for_reply(self) -> int | None:
        """The version of the data for which a reply may be cached, or None where caching is not worth its time.

        While the data changes between any two requests, only every sixteenth looks at the version.
        """
        if self.version is None:
            return None
        if self._outdated >= MAX_OUTDATED:
            self._skipped += 1
            if self._skipped % MAX_OUTDATED:
                return None
        return self.version()

    def note_cached_reply(self, *, is_current: bool) -> None:
        """Notes whether a reply that was in the cache could be used."""
        self._outdated = 0 if is_current else self._outdated + 1

    def _static_pages(self, root: str) -> StaticPages:
        described = openapi(self.api, self.path, root)
        return StaticPages(encoded(described), docs_page(self.api.title, described, self.path).encode())

    def demo_page(self, root: str, token: str) -> bytes:
        """The documentation page with ids that exist in the data, and a button that fills in a token."""
        if not self._demo_values:
            self._demo_values = demo_values(self.api.routes, self.call_of_nobody())
        described = openapi(self.api, self.path, root)
        return docs_page(self.api.title, described, self.path, self._demo_values, token).encode()

    def call_of_nobody(self) -> RouteCall:
        """A call of an anonymous caller, without arguments."""
        caches = self.item_cache, self.page_cache
        return RouteCall(self.db, self.service, *caches, Caller(), {}, None, IfMatch(None))

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
