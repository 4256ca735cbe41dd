"""Routes: what can be asked, declared once; the documentation and the dispatch are made from the same declaration.

api = Api("blog", "Blog", Blog)
api.reads("/posts/{post_id}", post)                              # from a pattern
api.lists("/categories/{category_id}/posts", posts_of_category)
api.changes("/posts/{post_id}", post, "title", who=owner("author_id"))

@api.post("/posts/{post_id}/likes", who=signed_in)               # an operation of the service
def like(service: Blog, caller: Caller, post_id: str) -> None:
    service.like(caller.name, post_id)
"""

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any, Generic, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from partita.design.patterns import Pattern
from partita.rest.access import Who, anyone
from partita.rest.identity import Caller
from partita.rest.problems import Problem
from partita.store.store import Store

S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")

PAGE_SIZE = 20
LARGEST_PAGE = 100


@dataclass(frozen=True)
class Parameter:
    """A value in the path or the query string; it is required where it has no default."""

    name: str
    type: Any
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Call:
    """One request, parsed: what a route's `run` is given."""

    db: Store
    service: Any
    caller: Caller
    arguments: dict[str, Any]
    body: Any
    if_match: str | None = None


@dataclass(frozen=True)
class Route:
    """One operation of the API."""

    method: str
    path: str
    name: str
    about: str
    run: Callable[[Call], Any]
    who: Who
    in_path: tuple[Parameter, ...]
    in_query: tuple[Parameter, ...]
    body: Any  # its type, or None
    result: Any  # its type, or None
    status: int
    has_tag: bool = False  # the reply carries an ETag
    cache: str | None = None  # Cache-Control of the reply

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))


