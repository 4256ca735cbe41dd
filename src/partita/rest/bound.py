"""An API on a store: its service made, its paths planted in a tree, its pages printed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from partita.plan.errors import ReferenceMissing, StoreError
from partita.rest.api import Api
from partita.rest.docs_page import docs_page
from partita.rest.openapi import openapi
from partita.rest.plain_json import encoded
from partita.rest.problems import Problem, problem_of
from partita.rest.remembered import Listed, Memory, Shown
from partita.rest.routes import Reply, Route
from partita.rest.wording import Wording
from partita.store.store import Store


class Kept(NamedTuple):
    """A reply, and what has to be so for it to be given again."""

    reply: Reply
    route: Route
    arguments: dict[str, Any]
    version: int


class Parsed(NamedTuple):
    """What an address says: its route, the arguments of its path, and all of them."""

    route: Route
    in_path: dict[str, Any]
    arguments: dict[str, Any]


PARSED = 4 * 1024 * 1024  # bytes
PARSED_SIZE = 1024  # about what one of them takes, beside its address


class BoundApi:
    """`version` tells when the data has changed; where there is one, reads never wait and run on the event loop."""

    def __init__(self, api: Api[Any], db: Store, version: Callable[[], int] | None = None) -> None:
        described = openapi(api)
        self.api = api
        self.db = db
        self.version = version
        self.service = api.service(db)
        self.memory: Memory[Shown] = Memory()
        self.pages: Memory[Listed] = Memory()
        self.parsed: Memory[Parsed] = Memory(PARSED)
        self.replies: Memory[Kept] = Memory()
        self.root = f"/api/{api.name}"
        self.description = encoded(described)
        self.page = docs_page(api.title, described).encode()
        self._tree: dict[Any, Any] = {}
        for route in api.routes:
            self._plant(route)
        self._members = {route.name: _members(route) for route in api.routes}
        self._names = {
            (model.name, each.name): each.encode_name
            for model in db.design.models
            for each in msgspec.structs.fields(model.cls)
        }
        self._wording = Wording(db.design.models)
        self._references = {
            (model.name, marker.entity().__name__): attribute.field
            for model in db.design.models
            for attribute, marker in model.references
        }

    def _plant(self, route: Route) -> None:
        branch = self._tree
        for segment in route.segments:
            branch = branch.setdefault(None if segment.startswith("{") else segment, {})
        branch.setdefault("", {})[route.method] = route

    def find(self, tail: str) -> tuple[dict[str, Route], list[str]] | None:
        """The routes at a path, by method, and the values of its placeholders; constants go before placeholders."""
        return _walk(self._tree, tail.split("/"), 0, [])

    def problem(self, route: Route | None, error: Exception, *, matching: bool) -> Problem | None:
        """The problem that an error is, with all names as the client knows them; None for a fault of ours."""
        problem = problem_of(error, matching=matching)
        if problem is None or route is None:
            return problem
        if isinstance(error, StoreError):
            problem.detail = self._wording.detail(route.name, error)
        if problem.field is None:
            return problem
        field = problem.field
        entity = getattr(error, "entity", "") or getattr(error, "where", "").partition(".")[0]
        if isinstance(error, ReferenceMissing):
            field = self._references.get((error.entity, error.missing), field)
        shown = self._names.get((entity, field), field)
        problem.field = self._members[route.name].get(field, shown)
        return problem


def _members(route: Route) -> dict[str, str]:
    """The members of a body as JSON has them, by the names that Python has for them."""
    return {} if route.body is None else {each.name: each.encode_name for each in msgspec.structs.fields(route.body)}


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
