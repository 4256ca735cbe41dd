"""Routes: one operation of an API each, as `Api` declares it and the documentation and the dispatch read it."""

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from partita.design.naming import snake_case
from partita.design.patterns import Pattern
from partita.errors import DesignError
from partita.rest.access import Rule
from partita.rest.auth.identity import Caller
from partita.rest.etags import IfMatch
from partita.rest.reply_json import encoded_reply, internal_members
from partita.rest.response_cache import Expiry, RenderedItem, TwoGenerationCache, joined_page
from partita.store.reading import Page
from partita.store.store import Store

PAGE_SIZE = 20
LARGEST_PAGE = 200
LONGEST_TEXT = 1000  # characters of a value in a path or query string


@dataclass(frozen=True)
class Parameter:
    """A value in the path or the query string; it is required where it has no default.

    `name` is that of the Python argument, `sent_name` the one that a client writes (see `parameter_names`).
    """

    name: str
    type: Any
    default: Any = inspect.Parameter.empty
    sent_name: str = ""

    def __post_init__(self) -> None:
        if not self.sent_name:
            object.__setattr__(self, "sent_name", self.name)

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


class RouteCall(NamedTuple):
    """A parsed request: the argument of a route's `run`."""

    db: Store
    service: Any
    item_cache: TwoGenerationCache[RenderedItem]
    caller: Caller
    arguments: dict[str, Any]
    body: Any
    if_match: IfMatch
    expiry: Expiry  # of what has been read for it


class SeenParent(NamedTuple):
    """An entity that the path of a request names, and the rule that allowed the caller to see it."""

    rule: Rule
    arguments: dict[str, Any]
    entity: Any


class JsonReply(NamedTuple):
    """A reply that is already encoded as JSON; `entity` is the one that the rule looked at.

    `cacheable`: until an item expires that it is made from, it depends on the arguments and the data alone, and on the
    caller only as far as `entity` and `parents` show.
    """

    body: bytes
    tag: str
    entity: Any = None
    cacheable: bool = False
    parents: tuple[SeenParent, ...] = ()
    is_of_caller: bool = False  # it has something of the caller's own, so that no shared cache may store it


@dataclass(frozen=True)
class Route:
    """One operation of the API."""

    method: str
    path: str
    name: str
    about: str
    run: Callable[[RouteCall], Any]
    who: Rule
    in_path: tuple[Parameter, ...] = ()  # in the order of the path
    in_query: tuple[Parameter, ...] = ()
    body: Any = None  # its type, or None
    result: Any = None  # its type, or None
    status: int = 200
    takes_if_match: bool = False
    tagged: bool = False  # the reply is one entity, with its ETag
    polymorphic: bool = False  # one of several entities, or a list of them; a member names the type of each
    cache: str | None = None  # Cache-Control of the reply
    related: tuple[Any, ...] = ()  # what `include` may add to each listed item
    location: str | None = None  # of the created entity: "/posts/{post_id}", from the attributes of the reply
    naming: Callable[[str], str] = snake_case  # of attributes in requests and replies
    events: Any = None  # the entity whose changes are sent as events
    on_read: Callable[[Any, Any], object] | None = None  # gets the service and the entity of each GET, cached or not

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))

    @property
    def sent_path(self) -> str:
        """The path with the names that a client knows: `/cards/{cardId}`."""
        path = self.path
        for each in self.in_path:
            path = path.replace(f"{{{each.name}}}", f"{{{each.sent_name}}}")
        return path

    @property
    def allowed_for(self) -> str:
        """The rule in words, with the names that a client knows."""
        return self.who.described(self.sent_name)

    def sent_name(self, name: str) -> str:
        """The name that a client knows for a parameter, or for an attribute of an entity."""
        return next(
            (each.sent_name for each in (*self.in_path, *self.in_query) if each.name == name), self.naming(name)
        )


def is_list(route: Route) -> bool:
    """Whether the reply is a page of items."""
    return "cursor" in getattr(route.result, "__struct_fields__", ())


def names_one(route: Route) -> bool:
    """Whether the path of a route ends with the name of one entity."""
    return route.path.endswith("}")


def split(path: str, parameters: Sequence[Parameter]) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """(the parameters in the path, in its order; the others)."""
    by_name = {each.name: each for each in parameters}
    named = placeholders(path)
    unknown = [name for name in named if name not in by_name]
    if unknown:
        raise DesignError(
            path, f"no parameter is named {', '.join(unknown)}", f"the parameters are {', '.join(by_name)}"
        )
    return tuple(by_name[name] for name in named), tuple(each for each in parameters if each.name not in named)


def placeholders(path: str) -> list[str]:
    return [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]


def parameters_of(pattern: Pattern[Any, Any]) -> list[Parameter]:
    """A pattern's arguments as parameters."""
    found = pattern.signature.parameters
    return [Parameter(each.name, _bounded(each.type), found[each.name].default) for each in pattern.arguments]


def _bounded(kind: Any) -> Any:
    """Text in an address has a maximum length, so that the error of a key that is too long names the parameter."""
    return Text if kind is str else kind


Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)]
PageSize = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_PAGE)]