class Api(Generic[S]):
    """The routes of one system; `service` makes its service from a store."""

    def __init__(self, name: str, title: str, service: Callable[[Store], S], about: str = "") -> None:
        self.name = name
        self.title = title
        self.about = about
        self.service = service
        self.routes: list[Route] = []

    # From the design

    def reads(
        self, path: str, pattern: Pattern[Any, Any], *, who: Who = anyone, name: str = "", cache: str = "no-cache"
    ) -> None:
        """GET of one entity, with an ETag."""
        entity = _read_type(pattern)

        def run(call: Call) -> Any:
            found = call.db.one(_called(pattern, call.arguments))
            who.check(call.caller, call.arguments, found)
            return found

        about = pattern.__doc__ or f"One {entity.__name__}."
        self._add(
            "GET",
            path,
            name or pattern.name,
            about,
            run,
            who,
            _parameters(pattern),
            None,
            entity,
            tag=True,
            cache=cache,
        )

    def lists(
        self,
        path: str,
        pattern: Pattern[Any, Any],
        *,
        who: Who = anyone,
        name: str = "",
        size: int = PAGE_SIZE,
        cache: str = "no-cache",
    ) -> None:
        """GET of a page of a query, with a cursor to the next."""
        entity = _read_type(pattern)

        def run(call: Call) -> Any:
            arguments = dict(call.arguments)
            limit, cursor = arguments.pop("limit"), arguments.pop("cursor")
            who.check(call.caller, arguments)
            return call.db(_called(pattern, arguments)).page(limit, cursor)

        paging = [
            Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=LARGEST_PAGE)], size),
            Parameter("cursor", str | None, None),
        ]
        about = pattern.__doc__ or f"{_spoken(pattern.name).capitalize()}, a page at a time."
        parameters = [*_parameters(pattern), *paging]
        self._add("GET", path, name or pattern.name, about, run, who, parameters, None, _page_of(entity), cache=cache)

    def changes(self, path: str, pattern: Pattern[Any, Any], *fields: str, who: Who, name: str = "") -> None:
        """PATCH of some attributes; `If-Match` refuses when the entity has changed since it was read."""
        entity = _read_type(pattern)

        def run(call: Call) -> Any:
            def edit(found: Any) -> None:
                who.check(call.caller, call.arguments, found)
                check_tag(call, found)
                for field in fields:
                    value = getattr(call.body, field)
                    if value is not msgspec.UNSET:
                        setattr(found, field, value)

            return call.db.update(_called(pattern, call.arguments), edit)

        body = _change_of(entity, fields)
        about = f"Change {', '.join(fields)} of a {entity.__name__}."
        self._add(
            "PATCH",
            path,
            name or f"change_{pattern.name}",
            about,
            run,
            who,
            _parameters(pattern),
            body,
            entity,
            tag=True,
        )

    def deletes(self, path: str, pattern: Pattern[Any, Any], *, who: Who, name: str = "") -> None:
        """DELETE of one entity and what it owns."""
        entity = _read_type(pattern)

        def run(call: Call) -> None:
            wanted = _called(pattern, call.arguments)
            found = call.db.one(wanted)
            who.check(call.caller, call.arguments, found)
            check_tag(call, found)
            call.db.delete(wanted)

        about = f"Delete a {entity.__name__}."
        self._add("DELETE", path, name or f"delete_{pattern.name}", about, run, who, _parameters(pattern), None, None)

    # From the service

    def get(
        self, path: str, *, who: Who = anyone, cache: str = "no-cache"
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        return self._operation("GET", path, who, 200, cache)

    def post(self, path: str, *, who: Who, status: int = 200) -> Callable[[Callable[P, R]], Callable[P, R]]:
        return self._operation("POST", path, who, status)

    def put(self, path: str, *, who: Who, status: int = 200) -> Callable[[Callable[P, R]], Callable[P, R]]:
        return self._operation("PUT", path, who, status)

    def delete(self, path: str, *, who: Who) -> Callable[[Callable[P, R]], Callable[P, R]]:
        return self._operation("DELETE", path, who, 204)

    def _operation(
        self, method: str, path: str, who: Who, status: int, cache: str | None = None
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """The function's parameters are the service, perhaps the caller, the body (a struct), and the rest."""

        def declare(function: Callable[P, R]) -> Callable[P, R]:
            parameters, body, takes_caller = _signature(function)
            result = get_type_hints(function).get("return")
            do: Any = function

            def run(call: Call) -> Any:
                who.check(call.caller, call.arguments)
                given = dict(call.arguments)
                if takes_caller:
                    given[takes_caller] = call.caller
                if body is not None:
                    given[body.name] = call.body
                return do(call.service, **given)

            about = inspect.getdoc(function) or _spoken(function.__name__).capitalize() + "."
            kind = None if result is type(None) else result
            self._add(
                method, path, function.__name__, about, run, who, parameters, body.type if body else None, kind,
                status=status if kind is not None else 204, cache=cache,
            )  # fmt: skip
            return function

        return declare

    def _add(
        self,
        method: str,
        path: str,
        name: str,
        about: str,
        run: Callable[[Call], Any],
        who: Who,
        parameters: Sequence[Parameter],
        body: Any,
        result: Any,
        *,
        status: int = 0,
        tag: bool = False,
        cache: str | None = None,
    ) -> None:
        named = {segment[1:-1] for segment in path.split("/") if segment.startswith("{")}
        unknown = named - {parameter.name for parameter in parameters}
        if unknown:
            raise TypeError(f"{self.name} {path}: nothing takes {', '.join(sorted(unknown))}")
        if any(route.name == name or (route.method, route.path) == (method, path) for route in self.routes):
            raise TypeError(f"{self.name} {method} {path} ({name}): declared twice")
        self.routes.append(
            Route(
                method=method,
                path=path,
                name=name,
                about=about.strip(),
                run=run,
                who=who,
                in_path=tuple(each for each in parameters if each.name in named),
                in_query=tuple(each for each in parameters if each.name not in named),
                body=body,
                result=result,
                status=status or (200 if result is not None else 204),
                has_tag=tag,
                cache=cache,
            )
        )


def check_tag(call: Call, found: Any) -> None:
    """`If-Match` must name the entity as it is."""
    if call.if_match is not None and call.if_match != "*" and call.if_match != tag_of(msgspec.json.encode(found)):
        raise Problem(412, "precondition-failed", "it has changed since it was read; read it again")


def tag_of(body: bytes) -> str:
    """The ETag of a reply's body."""
    return f'"{blake2b(body, digest_size=10).hexdigest()}"'


def _called(pattern: Pattern[Any, Any], arguments: dict[str, Any]) -> Any:
    return pattern(**arguments)


def _parameters(pattern: Pattern[Any, Any]) -> list[Parameter]:
    return [
        Parameter(argument.name, argument.type, pattern.signature.parameters[argument.name].default)
        for argument in pattern.arguments
    ]


def _read_type(pattern: Pattern[Any, Any]) -> Any:
    """The entity, view or union that a pattern answers with."""
    read = pattern.read
    if read.view is not None:
        return read.view.cls
    found = [source.model.cls for source in read.sources]
    return functools.reduce(operator.or_, found)


def _page_of(entity: Any) -> Any:
    name = getattr(entity, "__name__", "") or "".join(each.__name__ for each in get_args(entity))
    return msgspec.defstruct(f"{name}Page", [("items", list[entity]), ("cursor", str | None, None)])


def _change_of(entity: Any, fields: Sequence[str]) -> Any:
    """A struct with some of an entity's attributes, each of which may be left out."""
    hints = get_type_hints(entity, include_extras=True)
    members = [(field, _plain(hints[field]) | msgspec.UnsetType, msgspec.UNSET) for field in fields]
    renamed = {field.name: field.encode_name for field in msgspec.structs.fields(entity)}
    return msgspec.defstruct(
        f"{entity.__name__}Change",
        members,
        rename={field: renamed[field] for field in fields},
        forbid_unknown_fields=True,
        kw_only=True,
    )


def _plain(hint: Any) -> Any:
    """A type without the design's own markers; msgspec's bounds stay."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *markers = get_args(hint)
    bounds = [marker for marker in markers if isinstance(marker, msgspec.Meta)]
    return functools.reduce(lambda inner, bound: Annotated[inner, bound], bounds, kind)


def _signature(function: Callable[..., Any]) -> tuple[list[Parameter], Parameter | None, str | None]:
    """(path and query parameters, the body, the name of the caller's parameter) of an operation."""
    hints = get_type_hints(function, include_extras=True)
    parameters: list[Parameter] = []
    body: Parameter | None = None
    caller: str | None = None
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        kind = hints[name]
        if kind is Caller:
            caller = name
        elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            body = Parameter(name, kind)
        else:
            parameters.append(Parameter(name, kind, parameter.default))
    return parameters, body, caller


def _spoken(name: str) -> str:
    return name.replace("_", " ")
