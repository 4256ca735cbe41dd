"""An API on a store: its service made, its paths planted in a tree, its pages printed."""

from collections.abc import Callable
from typing import Any, NamedTuple

from partita.errors import StoreError
from partita.rest.api import Api
from partita.rest.error_mapping import Blame, Written
from partita.rest.error_wording import Wording
from partita.rest.json_codec import encoded
from partita.rest.openapi import openapi
from partita.rest.pages.docs_page import docs_page
from partita.rest.problems import Problem, problem_of
from partita.rest.response_cache import RenderedItem, RenderedPage, TwoGenerationCache
from partita.rest.routes import JsonReply, Route, RouteCall
from partita.store.store import Store


class CachedReply(NamedTuple):
    """A reply, and what has to be so for it to be given again."""

    reply: JsonReply
    route: Route
    arguments: dict[str, Any]
    version: int


class ParsedAddress(NamedTuple):
    """What an address says: its route, the arguments of its path, and all of them."""

    route: Route
    in_path: dict[str, Any]
    arguments: dict[str, Any]


PARSED = 4 * 1024 * 1024  # bytes
PARSED_SIZE = 1024  # about what one of them takes, beside its address


class MountedApi:
    """`version` tells when the data has changed; where there is one, reads never wait and run on the event loop."""

    def __init__(self, api: Api[Any], db: Store, version: Callable[[], int] | None = None) -> None:
        described = openapi(api)
        self.api = api
        self.db = db
        self.version = version
        self.service = api.service(db)
        self.memory: TwoGenerationCache[RenderedItem] = TwoGenerationCache()
        self.pages: TwoGenerationCache[RenderedPage] = TwoGenerationCache()
        self.parsed: TwoGenerationCache[ParsedAddress] = TwoGenerationCache(PARSED)
        self.replies: TwoGenerationCache[CachedReply] = TwoGenerationCache()
        self.root = f"/api/{api.name}"
        self.description = encoded(described)
        self.page = docs_page(api.title, described).encode()
        self._tree: dict[Any, Any] = {}
        for route in api.routes:
            self._plant(route)
        self._wording = Wording(db.design.models)
        self._blame = Blame(db.design, self._wording)

    def _plant(self, route: Route) -> None:
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
        """The problem that an error is, with all names as the client knows them; None for a fault of ours."""
        problem = problem_of(error, matching=matching)
        if problem is None or route is None:
            return problem
        blamed = self._blame.of(error, Written(route, call))
        if blamed is not None:
            problem.field, problem.detail = blamed
        elif isinstance(error, StoreError):
            problem.detail = self._wording.detail(route.name, error)
        return problem


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