def paging(size: int | None) -> tuple[Parameter, ...]:
    """The parameters of a list; `size` is the page size of its pattern."""
    limit = PAGE_SIZE if size is None else min(size, LARGEST_PAGE)
    return Parameter("limit", PageSize, limit), Parameter("cursor", str | None, None)


def read_type(pattern: Pattern[Any, Any]) -> Any:
    """The entity, view or union that a pattern returns."""
    read = pattern.read
    if read.search is not None:
        wrong = "it searches by a vector, which clients do not have, and returns scores"
        raise DesignError(pattern.name, wrong, "expose an operation that makes the vector and runs the search")
    if read.view is not None:
        return read.view.cls
    found = [source.model.cls for source in read.sources]
    return functools.reduce(operator.or_, found)


@functools.cache
def page_of(entity: Any) -> Any:
    """The struct of a reply that is a page of these."""
    name = getattr(entity, "__name__", "") or "Or".join(each.__name__ for each in get_args(entity))
    listed: Any = functools.reduce(operator.or_, map(_with_type, get_args(entity))) if get_args(entity) else entity
    return msgspec.defstruct(f"{name}Page", [("items", list[listed]), ("cursor", str | None)])


def with_type_member(entity: Any) -> bytes:
    """The JSON of one of several entities: its first member names its type."""
    member, name = _type_member(type(entity))
    return b'{"%b":"%b",%b' % (member.encode(), name.encode(), encoded_reply(entity)[1:])


def page_json(route: Route, page: Page[Any]) -> bytes:
    """The JSON of a page of a route's entities."""
    encode = with_type_member if route.polymorphic else encoded_reply
    return joined_page(map(encode, page.items), page.cursor)


def _type_member(entity: Any) -> tuple[str, str]:
    model = entity.__model__
    return model.table.type_attribute or "entity", model.type_name


@functools.cache
def _with_type(entity: Any) -> Any:
    """The entity with a member that names its type."""
    hints = get_type_hints(entity, include_extras=True)
    fields = [each for each in msgspec.structs.fields(entity) if each.encode_name not in internal_members(entity)]
    member, name = _type_member(entity)
    return msgspec.defstruct(
        f"Listed{entity.__name__}",
        [(each.name, without_markers(hints[each.name])) for each in fields],
        rename={each.name: each.encode_name for each in fields},
        tag_field=member,
        tag=name,
    )


def patch_struct(entity: Any, fields: Sequence[str], name: str) -> Any:
    """A struct with some of an entity's attributes, each of which may be left out."""
    hints = get_type_hints(entity, include_extras=True)
    unknown = [field for field in fields if field not in hints]
    if unknown:
        raise DesignError(entity.__name__, f"has no attribute {', '.join(unknown)}")
    members = [(field, without_markers(hints[field]) | msgspec.UnsetType, msgspec.UNSET) for field in fields]
    renamed = {field.name: field.encode_name for field in msgspec.structs.fields(entity)}
    return msgspec.defstruct(
        name,
        members,
        rename={field: renamed[field] for field in fields},
        forbid_unknown_fields=True,
        kw_only=True,
    )


def without_markers(hint: Any) -> Any:
    """A type without the design's own markers; msgspec's bounds stay."""
    if get_origin(hint) is not Annotated:
        return hint
    kind, *markers = get_args(hint)
    bounds = [marker for marker in markers if isinstance(marker, msgspec.Meta)]
    return functools.reduce(lambda inner, bound: Annotated[inner, bound], bounds, kind)


class FoundEntity(msgspec.Struct, frozen=True):
    """`found: Annotated[Post, FoundEntity()]`: what `on` has found for the rule, so that it is read once."""


class Signature(NamedTuple):
    """The parameters of an operation after the service, and its result."""

    parameters: list[Parameter]
    body: Parameter | None
    caller: str | None  # the names of the parameters for the caller, the If-Match header and the found entity
    if_match: str | None
    found: str | None
    result: Any
    polymorphic: bool


def signature_of(function: Callable[..., Any]) -> Signature:
    hints = get_type_hints(function, include_extras=True)
    parameters: list[Parameter] = []
    body: Parameter | None = None
    special: dict[type, str] = {}
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        kind = hints[name]
        if kind in (Caller, IfMatch):
            special[kind] = name
        elif get_origin(kind) is Annotated and FoundEntity() in get_args(kind):
            special[FoundEntity] = name
        elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            body = Parameter(name, kind)
        else:
            parameters.append(Parameter(name, _bounded(kind), parameter.default))
    result = hints.get("return")
    is_page = get_origin(result) is Page
    listed = get_args(result)[0] if is_page else result
    several = get_origin(listed) is UnionType
    if is_page:
        result = page_of(listed)
    elif several:
        result = functools.reduce(operator.or_, map(_with_type, get_args(result)))
    kind = None if result is type(None) else result
    names = special.get(Caller), special.get(IfMatch), special.get(FoundEntity)
    return Signature(parameters, body, *names, kind, several)
