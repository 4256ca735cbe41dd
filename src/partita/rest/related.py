"""Entities beside the items of a list: `?include=author` adds the author of each comment.

    api.expose_list("/cards/{card_id}/comments", comments, include=[Related("author", user, user_id="author_id")])

A page then costs one BatchGetItem for each hundred different entities, and at most `MOST_RELATED` of them are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any

import msgspec

from partita.design.naming import camel_case
from partita.design.patterns import Pattern
from partita.errors import DesignError
from partita.rest.access import Rule, anyone
from partita.rest.etags import digest
from partita.rest.problems import Problem
from partita.rest.reply_json import encoded_reply
from partita.rest.response_cache import joined_page
from partita.rest.routes import JsonReply, Parameter, Route, RouteCall, page_json, read_type
from partita.store.reading import Page

CALLER = object()
"""As the value of an argument: the id of the caller."""

MOST_RELATED = 1000  # different entities that one page reads: ten BatchGetItem

_Members = dict[str, msgspec.Raw]


class Related:
    """A member `name` of each listed item: the entity that a pattern finds by attributes of the item.

    `Related("ownVote", vote, user_id=CALLER, target_id="card_id")` finds the vote of the caller. `fields` are the
    attributes that are shown; all of them by default. An entity that `who` does not allow the caller to see is null,
    like one that does not exist. An attribute that is a list, as in `Related("parts", part, several=True,
    part_id="part_ids")`, gives a list of those that are found.
    """

    def __init__(
        self,
        name: str,
        pattern: Pattern[Any, Any],
        fields: Sequence[str] = (),
        *,
        who: Rule = anyone,
        several: bool = False,
        **values: Any,
    ) -> None:
        if {each.name for each in pattern.arguments} != set(values):
            wanted = ", ".join(each.name for each in pattern.arguments)
            raise DesignError(f"Related {name}", f"the pattern {pattern.name} has the arguments {wanted}")
        self.name = name
        self.pattern = pattern
        self.values = values
        self.entity = read_type(pattern)
        self.members = [_encoded_name(self.entity, field) for field in fields]
        self.who = who
        self.several = several
        self.is_of_caller = CALLER in values.values() or who is not anyone
        expires = any(source.model.expires is not None for source in pattern.read.sources)
        self.depends_only_on_data = not self.is_of_caller and not expires

    def find(self, call: RouteCall, items: list[_Members]) -> list[bytes]:
        """The JSON of each item's entity, or null; with `several`, of the list of its entities."""
        wanted = [self._calls_for(call, item) for item in items]
        different = list({each.arguments: each for calls in wanted for each in calls}.values())
        if len(different) > MOST_RELATED:
            detail = f"include: the page has {len(different):,} different {self.name}; ask for fewer items with limit"
            raise Problem(422, "invalid", detail, "include")
        found = dict(zip((each.arguments for each in different), call.db.get_many(different), strict=True))
        bodies = [[self._encoded(call, found[each.arguments]) for each in calls] for calls in wanted]
        if self.several:
            return [b"[%b]" % b",".join(each for each in some if each != b"null") for some in bodies]
        return [some[0] if some else b"null" for some in bodies]

    def _calls_for(self, call: RouteCall, item: _Members) -> list[Any]:
        """The calls of the pattern for an item: one for each combination of the values of its arguments."""
        values = [self._values(call, item, self.values[each.name], each.type) for each in self.pattern.arguments]
        return [self.pattern(*each) for each in product(*values)]

    def _values(self, call: RouteCall, item: _Members, source: Any, kind: Any) -> list[Any]:
        if source is CALLER:
            return [] if call.caller.id is None else [call.caller.id]
        raw = item.get(camel_case(source), item.get(source))
        found = None if raw is None else msgspec.json.decode(raw)
        several = found if isinstance(found, list) else [found]
        return [msgspec.convert(each, kind, strict=False) for each in several if each is not None]

    def _encoded(self, call: RouteCall, entity: Any) -> bytes:
        if entity is None or not self.who.allows(call.caller, {}, entity):
            return b"null"
        if not self.members:
            return encoded_reply(entity)
        members = msgspec.json.decode(encoded_reply(entity), type=_Members)
        return msgspec.json.encode({name: members[name] for name in self.members})


@dataclass(frozen=True)
class _Listed:
    """A page whose items are left as they are encoded."""

    items: list[msgspec.Raw]
    cursor: str | None


def including(route: Route, related: Sequence[Related]) -> Route:
    """The route with a parameter `include`, which names related entities to add to each item."""
    if not related:
        return route
    by_name = {each.name: each for each in related}
    names = ", ".join(by_name)
    described = msgspec.Meta(description=f"Related entities to add to each item, separated by commas: {names}.")
    parameter = Parameter("include", Annotated[str | None, described], None)

    def run(call: RouteCall) -> Any:
        arguments = dict(call.arguments)
        chosen = _chosen(arguments.pop("include"), by_name)
        result = route.run(call._replace(arguments=arguments))
        return _with_related(route, call, result, chosen) if chosen else result

    return replace(route, run=run, in_query=(*route.in_query, parameter), related=tuple(related))


def _chosen(text: str | None, by_name: dict[str, Related]) -> list[Related]:
    names = [each.strip() for each in (text or "").split(",") if each.strip()]
    for name in names:
        if name not in by_name:
            raise Problem(422, "invalid", f"include: {name!r} is not one of {', '.join(by_name)}", "include")
    return [by_name[name] for name in dict.fromkeys(names)]


def _with_related(route: Route, call: RouteCall, result: Any, chosen: list[Related]) -> JsonReply:
    reply = result if isinstance(result, JsonReply) else _encoded_page(route, result)
    page = msgspec.json.decode(reply.body, type=_Listed)
    items = [msgspec.json.decode(each, type=_Members) for each in page.items]
    added = [(each.name.encode(), each.find(call, items)) for each in chosen]
    bodies = (
        bytes(raw)[:-1] + b"".join(b',"%b":%b' % (name, found[at]) for name, found in added) + b"}"
        for at, raw in enumerate(page.items)
    )
    body = joined_page(bodies, page.cursor)
    is_own = any(each.is_of_caller for each in chosen)
    cacheable = reply.cacheable and all(each.depends_only_on_data for each in chosen)
    return reply._replace(body=body, tag=digest(body), cacheable=cacheable, is_of_caller=is_own)


def _encoded_page(route: Route, page: Page[Any]) -> JsonReply:
    return JsonReply(page_json(route, page), "")


def _encoded_name(entity: Any, field: str) -> str:
    for each in msgspec.structs.fields(entity):
        if each.name == field:
            return each.encode_name
    raise DesignError(entity.__name__, f"has no attribute {field}")
