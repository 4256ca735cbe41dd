"""An API, declared: the documentation and the dispatch are made from the same declaration.

api = Api("press", "Press", design, service=Press)
api.reads("/posts/{post_id}", post)                              # from a pattern
api.lists("/categories/{category_id}/posts", posts_of_category)
api.changes("/posts/{post_id}", post, "title", who=owner("author_id"))

@api.put("/posts/{post_id}/likes/{user_id}", who=myself("user_id"))   # an operation of the service
def like(service: Press, user_id: str, post_id: str) -> None:
    service.like(user_id, post_id)
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

from partita.design.patterns import Pattern
from partita.errors import DesignError
from partita.plan.design import Design
from partita.rest import pattern_routes
from partita.rest.access import Rule, anyone
from partita.rest.pattern_routes import EntityLookup, cache_of
from partita.rest.routes import Route
from partita.rest.service_routes import looked_up, operation
from partita.store.store import Store

S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Protocol):
    """A decorator that leaves the function as it is."""

    def __call__(self, function: F, /) -> F: ...


class BackgroundJob(NamedTuple):
    """Work of a service that no request waits for, and how many seconds lie between."""

    work: Callable[[Any], object]
    every: float


class Api(Generic[S]):
    """The routes of a design, served under `/api/<name>`.

    `service` makes from a store what operations take as their first argument; without it they take the store itself.
    """

    @overload
    def __init__(self: "Api[Store]", name: str, title: str, design: Design, *, about: str = "") -> None: ...
    @overload
    def __init__(
        self, name: str, title: str, design: Design, *, service: Callable[[Store], S], about: str = ""
    ) -> None: ...
    def __init__(
        self,
        name: str,
        title: str,
        design: Design,
        *,
        service: Callable[[Store], Any] = lambda db: db,
        about: str = "",
    ) -> None:
        self.name = name
        self.title = title
        self.design = design
        self.about = about
        self.service: Callable[[Store], S] = service
        self.routes: list[Route] = []
        self.background_jobs: list[BackgroundJob] = []
        self.anonymous_example: str | None = None
        self.signed_in_example: str | None = None

    def examples(self, *, anonymous: str | None = None, signed_in: str | None = None) -> None:
        """Addresses of demo data that a newcomer is shown: without a token, and with an admin's."""
        self.anonymous_example = anonymous
        self.signed_in_example = signed_in

    def background_job(self, work: Callable[[S], object], *, every: float) -> None:
        """What the service puts off is done every so many seconds while it is served, and once more at the end."""
        self.background_jobs.append(BackgroundJob(work, every))

    # From the design

    def expose_get(
        self, path: str, pattern: Pattern[Any, Any], *, who: Rule = anyone, name: str = "", cache: str = ""
    ) -> None:
        """GET of one entity, with its tag."""
        self._add(pattern_routes.reading(path, pattern, who, len(self.routes), name, cache))

    def expose_list(
        self,
        path: str,
        pattern: Pattern[Any, Any],
        *,
        who: Rule = anyone,
        on: Any = None,
        name: str = "",
        about: str = "",
        cache: str = "",
    ) -> None:
        """GET of a page of a query, with a cursor to the next; `of` as for operations.

        `about` says what it gives, where neither the pattern's docstring nor its name does.
        """
        look = self._lookup(path, who, on)
        self._add(pattern_routes.listing_of(path, pattern, who, look, len(self.routes), name, about, cache))

    def expose_patch(
        self, path: str, pattern: Pattern[Any, Any], *fields: str, who: Rule, on: Any = None, name: str = ""
    ) -> None:
        """PATCH of some attributes; `If-Match` refuses when the entity was edited since it was read.

        `of` as for operations, where the rule looks at something else than the entity.
        """
        look = None if on is None else self._lookup(path, who, on)
        self._add(pattern_routes.changing(path, pattern, fields, who, look, name))

    def expose_delete(
        self, path: str, pattern: Pattern[Any, Any], *, who: Rule, on: Any = None, name: str = ""
    ) -> None:
        """DELETE of one entity and what it owns; what was let pass is what is deleted. `of` as for changes."""
        look = None if on is None else self._lookup(path, who, on)
        self._add(pattern_routes.deleting(path, pattern, who, look, name))

    # From the service: the function takes the service, perhaps the caller, a body (a struct), IfMatch, and the rest.
    # `of` says what a rule that looks at a thing looks at: a pattern, or a function that takes the service and, by
    # their names, arguments of the path and the caller.

    def get(self, path: str, *, who: Rule = anyone, on: Any = None, cache: str = "") -> Decorator:
        return self._operation("GET", path, who, on, cache=cache or cache_of(who))

    def post(
        self, path: str, *, who: Rule, on: Any = None, status: int = 200, location: str | None = None
    ) -> Decorator:
        """`location` is the address of what was made, with attributes of the reply in braces."""
        return self._operation("POST", path, who, on, status=201 if location else status, location=location)

    def put(self, path: str, *, who: Rule, on: Any = None) -> Decorator:
        return self._operation("PUT", path, who, on)

    def patch(self, path: str, *, who: Rule, on: Any = None) -> Decorator:
        return self._operation("PATCH", path, who, on)

    def delete(self, path: str, *, who: Rule, on: Any = None) -> Decorator:
        return self._operation("DELETE", path, who, on)

    def _operation(self, method: str, path: str, who: Rule, on: Any, **more: Any) -> Decorator:
        def declare(function: F) -> F:
            self._add(operation(method, path, function, who, self._lookup(path, who, on), **more))
            return function

        return declare

    def _lookup(self, path: str, who: Rule, on: Any) -> EntityLookup | None:
        """How a rule finds the thing that it looks at; None where it has been decided without."""
        if who.needs_entity and on is None:
            reason = f"{who.description!r} needs an entity to look at"
            raise DesignError(f"{self.name} {path}", reason, "name the pattern or function that finds it with on=")
        return looked_up(on) if who.needs_entity else None

    def _add(self, route: Route) -> None:
        for each in self.routes:
            if each.name == route.name or (each.method, each.path) == (route.method, route.path):
                raise DesignError(f"{self.name} {route.method} {route.path} ({route.name})", "declared twice")
        self.routes.append(route)
