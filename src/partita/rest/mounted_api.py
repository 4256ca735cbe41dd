"""An API on a store: its service, its tree of paths, its caches, its pages."""

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from threading import get_ident
from typing import Any, NamedTuple, Protocol, runtime_checkable

from partita.design.json_codec import encoded
from partita.dynamodb.backend import Backend
from partita.rest.api import Api
from partita.rest.auth.identity import Caller
from partita.rest.demo_values import demo_values
from partita.rest.error_mapping import ErrorMapping, RequestNames
from partita.rest.etags import IfMatch
from partita.rest.openapi import openapi
from partita.rest.pages.docs_page import docs_page
from partita.rest.problems import Problem
from partita.rest.response_cache import Expiry, RenderedItem, TwoGenerationCache
from partita.rest.routes import JsonReply, Route, RouteCall
from partita.rest.visibility import nested
from partita.store.store import Store


class RepeatableReads(Protocol):
    """Reads that can be repeated, and the rows that they found."""

    is_complete: bool

    @property
    def size(self) -> int: ...

    def find_the_same(self) -> bool: ...


class RecordingBackend(Backend, Protocol):
    """A backend that records the reads of its requests."""

    def take(self) -> RepeatableReads: ...


@dataclass(slots=True)
class CachedReply:
    """A reply, the reads that it was made from, and a version of the data in which they find the same."""

    reply: JsonReply
    route: Route
    arguments: dict[str, Any]
    version: int
    reads: RepeatableReads
    expires: float | None

    def is_current(self, version: int) -> bool:
        """Whether the reply would be the same at this version of the data, but for what has expired."""
        if self.version != version:
            if not self.reads.find_the_same():
                return False
            self.version = version
        return True


class ParsedAddress(NamedTuple):
    """The route of an address, the arguments in its path, and all of its arguments."""

    route: Route
    in_path: dict[str, Any]
    arguments: dict[str, Any]


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

    def record_reads(self) -> RecordingBackend: ...


class RecordedStore:
    """A store on an embedded backend whose reads are recorded, for the first thread that uses it.

    Versions of two threads cannot be compared, and reads of two threads would be recorded as those of one request.
    """

    def __init__(self, db: Store, backend: EmbeddedBackend) -> None:
        recording = backend.record_reads()
        self._thread: int | None = None
        self.version = backend.version
        self.take_reads = recording.take
        self.db = copy(db)
        self.db.backend = recording

    def is_of_this_thread(self) -> bool:
        if self._thread is None:
            self._thread = get_ident()
        return self._thread == get_ident()


class MountedApi:
    """`path` is where the API is found in the application; on an embedded engine, reads run on the event loop."""

    def __init__(self, api: Api[Any], db: Store, path: str, demo_token: str | None = None) -> None:
        self.api = api
        self.demo_token = demo_token
        self.db = db
        self.path = path
        self.recorded = RecordedStore(db, db.backend) if isinstance(db.backend, EmbeddedBackend) else None
        self.service = api.service(db)
        self.item_cache: TwoGenerationCache[RenderedItem] = TwoGenerationCache()
        self.address_cache: TwoGenerationCache[ParsedAddress] = TwoGenerationCache(ADDRESS_CACHE_BYTES)
        self.reply_cache: TwoGenerationCache[CachedReply] = TwoGenerationCache()
        self.static_pages = lru_cache(maxsize=8)(self._static_pages)
        self.static_pages("")  # a route that cannot be described is an error now
        self._tree: dict[Any, Any] = {}
        for route in api.routes:
            self._add_route(nested(route, api.routes))
        self._errors = ErrorMapping(db.design, api.registration)
        self._demo_values: dict[str, str] = {}

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
        return RouteCall(self.db, self.service, self.item_cache, Caller(), {}, None, IfMatch(None), Expiry())

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
