"""An API, declared: the documentation and the dispatch are made from the same declaration.

api = Api("blog", "Blog", Blog)
api.reads("/posts/{post_id}", post)                              # from a pattern
api.lists("/categories/{category_id}/posts", posts_of_category)
api.changes("/posts/{post_id}", post, "title", who=owner("author_id"))

@api.put("/posts/{post_id}/likes/{user_id}", who=myself("user_id"))   # an operation of the service
def like(service: Blog, user_id: str, post_id: str) -> None:
    service.like(user_id, post_id)
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from partita.design.patterns import Pattern
from partita.rest import pattern_routes
from partita.rest.access import Who, anyone
from partita.rest.pattern_routes import Look, cache_of
from partita.rest.routes import Route
from partita.rest.service_routes import looked_up, operation
from partita.store.store import Store

S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])


class Declares(Protocol):
    """A decorator that leaves the function as it is."""

    def __call__(self, function: F, /) -> F: ...


class Repeated(NamedTuple):
    """Work of a service that no request waits for, and how many seconds lie between."""

    work: Callable[[Any], object]
    every: float


class Api(Generic[S]):
    """The routes of one system; `service` makes its service from a store."""

    def __init__(self, name: str, title: str, service: Callable[[Store], S], about: str = "") -> None:
        self.name = name
        self.title = title
        self.about = about
        self.service = service
        self.routes: list[Route] = []
        self.repeated: list[Repeated] = []
        self.open_try: str | None = None
        self.signed_try: str | None = None

    def tries(self, *, open: str | None = None, signed: str | None = None) -> None:  # noqa: A002 - as opposed to signed
        """Addresses of demo data that a newcomer is shown: without a token, and with an admin's."""
        self.open_try = open
        self.signed_try = signed

    def repeats(self, work: Callable[[S], object], *, every: float) -> None:
        """What the service puts off is done every so many seconds while it is served, and once more at the end."""
        self.repeated.append(Repeated(work, every))

    # From the design

    def reads(
        self, path: str, pattern: Pattern[Any, Any], *, who: Who = anyone, name: str = "", cache: str = ""
    ) -> None:
        """GET of one entity, with its tag."""
        self._add(pattern_routes.reading(path, pattern, who, len(self.routes), name, cache))

    def lists(
        self,
        path: str,
        pattern: Pattern[Any, Any],
        *,
        who: Who = anyone,
        of: Any = None,
        name: str = "",
        about: str = "",
        cache: str = "",
    ) -> None:
        """GET of a page of a query, with a cursor to the next; `of` as for operations.

        `about` says what it gives, where neither the pattern's docstring nor its name does.
        """
        look = self._look(path, who, of)
        self._add(pattern_routes.listing_of(path, pattern, who, look, len(self.routes), name, about, cache))

    def changes(
        self, path: str, pattern: Pattern[Any, Any], *fields: str, who: Who, of: Any = None, name: str = ""
    ) -> None:
        """PATCH of some attributes; `If-Match` refuses when the entity was edited since it was read.

        `of` as for operations, where the rule looks at something else than the entity.
        """
        look = None if of is None else self._look(path, who, of)
        self._add(pattern_routes.changing(path, pattern, fields, who, look, name))

    def deletes(self, path: str, pattern: Pattern[Any, Any], *, who: Who, of: Any = None, name: str = "") -> None:
        """DELETE of one entity and what it owns; what was let pass is what is deleted. `of` as for changes."""
        look = None if of is None else self._look(path, who, of)
        self._add(pattern_routes.deleting(path, pattern, who, look, name))

    # From the service: the function takes the service, perhaps the caller, a body (a struct), IfMatch, and the rest.
    # `of` says what a rule that looks at a thing looks at: a pattern, or a function that takes the service and, by
    # their names, arguments of the path and the caller.

    def get(self, path: str, *, who: Who = anyone, of: Any = None, cache: str = "") -> Declares:
        return self._operation("GET", path, who, of, cache=cache or cache_of(who))

    def post(self, path: str, *, who: Who, of: Any = None, status: int = 200, location: str | None = None) -> Declares:
        """`location` is the address of what was made, with attributes of the reply in braces."""
        return self._operation("POST", path, who, of, status=201 if location else status, location=location)

    def put(self, path: str, *, who: Who, of: Any = None) -> Declares:
        return self._operation("PUT", path, who, of)

    def patch(self, path: str, *, who: Who, of: Any = None) -> Declares:
        return self._operation("PATCH", path, who, of)

    def delete(self, path: str, *, who: Who, of: Any = None) -> Declares:
        return self._operation("DELETE", path, who, of)

    def _operation(self, method: str, path: str, who: Who, of: Any, **more: Any) -> Declares:
        def declare(function: F) -> F:
            self._add(operation(method, path, function, who, self._look(path, who, of), **more))
            return function

        return declare

    def _look(self, path: str, who: Who, of: Any) -> Look | None:
        """How a rule finds the thing that it looks at; None where it has been decided without."""
        if who.looks and of is None:
            raise TypeError(f"{self.name} {path}: say what {who.told!r} is looked up in, with of=")
        return looked_up(of) if who.looks else None

    def _add(self, route: Route) -> None:
        for each in self.routes:
            if each.name == route.name or (each.method, each.path) == (route.method, route.path):
                raise TypeError(f"{self.name} {route.method} {route.path} ({route.name}): declared twice")
        self.routes.append(route)
