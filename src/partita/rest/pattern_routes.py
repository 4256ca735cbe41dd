"""Routes that come from patterns: GET of an entity or a list, PATCH and DELETE."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from partita.design.patterns import Pattern
from partita.rest import operation_summaries, routes
from partita.rest.access import Rule, signed_in
from partita.rest.etags import digest, entity_tag
from partita.rest.reply_json import encoded_reply
from partita.rest.response_cache import RenderedItem, caching_decoder, page_body
from partita.rest.routes import JsonReply, Route, RouteCall
from partita.store.base_store import not_found
from partita.store.reading import decoder_for_read

OPEN = "no-cache"  # any cache may store it, and revalidates it with its ETag
CLOSED = "private, no-cache"


class EntityLookup(NamedTuple):
    """How the entity that a rule looks at is found; `depends_only_on_data`: for the same address, the data decides."""

    find: Callable[[RouteCall], Any]
    depends_only_on_data: bool


def cache_of(who: Rule) -> str:
    return OPEN if who.is_open else CLOSED


def reading(path: str, pattern: Pattern[Any, Any], who: Rule, number: int, name: str, cache: str) -> Route:
    """GET of one entity, with its ETag; `number` identifies its way of rendering an item."""
    entity = routes.read_type(pattern)
    find = finder(pattern, number, _render_entity)

    def read(call: RouteCall) -> JsonReply:
        found = find(call)
        who.check(call.caller, call.arguments, found.entity)
        return JsonReply(found.body, found.tag, found.entity, cacheable=True)

    return Route(
        "GET",
        path,
        name or pattern.name,
        operation_summaries.get_summary(pattern, entity),
        read,
        who,
        *routes.split(path, routes.parameters_of(pattern)),
        result=entity,
        tagged=True,
        cache=cache or cache_of(who),
    )


def reading_caller(users: Pattern[Any, Any] | None) -> Route:
    """GET of the caller: the id and the groups of the token, and the entity of a registered caller."""
    members: list[tuple[str, Any]] = [("id", str), ("groups", list[str])]
    entity = None if users is None else routes.read_type(users)
    if entity is not None:
        members.append(("user", entity | None))
    me = msgspec.defstruct("Me", members)

    def read(call: RouteCall) -> Any:
        found = {} if users is None else {"user": call.db.get(users(call.caller.name))}
        return me(id=call.caller.name, groups=sorted(call.caller.groups), **found)

    about = "Get the caller: the id and the groups of the token"
    about += "." if entity is None else ", and the registered user, or null."
    return Route("GET", "/me", "me", about, read, signed_in, result=me, cache=CLOSED)


def finder(
    pattern: Pattern[Any, Any], number: int, render: Callable[[Any, float | None], RenderedItem]
) -> Callable[[RouteCall], RenderedItem]:
    """A function that reads and renders the one item of a pattern; it raises `NotFound`."""
    names = [each.name for each in pattern.arguments]
    decoder = decoder_for_read(pattern.read)

    def find(call: RouteCall) -> RenderedItem:
        wanted = pattern(*[call.arguments[name] for name in names])
        decode = caching_decoder(call.item_cache, call.expiry, number, decoder, render)
        found = call.db.read(wanted, decode)
        if found is None:
            raise not_found(wanted)
        return found

    return find


def _render_entity(found: Any, expires: float | None) -> RenderedItem:
    body = encoded_reply(found)
    return RenderedItem(body, expires, found, entity_tag(found, body))


def listing_of(
    path: str,
    pattern: Pattern[Any, Any],
    who: Rule,
    look: EntityLookup | None,
    number: int,
    name: str,
    about: str,
    cache: str,
) -> Route:
    """GET of a page of a query, with a cursor to the next."""
    return Route(
        "GET",
        path,
        name or pattern.name,
        about or operation_summaries.list_summary(pattern),
        _lister(pattern, who, look, number),
        who,
        *routes.split(path, [*routes.parameters_of(pattern), *routes.paging(pattern.read.page_size)]),
        result=routes.page_of(routes.read_type(pattern)),
        cache=cache or cache_of(who),
    )


def _lister(
    pattern: Pattern[Any, Any], who: Rule, look: EntityLookup | None, number: int
) -> Callable[[RouteCall], JsonReply]:
    decoder = decoder_for_read(pattern.read)
    polymorphic = len(pattern.read.sources) > 1
    names = [each.name for each in pattern.arguments]
    cacheable = look is None or look.depends_only_on_data

    def render(found: Any, expires: float | None) -> RenderedItem:
        body = routes.with_type_member(found) if polymorphic else encoded_reply(found)
        return RenderedItem(body, expires, None, digest(body))

    def read(call: RouteCall) -> JsonReply:
        arguments, entity = call.arguments, None
        if look is not None:
            entity = look.find(call)
            who.check(call.caller, arguments, entity)
        wanted = pattern(*[arguments[name] for name in names])
        decode = caching_decoder(call.item_cache, call.expiry, number, decoder, render)
        size, cursor = arguments["limit"], arguments["cursor"]
        page = call.db.read_page(wanted, decode, size=size, cursor=cursor)
        body, tag = page_body(page.items, page.cursor)
        return JsonReply(body, tag, entity, cacheable=cacheable)

    return read


def changing(
    path: str, pattern: Pattern[Any, Any], fields: tuple[str, ...], who: Rule, look: EntityLookup | None, name: str
) -> Route:
    """PATCH of some attributes; with `If-Match`, 412 if the entity has been edited since it was read."""
    entity = routes.read_type(pattern)
    name = name or f"change_{pattern.name}"

    def change(call: RouteCall) -> Any:
        check = _checking(call, who, look)

        def edit(found: Any) -> None:
            check(found)
            for field in fields:
                value = getattr(call.body, field)
                if value is not msgspec.UNSET:
                    setattr(found, field, value)

        call.db.update(pattern(**call.arguments), edit)
        return call.db.one(pattern(**call.arguments), consistent=True)

    return Route(
        "PATCH",
        path,
        name,
        operation_summaries.patch_summary(fields, entity),
        change,
        who,
        *routes.split(path, routes.parameters_of(pattern)),
        body=routes.patch_struct(entity, fields, _camel(name)),
        result=entity,
        takes_if_match=True,
        tagged=True,
    )


def deleting(path: str, pattern: Pattern[Any, Any], who: Rule, look: EntityLookup | None, name: str) -> Route:
    """DELETE of one entity and what it owns, if it is still as the rule saw it."""

    def delete(call: RouteCall) -> None:
        check = _checking(call, who, look)
        wanted = pattern(**call.arguments)
        if call.db.delete(wanted, check=check) is None:
            raise not_found(wanted)

    return Route(
        "DELETE",
        path,
        name or f"delete_{pattern.name}",
        operation_summaries.delete_summary(routes.read_type(pattern)),
        delete,
        who,
        *routes.split(path, routes.parameters_of(pattern)),
        status=204,
        takes_if_match=True,
    )


def _checking(call: RouteCall, who: Rule, look: EntityLookup | None) -> Callable[[Any], None]:
    """Checks an entity before it is written: the rule, on this entity or on the one looked up instead, and the ETag."""
    if look is not None:
        who.check(call.caller, call.arguments, look.find(call))

    def check(found: Any) -> None:
        if look is None:
            who.check(call.caller, call.arguments, found)
        call.if_match.check(found)

    return check


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
