"""An API, declared: the documentation and the dispatch are made from the same declaration.

api = Api("blog", "Blog", Blog)
api.reads("/posts/{post_id}", post)                              # from a pattern
api.lists("/categories/{category_id}/posts", posts_of_category)
api.changes("/posts/{post_id}", post, "title", who=owner("author_id"))

@api.put("/posts/{post_id}/likes/{user_id}", who=myself("user_id"))   # an operation of the service
def like(service: Blog, user_id: str, post_id: str) -> None:
    service.like(user_id, post_id)
"""

import inspect
import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from partita.design.patterns import Pattern
from partita.plan.requests import key_values, plan_of
from partita.rest import routes, summaries
from partita.rest.access import Who, anyone
from partita.rest.plain_json import encoded
from partita.rest.remembered import Shown, listing, page_body, showing
from partita.rest.routes import Call, Reply, Route
from partita.rest.tags import digest, entity_tag
from partita.store import writing
from partita.store.flows import Flow, run
from partita.store.reading import Page, as_stored, decoding, fetch_one, fetch_page
from partita.store.store import Store, missing

S = TypeVar("S")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class Declares(Protocol):
    """A decorator that leaves the function as it is."""

    def __call__(self, function: F, /) -> F: ...


OPEN = "no-cache"  # may be kept by anybody, and is asked for again with its tag
CLOSED = "private, no-cache"


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
        entity = routes.read_type(pattern)
        decoder: Any = decoding(pattern.read)
        number = len(self.routes)
        names = [each.name for each in pattern.arguments]

        def show(found: Any, expires: float | None) -> Shown:
            body = encoded(found)
            return Shown(body, expires, found, entity_tag(found, body))

        def read(call: Call) -> Reply:
            wanted = pattern(*[call.arguments[name] for name in names])
            decode = showing(call.memory, number, decoder, show)
            found: Any = _run(call, fetch_one(call.db.context, wanted, decode=decode))
            if found is None:
                raise missing(wanted)
            who.check(call.caller, call.arguments, found.entity)
            return Reply(found.body, found.tag, found.entity, found.expires, fresh=True)

        self._add(
            Route(
                "GET",
                path,
                name or pattern.name,
                summaries.of_one(pattern, entity),
                read,
                who,
                *routes.split(path, routes.parameters_of(pattern)),
                result=entity,
                tagged=True,
                cache=cache or _cache(who),
            )
        )

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
        entity = routes.read_type(pattern)
        decoder: Any = decoding(pattern.read)
        number = len(self.routes)

        several = len(pattern.read.sources) > 1
        lasting = all(source.model.expires is None for source in pattern.read.sources)
        names = [each.name for each in pattern.arguments]

        def show(found: Any, expires: float | None) -> Shown:
            body = routes.told_apart(found) if several else encoded(found)
            return Shown(body, expires, None, digest(body))

        def read(call: Call) -> Reply:
            arguments, thing = call.arguments, None
            if look is not None:
                thing = look(call)
                who.check(call.caller, arguments, thing)
            wanted = pattern(*[arguments[name] for name in names])
            decode = showing(call.memory, number, decoder, show)
            size, cursor = arguments["limit"], arguments["cursor"]
            fresh = look is None or isinstance(of, Pattern)
            if not lasting:
                flow = fetch_page(call.db.context, wanted, size=size, cursor=cursor, decode=decode)
                shown: Page[Shown] = _run(call, flow)
                body, tag = page_body(shown.items, shown.cursor)
                expires = min((each.expires for each in shown.items if each.expires is not None), default=None)
                return Reply(body, tag, thing, expires, fresh=fresh)
            flow = fetch_page(call.db.context, wanted, size=size, cursor=cursor, decode=as_stored)
            page: Page[msgspec.Raw] = _run(call, flow)
            listed = listing(call.pages, (number, wanted.arguments, size, cursor), page.items, page.cursor, decode)
            return Reply(listed.body, listed.tag, thing, fresh=fresh)

        self._add(
            Route(
                "GET",
                path,
                name or pattern.name,
                about or summaries.of_page(pattern),
                read,
                who,
                *routes.split(path, [*routes.parameters_of(pattern), *routes.PAGING]),
                result=routes.page_of(entity),
                cache=cache or _cache(who),
            )
        )

    def changes(
        self, path: str, pattern: Pattern[Any, Any], *fields: str, who: Who, of: Any = None, name: str = ""
    ) -> None:
        """PATCH of some attributes; `If-Match` refuses when the entity was edited since it was read.

        `of` as for operations, where the rule looks at something else than the entity.
        """
        look = None if of is None else self._look(path, who, of)
        entity = routes.read_type(pattern)
        name = name or f"change_{pattern.name}"

        def change(call: Call) -> Any:
            if look is not None:
                who.check(call.caller, call.arguments, look(call))

            def edit(found: Any) -> None:
                if look is None:
                    who.check(call.caller, call.arguments, found)
                call.if_match.check(found)
                for field in fields:
                    value = getattr(call.body, field)
                    if value is not msgspec.UNSET:
                        setattr(found, field, value)

            call.db.update(pattern(**call.arguments), edit)
            return call.db.one(pattern(**call.arguments), consistent=True)

        self._add(
            Route(
                "PATCH",
                path,
                name,
                summaries.of_change(fields, entity),
                change,
                who,
                *routes.split(path, routes.parameters_of(pattern)),
                body=routes.change_of(entity, fields, _camel(name)),
                result=entity,
                takes_if_match=True,
                tagged=True,
            )
        )

    def deletes(self, path: str, pattern: Pattern[Any, Any], *, who: Who, of: Any = None, name: str = "") -> None:
        """DELETE of one entity and what it owns; what was let pass is what is deleted. `of` as for changes."""
        look = None if of is None else self._look(path, who, of)
        entity = routes.read_type(pattern)

        def delete(call: Call) -> None:
            if look is not None:
                who.check(call.caller, call.arguments, look(call))

            def check(found: Any) -> None:
                if look is None:
                    who.check(call.caller, call.arguments, found)
                call.if_match.check(found)

            wanted = pattern(**call.arguments)
            plan = plan_of(wanted.read)
            key = key_values(plan, wanted.arguments)
            if _run(call, writing.delete(call.db.context, call.db.design, plan.model, key, check=check)) is None:
                raise missing(wanted)

        self._add(
            Route(
                "DELETE",
                path,
                name or f"delete_{pattern.name}",
                summaries.of_deletion(entity),
                delete,
                who,
                *routes.split(path, routes.parameters_of(pattern)),
                status=204,
                takes_if_match=True,
            )
        )

    # From the service: the function takes the service, perhaps the caller, a body (a struct), IfMatch, and the rest.
    # `of` says what a rule that looks at a thing looks at: a pattern, or a function that takes the service and, by
    # their names, arguments of the path and the caller.

    def get(self, path: str, *, who: Who = anyone, of: Any = None, cache: str = "") -> Declares:
        return self._operation("GET", path, who, of, cache=cache or _cache(who))

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
            signature = routes.signature_of(function)
            look = self._look(path, who, of)

            def operate(call: Call) -> Any:
                if look is not None:
                    who.check(call.caller, call.arguments, look(call))
                given = dict(call.arguments)
                if signature.caller:
                    given[signature.caller] = call.caller
                if signature.if_match:
                    given[signature.if_match] = call.if_match
                if signature.body is not None:
                    given[signature.body.name] = call.body
                return function(call.service, **given)

            result = signature.result
            route = Route(
                method,
                path,
                function.__name__,
                inspect.getdoc(function) or summaries.spoken(function.__name__).capitalize() + ".",
                operate,
                who,
                *routes.split(path, signature.parameters),
                body=signature.body.type if signature.body else None,
                result=result,
                takes_if_match=signature.if_match is not None,
                tagged=hasattr(result, "__model__"),
                several=signature.several,
                **{"status": 200, **more} if result is not None else {**more, "status": 204},
            )
            self._add(route)
            return function

        return declare

    def _look(self, path: str, who: Who, of: Any) -> Callable[[Call], Any] | None:
        """How a rule finds the thing that it looks at; None where it has been decided without."""
        if who.looks and of is None:
            raise TypeError(f"{self.name} {path}: say what {who.told!r} is looked up in, with of=")
        return _looked_up(of) if who.looks else None

    def _add(self, route: Route) -> None:
        for each in self.routes:
            if each.name == route.name or (each.method, each.path) == (route.method, route.path):
                raise TypeError(f"{self.name} {route.method} {route.path} ({route.name}): declared twice")
        self.routes.append(route)


def _run(call: Call, flow: Flow[R]) -> R:
    return run(flow, call.db.backend, time.sleep)


def _looked_up(of: Any) -> Callable[[Call], Any]:
    if isinstance(of, Pattern):
        names = [each.name for each in of.arguments]
        decoder: Any = decoding(of.read)

        def read(call: Call) -> Any:
            wanted = of(*[call.arguments[name] for name in names])
            decode = showing(call.memory, id(of), decoder, lambda found, expires: Shown(b"", expires, found))
            found: Any = _run(call, fetch_one(call.db.context, wanted, decode=decode))
            if found is None:
                raise missing(wanted)
            return found.entity

        return read
    names = list(inspect.signature(of).parameters)[1:]

    def look(call: Call) -> Any:
        given = {**call.arguments, "caller": call.caller}
        return of(call.service, **{name: given[name] for name in names})

    return look


def _cache(who: Who) -> str:
    return OPEN if who.is_open else CLOSED


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
