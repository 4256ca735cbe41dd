"""Declaration of an API, from which both its routes and its documentation come.

api = Api("press", "Press", design, service=Press)
api.expose_get("/posts/{post_id}", post)                              # from a pattern
api.expose_list("/categories/{category_id}/posts", posts_of_category)
api.expose_patch("/posts/{post_id}", post, "title", who=owned_by("author_id"))

@api.put("/posts/{post_id}/likes/{user_id}", who=caller_is("user_id"))   # an operation of the service
def like(service: Press, user_id: str, post_id: str) -> None:
    service.like(user_id, post_id)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

from partita.design.patterns import Pattern
from partita.errors import DesignError
from partita.plan.design import Design
from partita.rest import pattern_routes
from partita.rest.access import Rule, anyone
from partita.rest.batch_routes import reading_many
from partita.rest.error_mapping import Registration
from partita.rest.events.event_routes import event_routes
from partita.rest.hosted_files import FilePlace, HostedFile, file_place
from partita.rest.parameter_names import naming_of, with_sent_names
from partita.rest.pattern_routes import EntityLookup, cache_of
from partita.rest.related import Related, including
from partita.rest.routes import Route, read_type
from partita.rest.service_routes import looked_up, operation
from partita.store.store import Store

S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])
FindFile = TypeVar("FindFile", bound=Callable[..., HostedFile | None])


class Decorator(Protocol):
    """A decorator that leaves the function as it is."""

    def __call__(self, function: F, /) -> F: ...


class BackgroundJob(NamedTuple):
    """A function of the service that runs `every` so many seconds; no request waits for it."""

    work: Callable[[Any], object]
    every: float


class Api(Generic[S]):
    """The routes of a design, served under `/api/<name>`.

    `service(store)` is the first argument of every operation; without it, that is the store itself.
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
        self._declared: list[Route] = []
        self.background_jobs: list[BackgroundJob] = []
        self.file_places: list[FilePlace] = []
        self.registration: Registration | None = None
        self.anonymous_example: str | None = None
        self.signed_in_example: str | None = None

    @cached_property
    def routes(self) -> list[Route]:
        """All operations, with the names of their parameters as clients write them."""
        return with_sent_names(self._declared, naming_of(self.design))

    def examples(self, *, anonymous: str | None = None, signed_in: str | None = None) -> None:
        """Addresses of demo data for the examples that `partita serve` prints: without a token, and with an admin's."""
        self.anonymous_example = anonymous
        self.signed_in_example = signed_in

    def background_job(self, work: Callable[[S], object], *, every: float) -> None:
        """Runs `work(service)` every so many seconds while the API is served, and once more at the end."""
        self.background_jobs.append(BackgroundJob(work, every))

    def files(self, path: str, *, domains: Sequence[str] = ()) -> Callable[[FindFile], FindFile]:
        """Publishes the files that the function finds, by name and path: see `hosted_files`."""

        def declare(function: FindFile) -> FindFile:
            self.file_places.append(file_place(path, domains, function))
            return function

        return declare

    # From the design

    def expose_get(
        self,
        path: str,
        pattern: Pattern[Any, Any],
        *,
        who: Rule = anyone,
        name: str = "",
        cache: str = "",
        on_read: Callable[[S, Any], object] | None = None,
    ) -> None:
        """GET of one entity, with its ETag.

        `on_read` gets the service and the entity at each GET, also one that is answered from a cache of this process.
        It runs on the event loop, so it must not wait: it counts, and a background job writes.
        """
        route = pattern_routes.reading(path, pattern, who, len(self._declared), name, cache)
        self._add(replace(route, on_read=on_read))

    def expose_get_many(
        self, path: str, pattern: Pattern[Any, Any], *, who: Rule = anyone, name: str = "", cache: str = ""
    ) -> None:
        """GET of up to 100 entities by `ids`; those that the caller may not see are reported as missing."""
        self._add(reading_many(path, pattern, who, name, cache or cache_of(who)))

    def expose_me(self, users: Pattern[Any, Any] | None = None, *, register: str = "") -> None:
        """GET `/me`: the caller's id and groups, and the user that `users` finds by the id.

        `register` says how a caller becomes a user, such as "POST /users": the errors of other callers say so.
        """
        self._add(pattern_routes.reading_caller(users))
        if users is not None:
            entity = read_type(users).__name__
            self.registration = Registration(entity, f"register with {register} first")

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
        include: Sequence[Related] = (),
    ) -> None:
        """GET of a page of a query, with a cursor to the next; `on` as for operations.

        `about` describes it, where neither the pattern's docstring nor its name does. `include` are entities that a
        client may ask for beside each item.
        """
        look = self._lookup(path, who, on)
        listed = pattern_routes.listing_of(path, pattern, who, look, len(self._declared), name, about, cache)
        self._add(including(listed, include))

    def expose_patch(
        self, path: str, pattern: Pattern[Any, Any], *fields: str, who: Rule, on: Any = None, name: str = ""
    ) -> None:
        """PATCH of some attributes; with `If-Match`, 412 if the entity has been edited since it was read.

        `on` as for operations, where the rule looks at another entity.
        """
        look = None if on is None else self._lookup(path, who, on)
        self._add(pattern_routes.changing(path, pattern, fields, who, look, name))

    def expose_delete(
        self, path: str, pattern: Pattern[Any, Any], *, who: Rule, on: Any = None, name: str = ""
    ) -> None:
        """DELETE of one entity and what it owns, if it is still as the rule saw it; `on` as for `expose_patch`."""
        look = None if on is None else self._lookup(path, who, on)
        self._add(pattern_routes.deleting(path, pattern, who, look, name))

    def expose_events(
        self,
        path: str,
        entity: type[Any],
        *by: str,
        who: Rule = anyone,
        on: Any = None,
        name: str = "",
        about: str = "",
    ) -> None:
        """GET of an entity's changes while they happen, as server-sent events.

        `on` as for operations; it also decides whether what the path names exists, where the rule needs no entity.
        `by` are the placeholders that select the changes, by fields of the entity: by default all. A POST to
        `path/ticket` returns a ticket for browsers.
        """
        self._lookup(path, who, on)
        look = None if on is None else looked_up(on)
        for route in event_routes(path, entity, by, who, look, name, about):
            self._add(route)

    # From the service: the function takes the service and, by their types, the caller, a body (a struct) and IfMatch;
    # other parameters are in the path or the query string. `on` finds the entity that the rule looks at: a pattern, or
    # a function that takes the service and, by their names, parameters of the path and the caller.

    def get(
        self, path: str, *, who: Rule = anyone, on: Any = None, cache: str = "", include: Sequence[Related] = ()
    ) -> Decorator:
        """`include` as for `expose_list`, for an operation that returns a page."""
        return self._operation("GET", path, who, on, include=include, cache=cache or cache_of(who))

    def post(
        self, path: str, *, who: Rule, on: Any = None, status: int = 200, location: str | None = None
    ) -> Decorator:
        """`location` is the address of the created entity, with attributes of the reply in braces."""
        return self._operation("POST", path, who, on, status=201 if location else status, location=location)

    def put(self, path: str, *, who: Rule, on: Any = None) -> Decorator:
        return self._operation("PUT", path, who, on)

    def patch(self, path: str, *, who: Rule, on: Any = None) -> Decorator:
        return self._operation("PATCH", path, who, on)

    def delete(self, path: str, *, who: Rule, on: Any = None) -> Decorator:
        return self._operation("DELETE", path, who, on)

    def _operation(
        self, method: str, path: str, who: Rule, on: Any, include: Sequence[Related] = (), **more: Any
    ) -> Decorator:
        def declare(function: F) -> F:
            found = operation(method, path, function, who, self._lookup(path, who, on), **more)
            self._add(including(found, include))
            return function

        return declare

    def _lookup(self, path: str, who: Rule, on: Any) -> EntityLookup | None:
        """How the entity that a rule looks at is found; None where the rule needs none."""
        if who.needs_entity and on is None:
            reason = f"{who.description!r} needs an entity to look at"
            raise DesignError(f"{self.name} {path}", reason, "name the pattern or function that finds it with on=")
        return looked_up(on) if who.needs_entity else None

    def _add(self, route: Route) -> None:
        for each in self._declared:
            if each.name == route.name or (each.method, each.path) == (route.method, route.path):
                raise DesignError(f"{self.name} {route.method} {route.path} ({route.name})", "declared twice")
        self._declared.append(route)
        self.__dict__.pop("routes", None)
